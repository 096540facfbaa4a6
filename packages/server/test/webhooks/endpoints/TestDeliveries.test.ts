/** Operators test an endpoint. */
import { assert, describe, layer } from "@effect/vitest"
import { deliveryBody, WebhookEvent } from "@pix-payments/domain/Event"
import { eventNames, partsOf } from "@pix-payments/domain/EventCatalog"
import { verify } from "@pix-payments/domain/Signature"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { it as test } from "vitest"
import { testDataOf, testEventOf } from "../../../src/webhooks/deliveries/TestEvent.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { operated } from "../../support/Money.ts"
import { makeOperator, withoutFourEyes } from "../../support/Operators.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import {
  changed,
  deliveriesOf,
  deliveryOf,
  type DeliveryRow,
  registered,
  remove,
  resend,
  resendFailed
} from "../../support/Webhooks.ts"

const endpointId = "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"

describe("a test event", () => {
  test("OPR-153: is as the contract says, and no state in it means money", () => {
    for (const event of eventNames) {
      const data = testDataOf({ endpointId, event, atMs: 0, sequence: 1 })
      const body = deliveryBody({
        deliveryId: endpointId,
        name: event,
        createdAt: "2026-11-22T00:00:00Z",
        sequence: 1,
        dataJson: JSON.stringify(data)
      })
      Schema.decodeUnknownSync(WebhookEvent)(JSON.parse(body))
      assert.deepInclude<object>(data, { id: endpointId, test: true, amount: 1, reference: "webhook-test" }, event)
      assert.strictEqual(data.status, partsOf(event).resource === "dispute" ? "open" : "canceled", event)
      if ("paid_at" in data) assert.isNull(data.paid_at)
      if ("processed_at" in data) assert.isNull(data.processed_at)
    }
  })

  test("OPR-154: is one that the endpoint subscribes to and that is emitted, preferably one about no money", () => {
    const cases = [
      [["charge.pix.paid", "charge.pix.created", "charge.pix.canceled"], "charge.pix.canceled"],
      [["charge.pix.paid", "charge.pix.emitted"], "charge.pix.emitted"],
      [["charge.pix.refunded", "charge.pix.paid"], "charge.pix.refunded"],
      [["charge.pix.expired", "dispute.pix.message"], "dispute.pix.message"],
      [["charge.pix.expired", "payment.pix.completed"], undefined]
    ] as const
    for (const [events, expected] of cases) assert.strictEqual(testEventOf(events), expected)
  })
})

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tests of an endpoint", (it) => {
  const sent = (id: string) => operated<DeliveryRow>("POST", `/webhooks/${id}/test`, undefined, 202)

  it.effect("OPR-153, OPR-155: sends a signed test at once, which is neither an event nor a resource", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      const secret = "a secret of the receiver"
      const { id } = yield* registered(key, { url: hooks.url, events: ["charge.pix.paid"], secret })
      const delivery = yield* sent(id)
      assert.deepInclude<object>(delivery, {
        object: "delivery",
        event: "charge.pix.paid",
        endpoint_id: id,
        resource_id: id
      })
      yield* eventually(deliveriesOf(`resource_id=${id}`), ([row]) => row?.status === "delivered")
      const [got] = hooks.received
      assert.strictEqual(got!.body.id, delivery.id)
      assert.deepInclude<unknown>(got!.body.data, { id, test: true, status: "canceled", reference: "webhook-test" })
      assert.strictEqual(got!.headers["x-webhook-event"], "charge.pix.paid")
      const header = String(got!.headers["x-webhook-signature"])
      const verdict = yield* Effect.promise(() => verify({ body: got!.bytes, header, secrets: [secret] }))
      assert.deepStrictEqual(verdict, { _tag: "Valid" })
      const events = yield* operate<{ data: ReadonlyArray<unknown> }>(
        "GET",
        `/operator/v1/events?after=oldest&account_id=${accountId}`
      )
      assert.deepStrictEqual(events.body.data, [])
      assert.strictEqual((yield* call("GET", `/v1/charges/${id}`, { key })).status, 404)
      yield* sent(id)
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (length) => length === 2
      )
      assert.deepStrictEqual(
        hooks.received.map(({ body }) => body.sequence),
        [1, 2]
      )
      const entries = yield* sql<{ after: { delivery_id: string } }>`
        SELECT after FROM audit WHERE action = 'webhookEndpointActions.test' AND resource_id = ${id}::uuid ORDER BY id`
      assert.strictEqual(entries[0]!.after.delivery_id, delivery.id)
      assert.lengthOf(entries, 2)
    })
  )

  it.effect("OPR-155: a test makes one attempt, and one is in flight at a time", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const waiting: Array<() => void> = []
      const hooks = yield* receiver((_, response) => void waiting.push(() => response.writeHead(500).end("no")))
      const { id } = yield* registered(key, { url: hooks.url })
      const first = yield* sent(id)
      yield* eventually(
        Effect.sync(() => waiting.length),
        (length) => length === 1
      )
      assertRefused(yield* operate("POST", `/operator/v1/webhooks/${id}/test`), "INVALID_STATE")
      waiting[0]!()
      const [row] = yield* eventually(deliveriesOf(`resource_id=${id}`), ([each]) => each?.status === "failed")
      assert.deepInclude(row, { id: first.id, attempts_made: 1, next_attempt_at: null })
      // Of many at once, one is sent.
      const answers = yield* Effect.forEach(
        Array.from({ length: 6 }),
        () => operate("POST", `/operator/v1/webhooks/${id}/test`),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [202, 409, 409, 409, 409, 409]
      )
      yield* eventually(
        Effect.sync(() => waiting.length),
        (length) => length === 2
      )
      waiting[1]!()
    })
  )

  it.effect("OPR-155: a resent test makes one attempt, and resends of failed deliveries leave it out", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver((_, response) => void response.writeHead(500).end("no"))
      const { id } = yield* registered(key, { url: hooks.url })
      const first = yield* sent(id)
      const failedAfter = (attempts: number) =>
        eventually(
          deliveryOf(first.id),
          ({ attempts_made, status }) => attempts_made === attempts && status !== "delivering"
        )
      assert.deepInclude(yield* failedAfter(1), { status: "failed", next_attempt_at: null })
      for (const attempts of [2, 3]) {
        assert.strictEqual((yield* resend(first.id)).status, 202)
        assert.deepInclude(yield* failedAfter(attempts), { status: "failed", next_attempt_at: null })
      }
      for (const filter of [{ endpoint_id: id }, { resource_id: id }]) {
        assert.strictEqual((yield* resendFailed({ ...filter, dry_run: true })).body.count, 0)
        assert.strictEqual((yield* resendFailed(filter)).body.count, 0)
      }
      assert.strictEqual((yield* deliveryOf(first.id)).attempts_made, 3)
      yield* sent(id)
    })
  )

  it.effect("OPR-155: refuses an endpoint that is paused, disabled, deleted, or of an inactive application", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      const { id } = yield* registered(key, { url: hooks.url })
      const tested = operate("POST", `/operator/v1/webhooks/${id}/test`)
      yield* changed(key, id, { active: false })
      assertRefused(yield* tested, "INVALID_STATE")
      yield* changed(key, id, { active: true })
      yield* operated("PATCH", `/webhooks/${id}`, { active: false })
      assertRefused(yield* tested, "INVALID_STATE")
      yield* operated("PATCH", `/webhooks/${id}`, { active: true })
      yield* operated("PATCH", `/applications/${applicationId}`, { active: false })
      assertRefused(yield* tested, "INVALID_STATE")
      yield* operated("PATCH", `/applications/${applicationId}`, { active: true })
      yield* changed(key, id, { events: ["charge.pix.expired"] })
      assertRefused(yield* tested, "INVALID_STATE")
      yield* remove(key, id)
      assertRefused(yield* tested, "NOT_FOUND")
      assertRefused(yield* operate("POST", `/operator/v1/webhooks/${endpointId}/test`), "NOT_FOUND")
      assert.deepStrictEqual(hooks.received, [])
    })
  )

  it.effect("OPR-38, OPR-39: developers and operators of the account send tests, and nobody else", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      yield* withoutFourEyes
      const { accountId, key } = yield* makeCaller()
      const other = yield* makeCaller()
      const hooks = yield* receiver()
      const { id } = yield* registered(key, { url: hooks.url })
      const path = `/operator/v1/webhooks/${id}/test`
      assertRefused(yield* (yield* makeOperator("viewer")).call("POST", path), "FORBIDDEN")
      assertRefused(yield* (yield* makeOperator("developer", [other.accountId])).call("POST", path), "NOT_FOUND")
      for (const [index, role] of (["developer", "operator"] as const).entries()) {
        assert.strictEqual((yield* (yield* makeOperator(role, [accountId])).call("POST", path)).status, 202)
        yield* eventually(deliveriesOf(`resource_id=${id}&status=delivered`), ({ length }) => length === index + 1)
      }
    })
  )
})
