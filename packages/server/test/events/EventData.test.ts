/** The resource of an event, read from what its change stores and from its charge: the bytes are those of the API. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { eventData, eventJson } from "../../src/events/EventData.ts"
import { create, retrieve } from "../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { simulated } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

/** The changes of a charge: what is stored, and the JSON text of its events. */
const changesOf = (id: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ stored: string; read: string }>`SELECT c.data AS stored, ${sql.literal(eventData)} AS read
        FROM changes c WHERE c.resource_id = ${id}::uuid ORDER BY c.sequence`,
      (rows) => rows.map(({ read, stored }) => ({ stored, data: eventJson(read) }))
    )
  )

/** A charge is created and paid: the answer of each, as text. */
const paid = Effect.fnUntraced(function* (key: string, fields: Readonly<Record<string, unknown>>) {
  const pending = yield* create(key, fields)
  assert.strictEqual(pending.status, 201, pending.text)
  const { id } = pending.body
  yield* simulated(`/charges/${id}/pay`)
  const answer = yield* eventually(retrieve(key, id), ({ body }) => body.status === "paid")
  return { id, texts: [pending.text, answer.text] }
})

/** Creates and pays a charge of an account with an endpoint, and compares its events with the answers of the API. */
const assertSameBytes = Effect.fnUntraced(function* (isStored: (data: string) => boolean) {
  const { makeCaller } = yield* TestService
  const { key } = yield* makeCaller()
  const hooks = yield* receiver()
  yield* registered(key, { url: hooks.url, events: ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"] })
  const { id, texts } = yield* paid(key, { description: 'Um "café" \\ é 😀 / \u2028', reference: "r-1" })
  const changes = yield* changesOf(id)
  assert.deepStrictEqual(
    changes.map(({ data }) => data),
    texts
  )
  for (const { stored } of changes) assert.isTrue(isStored(stored), stored)
  yield* eventually(
    Effect.sync(() => hooks.received.length),
    (count) => count === 3
  )
  for (const { body, bytes } of hooks.received) {
    const text = texts[body.event === "charge.pix.paid" ? 1 : 0]!
    assert.isTrue(bytes.toString().endsWith(`"data":${text}}`), bytes.toString())
  }
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("The data of events", (it) => {
  it.effect("DLV-4, EVT-5: has the bytes of the charge, of which its change stores only what it had then", () =>
    assertSameBytes((stored) => stored.startsWith("[") && stored.length < 120).pipe(Effect.scoped)
  )

  it.effect("DLV-4: has the same bytes without texts, and with every character that JSON escapes", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const { id } = yield* paid(key, {})
      const control = Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(code + 1)).join("")
      const hostile = `${control}"\\/\u007f\u0080\u2028\u2029\ufeff\ufffd😀`
      for (const text of [null, "", hostile]) {
        yield* sql`UPDATE charges SET description = ${text}, reference = ${text}, webhook_url = ${text},
          customer_name = ${text}, customer_email = ${text}, customer_document = ${text}, br_code = coalesce(${text}, br_code),
          expires_at = CASE WHEN ${text}::text IS NOT NULL THEN expires_at END WHERE id = ${id}::uuid`
        const answer = yield* retrieve(key, id)
        const changes = yield* changesOf(id)
        assert.strictEqual(changes.at(-1)?.data, answer.text)
      }
    })
  )
})
