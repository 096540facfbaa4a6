/**
 * Callers, receivers and open work of a service whose partitions change: rounds of new work that must finish, and work of
 * before that must stay as it is until it is allowed to go on.
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { create, created, retrieve } from "../../support/ChargeRequests.ts"
import { incompleteKeys } from "../../support/KeyTables.ts"
import {
  assertLedgerHolds,
  funded,
  holding,
  operated,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  retrievePayout,
  simulated
} from "../../support/Money.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { changed, registered } from "../../support/Webhooks.ts"

const events = ["charge.pix.paid", "payment.pix.processing"]

interface Operation {
  readonly kind: "charge" | "payout"
  readonly idempotencyKey: string
  readonly id: string
}

export const makeTraffic = Effect.fnUntraced(function* (owner: SqlClient) {
  const { makeCaller } = yield* TestService
  const silent: Array<ServerResponse> = []
  let status = 503
  const hooks = yield* receiver(({ path }, response) => {
    if (path === "/silent") silent.push(response)
    else response.writeHead(path === "/failing" ? status : 200).end()
  })
  const { key } = yield* funded(10_000_000)
  yield* registered(key, { url: `${hooks.url}/`, events })
  const operations: Array<Operation> = []

  const round = Effect.gen(function* () {
    const keys = { charge: newKey(), payout: newKey() }
    const charge = yield* created(key, {}, keys.charge)
    yield* simulated(`/charges/${charge.id}/pay`)
    const payout = yield* paidOut(key, holding, keys.payout)
    yield* simulated(`/payouts/${payout.id}/complete`)
    yield* payoutReaching(key, payout.id, "completed")
    operations.push({ kind: "charge", idempotencyKey: keys.charge, id: charge.id })
    operations.push({ kind: "payout", idempotencyKey: keys.payout, id: payout.id })
    yield* eventually(
      Effect.sync(() => new Set(hooks.received.filter(({ path }) => path === "/").map(({ body }) => body.data.id))),
      (delivered) => delivered.has(charge.id) && delivered.has(payout.id)
    )
  })

  const repeat = Effect.fnUntraced(function* ({ id, idempotencyKey, kind }: Operation) {
    const answer =
      kind === "charge" ? yield* create(key, {}, idempotencyKey) : yield* payOut(key, holding, idempotencyKey)
    assert.deepStrictEqual([answer.status, answer.body.id], [201, id], answer.text)
  })

  /** The delivery of a new paid charge to an endpoint, once it is as wanted. */
  const deliveryReaching = Effect.fnUntraced(function* (path: string, isReached: string, isPaused = false) {
    const caller = yield* makeCaller()
    const endpoint = yield* registered(caller.key, { url: `${hooks.url}${path}`, events })
    if (isPaused) yield* changed(caller.key, endpoint.id, { active: false })
    const charge = yield* paidCharge(caller.key)
    const [delivery] = yield* eventually(
      owner.unsafe<{ id: string }>(`SELECT id FROM deliveries WHERE resource_id = '${charge.id}' AND ${isReached}`),
      ({ length }) => length === 1
    )
    return { id: delivery!.id, resume: changed(caller.key, endpoint.id, { active: true }) }
  })
  const retried = yield* deliveryReaching("/failing", "attempts_made = 1")
  const inFlight = yield* deliveryReaching("/silent", "status = 'delivering'")
  const paused = yield* deliveryReaching("/paused", "paused_due_at IS NOT NULL", true)
  const fannedOut = yield* deliveryReaching("/", "status = 'delivered'")
  // Another endpoint of its change has no delivery yet.
  const [failure] = yield* owner<{ id: string }>`
    INSERT INTO outbox_failures (id, change_id, endpoint_id, account_id, endpoints_version, error, first_failed_at, last_failed_at)
    SELECT uuidv7(), change_id, uuidv7(), account_id, 1, 'refused', now(), now() FROM deliveries
    WHERE id = ${fannedOut.id}::uuid RETURNING id`
  const pending = yield* created(key)
  const processing = yield* paidOut(key, holding)
  const openIds = [retried, inFlight, paused, fannedOut].map(({ id }) => `'${id}'`).join()
  const open = Effect.all([
    owner.unsafe(`SELECT d.id, d.status, d.attempts_made, d.due_at IS NULL AS waits, c.id AS change_id, c.status AS change
      FROM deliveries d LEFT JOIN changes c ON c.id = d.change_id WHERE d.id IN (${openIds}) ORDER BY d.id`),
    owner`SELECT id, change_id FROM outbox_failures`,
    Effect.map(retrieve(key, pending.id), ({ body }) => body.status),
    Effect.map(retrievePayout(key, processing.id), ({ body }) => body.status)
  ])
  const before = yield* open
  assert.lengthOf(before[0], 4)

  return {
    round,
    /** Creates, pays and delivers, and checks that everything of before is there once. */
    assertHolds: Effect.gen(function* () {
      yield* round
      // Three of before, and those of this round.
      for (const back of [1, 2, 3, 8, operations.length]) {
        const operation = operations.at(-back)
        if (operation !== undefined) yield* repeat(operation)
      }
      assert.deepStrictEqual(yield* open, before)
      assert.deepStrictEqual(yield* owner.unsafe(incompleteKeys), [])
    }),
    /** Lets the open work go on, and checks everything once more. */
    assertFinishes: Effect.gen(function* () {
      status = 200
      for (const response of silent) response.writeHead(200).end()
      yield* paused.resume
      yield* operated("POST", `/deliveries/${retried.id}/resend`, undefined, 202)
      yield* operated("POST", `/outbox-failures/${failure!.id}/retry`, undefined, 202)
      yield* simulated(`/charges/${pending.id}/pay`)
      yield* simulated(`/payouts/${processing.id}/complete`)
      yield* payoutReaching(key, processing.id, "completed")
      yield* round
      const receipts = () => Map.groupBy(hooks.received, ({ body }) => body.id)
      yield* eventually(
        Effect.sync(() => [retried, inFlight, paused].map(({ id }) => receipts().get(id)?.length)),
        ([ofRetried, ofInFlight, ofPaused]) => ofRetried === 2 && ofInFlight === 1 && ofPaused === 1
      )
      const finishedIds = [...operations.map(({ id }) => id), pending.id, processing.id]
      const delivered = yield* eventually(
        Effect.sync(() => hooks.received.filter(({ body }) => finishedIds.includes(body.data.id))),
        ({ length }) => length >= finishedIds.length
      )
      assert.sameMembers(
        delivered.map(({ body }) => body.data.id),
        finishedIds,
        "each is delivered once"
      )
      assert.strictEqual(receipts().get(fannedOut.id)?.length, 1)
      yield* eventually(owner`SELECT FROM outbox_failures`, ({ length }) => length === 0)
      yield* Effect.forEach(operations, repeat, { concurrency: 8, discard: true })
      assert.deepStrictEqual(yield* owner.unsafe(incompleteKeys), [])
      yield* assertLedgerHolds
      return operations.length
    }),
    /** The newest resource that is finished. */
    newest: (kind: Operation["kind"]) => operations.findLast((operation) => operation.kind === kind)!.id
  }
})
