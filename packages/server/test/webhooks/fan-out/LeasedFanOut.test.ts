/** Which changes the fan-out leases, and which stay in the outbox. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { DeliverySignal } from "../../../src/events/DeliverySignal.ts"
import { Metrics } from "../../../src/base/observability/Metrics.ts"
import { FanOut } from "../../../src/webhooks/fan-out/FanOut.ts"
import type { Change } from "../../../src/webhooks/fan-out/FanOutQuarantine.ts"
import { completeWithFailures, fanOutToEndpoints } from "../../../src/webhooks/fan-out/FanOutStatements.ts"
import { OutboxFailures } from "../../../src/webhooks/fan-out/OutboxFailures.ts"
import { created } from "../../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { stoppable } from "../../support/StoppableService.ts"
import { TestService } from "../../support/TestService.ts"
import { registered } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

/** A process that only fans out. */
const process = Effect.map(Layer.build(Layer.fresh(FanOut.layer).pipe(Layer.provide(Metrics.layer))), (built) => {
  const { round } = Context.get(built, FanOut)
  return (mayLease = true) => round({ leaseMs: 60_000, mayLease })
})

/** Charges of which one change each waits in the outbox, on a database without a service. */
const waitingChanges = Effect.fnUntraced(function* (
  count: number,
  events: ReadonlyArray<string> = ["charge.pix.emitted"]
) {
  const { sql, withService } = yield* stoppable(settings)
  const hooks = yield* receiver()
  yield* withService(
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      yield* registered(key, { url: hooks.url, events })
      yield* Effect.forEach(Array.from({ length: count }), () => created(key))
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (received) => received === count * events.length
      )
    })
  )
  yield* sql`DELETE FROM deliveries`
  yield* sql`INSERT INTO outbox (account_id, change_id, endpoints_version)
    SELECT c.account_id, c.id, n.version FROM changes c JOIN webhook_endpoint_counters n USING (account_id)`
  const stored = sql<{ status: string; count: number }>`
    SELECT status, count(*)::integer AS count FROM deliveries GROUP BY status ORDER BY status`
  const leased = Effect.map(
    sql<{ count: number }>`SELECT count(*)::integer AS count FROM outbox WHERE leased_until > now()`,
    ([row]) => row!.count
  )
  return { sql, stored, leased, newProcess: Effect.provideService(process, SqlClient, sql) }
})

const never = { await: Effect.never, rest: Effect.succeed(false) }
const silentSignal = Layer.succeed(
  DeliverySignal,
  DeliverySignal.of({
    afterCommit: () => {},
    wake: () => {},
    await: Effect.never,
    rest: Effect.void,
    first: never,
    retries: never
  })
)

const scheduled = (count: number) => [{ status: "scheduled", count }]

describe("The fan-out", () => {
  it.live(
    "DLV-4: leases a change to one process, and once: after that, its deliveries are stored before they are sent",
    () =>
      Effect.gen(function* () {
        const { leased, newProcess, sql, stored } = yield* waitingChanges(3)
        const [one, other] = [yield* newProcess, yield* newProcess]
        const first = yield* one()
        assert.lengthOf(first.leased, 3)
        assert.isFalse(first.hasScheduled)
        assert.isTrue(first.leased.every(({ unstored }) => unstored !== undefined))
        assert.deepStrictEqual([yield* stored, yield* leased], [[], 3])
        assert.lengthOf((yield* other()).leased, 0)
        assert.lengthOf((yield* one()).leased, 0)
        // The process has died.
        yield* sql`UPDATE outbox SET leased_until = now()`
        const again = yield* other()
        assert.deepStrictEqual([again.leased.length, again.hasScheduled], [0, true])
        assert.deepStrictEqual([yield* stored, yield* leased], [scheduled(3), 0])
        assert.sameMembers(
          (yield* sql<{ id: string }>`SELECT id FROM deliveries`).map(({ id }) => id),
          first.leased.map(({ id }) => id)
        )
        assert.lengthOf(yield* sql`SELECT FROM outbox`, 0)
      }).pipe(Effect.scoped)
  )

  it.live("inserts all deliveries while a process may lease no more", () =>
    Effect.gen(function* () {
      const { leased, newProcess, sql, stored } = yield* waitingChanges(5)
      const round = yield* newProcess
      const { hasScheduled, leased: toSend } = yield* round(false)
      assert.deepStrictEqual([toSend.length, hasScheduled], [0, true])
      assert.deepStrictEqual([yield* stored, yield* leased], [scheduled(5), 0])
      assert.lengthOf(yield* sql`SELECT FROM outbox`, 0)
    }).pipe(Effect.scoped)
  )

  it.live("in quarantine does not complete a change that another process sends or examines", () =>
    Effect.gen(function* () {
      const { newProcess, sql } = yield* waitingChanges(1)
      const [change] = yield* sql<Change>`SELECT account_id, change_id FROM outbox`
      const [endpoint] = yield* sql<{ id: string }>`SELECT id FROM webhook_endpoints`
      const picked = Effect.suspend(() =>
        Effect.map(
          sql.unsafe<{ picked: number }>(...fanOutToEndpoints({ picked: [change!], endpoints: [endpoint!.id] })),
          ([row]) => row!.picked
        )
      )
      const complete = Effect.suspend(() =>
        sql.unsafe(...completeWithFailures({ account: change!.account_id, change: change!.change_id, failures: [] }))
      )
      const isExamined = Latch.makeUnsafe(false)
      const isLeft = Latch.makeUnsafe(false)
      const examining = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM outbox FOR UPDATE`
            yield* isExamined.open
            yield* isLeft.await
          })
        )
      )
      yield* isExamined.await
      assert.strictEqual(yield* picked, 0)
      yield* isLeft.open
      yield* Fiber.join(examining)
      const round = yield* newProcess
      assert.lengthOf((yield* round()).leased, 1)
      assert.strictEqual(yield* picked, 0)
      yield* complete
      assert.lengthOf(yield* sql`SELECT FROM outbox`, 1)
      yield* sql`UPDATE outbox SET leased_until = now()`
      assert.strictEqual(yield* picked, 1)
      yield* complete
      assert.lengthOf(yield* sql`SELECT FROM outbox`, 0)
    }).pipe(Effect.scoped)
  )

  it.live("does not lease a change of which some deliveries are inserted", () =>
    Effect.gen(function* () {
      const { leased, newProcess, sql, stored } = yield* waitingChanges(1)
      const [change] = yield* sql<Change>`SELECT account_id, change_id FROM outbox`
      const [endpoint] = yield* sql<{ id: string }>`SELECT id FROM webhook_endpoints`
      yield* sql.unsafe(...fanOutToEndpoints({ picked: [change!], endpoints: [endpoint!.id] }))
      assert.deepStrictEqual([yield* stored, yield* leased], [scheduled(1), 0])
      const round = yield* newProcess
      assert.lengthOf((yield* round()).leased, 0)
      assert.lengthOf(yield* sql`SELECT FROM outbox`, 0)
      // Nor after an operator's retry of the fan-out.
      const [failure] = yield* sql<{ id: string }>`
        INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at, last_failed_at)
        SELECT uuidv7(), ${change!.change_id}::uuid, account_id, version, 'refused', now(), now()
        FROM webhook_endpoint_counters RETURNING id`
      const built = yield* Layer.build(OutboxFailures.layer.pipe(Layer.provide(silentSignal))).pipe(
        Effect.provideService(SqlClient, sql)
      )
      yield* Context.get(built, OutboxFailures).retry(failure!.id)
      assert.lengthOf((yield* round()).leased, 0)
      assert.deepStrictEqual([yield* stored, yield* leased], [scheduled(1), 0])
    }).pipe(Effect.scoped)
  )
})
