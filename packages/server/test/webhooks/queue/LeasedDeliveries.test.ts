/** First deliveries are sent before they are stored, while their change is leased in the outbox. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { DeliveryQueue } from "../../../src/webhooks/queue/DeliveryQueue.ts"
import type { SentChange } from "../../../src/webhooks/queue/LeasedChangeStatements.ts"
import { created } from "../../support/ChargeRequests.ts"
import { answer, attempted, receivedOf } from "../../support/Deliveries.ts"
import { eventually, loopback, type Receiver, receiver } from "../../support/Receiver.ts"
import { stoppable } from "../../support/StoppableService.ts"
import { leaseOf } from "../../support/Leases.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { deliveriesOf, registered } from "../../support/Webhooks.ts"

// Retries are due after the test has ended; a receiver that hangs is waited for.
const settings = {
  webhookAllowedNetworks: loopback,
  webhookRetryDelaysMs: [3_600_000],
  webhookTimeoutMs: 60_000,
  simulatorSettleMs: 0
}

interface Row {
  readonly id: string
  readonly event: string
  readonly status: string
  readonly attempts_made: number
  readonly is_due: boolean
}

const rowsOf = (chargeId: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<Row>`SELECT id, event, status, attempts_made, due_at <= now() AS is_due FROM deliveries
      WHERE resource_id = ${chargeId}::uuid ORDER BY event`
  )

/** A receiver that answers when it is asked to. */
const hanging = Effect.gen(function* () {
  const waiting: Array<ServerResponse> = []
  const hooks = yield* receiver((_, response) => void waiting.push(response))
  return { hooks, answerAll: () => waiting.splice(0).forEach((response) => answer(response, 200)) }
})

const receivedBy = (hooks: Receiver, chargeId: string, count: number) =>
  eventually(
    Effect.sync(() => receivedOf(hooks, chargeId)),
    ({ length }) => length === count
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Deliveries of a change", (it) => {
  it.effect("DLV-9: are stored while one receiver hangs, those of the others with their attempts", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { answerAll, hooks } = yield* hanging
      const fast = yield* receiver()
      const endpoint = yield* registered(key, { url: fast.url, events: ["charge.pix.emitted"] })
      const { id } = yield* created(key, { webhook_url: hooks.url })
      yield* receivedBy(hooks, id, 2)
      const states = eventually(
        deliveriesOf(`resource_id=${id}`),
        (rows) => rows.length === 3 && rows.some(({ status }) => status === "delivered")
      )
      const stateOf = ({ attempts_made, endpoint_id, status }: Effect.Success<typeof states>[number]) =>
        endpoint_id === endpoint.id ? `fast ${status} ${attempts_made}` : `hanging ${status} ${attempts_made}`
      assert.deepStrictEqual((yield* states).map(stateOf).toSorted(), [
        "fast delivered 1",
        "hanging delivering 0",
        "hanging delivering 0"
      ])
      answerAll()
      for (const { attempts, status } of yield* attempted(id, 1, 3)) {
        assert.strictEqual(status, "delivered")
        assert.lengthOf(attempts, 1)
      }
      assert.lengthOf(receivedOf(hooks, id), 2)
      assert.lengthOf(fast.received, 1)
    })
  )

  it.effect("are stored once, beside others in a batch with some that are stored", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { store } = yield* DeliveryQueue
      const { accountId } = yield* makeCaller()
      const change = (): SentChange => {
        const [changeId, id] = [newKey(), newKey()]
        const unstored = { changeId, applicationId: null, origin: "https://shop.example", createdAtMs: 0 }
        const delivery = { ...leaseOf(id, accountId, 0), resourceId: changeId, unstored }
        return { accountId, changeId, deliveries: [{ delivery, completed: undefined, dueInMs: 3_600_000 }] }
      }
      const [stored, other, another] = [change(), change(), change()]
      yield* store(stored)
      const changes = [{ ...stored }, other, another]
      yield* Effect.forEach(changes, store, { concurrency: "unbounded", discard: true })
      const rows = yield* sql<{
        change_id: string
      }>`SELECT change_id FROM deliveries WHERE account_id = ${accountId}::uuid`
      assert.sameMembers(
        rows.map(({ change_id }) => change_id),
        [stored, other, another].map(({ changeId }) => changeId)
      )
    })
  )

  it.effect("OPR-141: that fail are stored with their attempts, and are retried", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const failing = yield* receiver((_, response) => answer(response, 503))
      const { id } = yield* created(key, { webhook_url: failing.url })
      for (const { attempts, next_attempt_at, status } of yield* attempted(id, 1, 2)) {
        assert.strictEqual(status, "scheduled")
        assert.isNotNull(next_attempt_at)
        assert.deepStrictEqual(
          attempts.map(({ error, status_code }) => [error, status_code]),
          [["status 503", 503]]
        )
      }
    })
  )
})

describe("A process that stops", () => {
  it.live("DLV-4: stores what it has sent, and the next one sends it again with the same bytes", () =>
    Effect.gen(function* () {
      const { sql, withService } = yield* stoppable(settings)
      const { answerAll, hooks } = yield* hanging
      const id = yield* withService(
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { key } = yield* makeCaller()
          const { id } = yield* created(key, { webhook_url: hooks.url })
          yield* receivedBy(hooks, id, 2)
          return id
        })
      )
      const released = { status: "scheduled", attempts_made: 0, is_due: true }
      assert.deepStrictEqual(
        (yield* Effect.provideService(rowsOf(id), SqlClient, sql)).map(({ attempts_made, is_due, status }) => ({
          status,
          attempts_made,
          is_due
        })),
        [released, released]
      )
      assert.lengthOf(yield* sql`SELECT FROM outbox`, 0)
      yield* withService(
        Effect.gen(function* () {
          yield* receivedBy(hooks, id, 4)
          answerAll()
          for (const { attempts, status } of yield* attempted(id, 1, 2)) {
            assert.strictEqual(status, "delivered")
            assert.lengthOf(attempts, 1)
          }
        })
      )
      const byDelivery = Map.groupBy(receivedOf(hooks, id), ({ body }) => body.id)
      assert.strictEqual(byDelivery.size, 2)
      for (const [first, again] of byDelivery.values()) assert.deepStrictEqual(again?.bytes, first?.bytes)
    }).pipe(Effect.scoped)
  )
})
