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
import type { ClaimedDelivery } from "../../../src/webhooks/deliveries/Delivery.ts"
import { FanOut } from "../../../src/webhooks/fan-out/FanOut.ts"
import { type Change, NO_LEASES } from "../../../src/webhooks/fan-out/FanOutQuarantine.ts"
import { completeWithFailures, fanOutToEndpoints } from "../../../src/webhooks/fan-out/FanOutStatements.ts"
import { type Capacity, makeInFlightDeliveries } from "../../../src/webhooks/queue/InFlightDeliveries.ts"
import { OutboxFailures } from "../../../src/webhooks/fan-out/OutboxFailures.ts"
import { created } from "../../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { stoppable } from "../../support/StoppableService.ts"
import { TestService } from "../../support/TestService.ts"
import { registered } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

const capacity = makeInFlightDeliveries(768, 100, () => {}).capacity()!

/** A process that only fans out. */
const process = Effect.map(Layer.build(Layer.fresh(FanOut.layer).pipe(Layer.provide(Metrics.layer))), (built) => {
  const { round } = Context.get(built, FanOut)
  return ({ busy = [], ...limits }: Partial<Capacity> & { readonly busy?: ReadonlyArray<string> } = {}) =>
    round({ leaseMs: 60_000, busy, capacity: { ...capacity, ...limits } })
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
  /** Makes all changes as young as possible, so that they are postponed for longest, also on a slow machine. */
  const renewed = sql`UPDATE changes SET created_at = now() + interval '400 milliseconds'`
  return { sql, stored, leased, renewed, newProcess: Effect.provideService(process, SqlClient, sql) }
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

const sentOf = ({ claimed }: { readonly claimed: ReadonlyArray<ClaimedDelivery> }) =>
  claimed.map(({ body, id }) => ({ id, body }))

describe("The fan-out", () => {
  it.live(
    "DLV-4: leases a change to one process, and once: after that, its deliveries are stored before they are sent",
    () =>
      Effect.gen(function* () {
        const { leased, newProcess, sql, stored } = yield* waitingChanges(3)
        const [one, other] = [yield* newProcess, yield* newProcess]
        const first = yield* one()
        assert.lengthOf(first.claimed, 3)
        assert.isTrue(first.claimed.every(({ unstored }) => unstored !== undefined))
        assert.deepStrictEqual([yield* stored, yield* leased], [[], 3])
        assert.lengthOf((yield* other()).claimed, 0)
        assert.lengthOf((yield* one()).claimed, 0)
        // The process has died.
        yield* sql`UPDATE outbox SET leased_until = now()`
        const again = yield* other()
        assert.deepStrictEqual(sentOf(again), sentOf(first))
        assert.isTrue(again.claimed.every(({ unstored }) => unstored === undefined))
        assert.deepStrictEqual([yield* stored, yield* leased], [[{ status: "delivering", count: 3 }], 0])
        assert.lengthOf(yield* sql`SELECT FROM outbox`, 0)
      }).pipe(Effect.scoped)
  )

  it.live("leaves what exceeds the capacity in the outbox, and inserts it when it is older", () =>
    Effect.gen(function* () {
      const { leased, newProcess, renewed, sql, stored } = yield* waitingChanges(5)
      const round = yield* newProcess
      yield* renewed
      const first = yield* round({ perDestination: 2 })
      assert.deepStrictEqual([first.claimed.length, first.postponed, first.backlogged], [2, 3, []])
      assert.deepStrictEqual([yield* stored, yield* leased], [[], 2])
      yield* sql`UPDATE changes SET created_at = now() - interval '1 minute'`
      const second = yield* round({ perDestination: 1 })
      assert.deepStrictEqual([second.claimed.length, second.postponed], [1, 0])
      assert.deepStrictEqual(second.backlogged, [first.claimed[0]!.destination])
      assert.deepStrictEqual([yield* stored, yield* leased], [[{ status: "scheduled", count: 2 }], 3])
    }).pipe(Effect.scoped)
  )

  it.live("leaves a change whole, but for the oldest of an account", () =>
    Effect.gen(function* () {
      const events = ["charge.pix.created", "charge.pix.emitted"]
      const { leased, newProcess, renewed, stored } = yield* waitingChanges(3, events)
      const round = yield* newProcess
      yield* renewed
      const first = yield* round({ perDestination: 3 })
      assert.deepStrictEqual([first.claimed.length, first.postponed], [2, 2])
      assert.deepStrictEqual([yield* stored, yield* leased], [[], 1])
      yield* renewed
      const second = yield* round({ perDestination: 1 })
      assert.deepStrictEqual([second.claimed.length, second.postponed], [1, 1])
      assert.deepStrictEqual([yield* stored, yield* leased], [[{ status: "scheduled", count: 1 }], 2])
    }).pipe(Effect.scoped)
  )

  it.live("inserts at once what waits for a saturated account, and what a clock dates to the future", () =>
    Effect.gen(function* () {
      const { newProcess, renewed, sql, stored } = yield* waitingChanges(2)
      const round = yield* newProcess
      const [account] = yield* sql<{ id: string }>`SELECT account_id AS id FROM outbox LIMIT 1`
      yield* renewed
      const saturated = yield* round({ saturatedAccounts: new Set([account!.id]) })
      assert.deepStrictEqual([saturated.claimed.length, saturated.postponed], [0, 0])
      assert.deepStrictEqual(yield* stored, [{ status: "scheduled", count: 2 }])
      yield* sql`DELETE FROM deliveries`
      yield* sql`UPDATE changes SET created_at = now() + interval '1 minute'`
      yield* sql`INSERT INTO outbox (account_id, change_id, endpoints_version)
        SELECT c.account_id, c.id, n.version FROM changes c JOIN webhook_endpoint_counters n USING (account_id)`
      const early = yield* round({ perDestination: 1 })
      assert.deepStrictEqual([early.claimed.length, early.postponed], [1, 0])
      assert.deepStrictEqual(yield* stored, [{ status: "scheduled", count: 1 }])
    }).pipe(Effect.scoped)
  )

  it.live("in quarantine does not complete a change that another process sends or examines", () =>
    Effect.gen(function* () {
      const { newProcess, sql } = yield* waitingChanges(1)
      const [change] = yield* sql<Change>`SELECT account_id, change_id FROM outbox`
      const [endpoint] = yield* sql<{ id: string }>`SELECT id FROM webhook_endpoints`
      const picked = Effect.suspend(() =>
        Effect.map(
          sql.unsafe<{ picked: number }>(
            ...fanOutToEndpoints({ ...NO_LEASES, picked: [change!], endpoints: [endpoint!.id] })
          ),
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
      assert.lengthOf((yield* round()).claimed, 1)
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
      yield* sql.unsafe(...fanOutToEndpoints({ ...NO_LEASES, picked: [change!], endpoints: [endpoint!.id] }))
      assert.deepStrictEqual([yield* stored, yield* leased], [[{ status: "scheduled", count: 1 }], 0])
      const round = yield* newProcess
      assert.lengthOf((yield* round()).claimed, 0)
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
      assert.lengthOf((yield* round()).claimed, 0)
      assert.deepStrictEqual([yield* stored, yield* leased], [[{ status: "scheduled", count: 1 }], 0])
    }).pipe(Effect.scoped)
  )

  it.live("inserts deliveries to a destination that is busy with a backlog at once", () =>
    Effect.gen(function* () {
      const { leased, newProcess, sql, stored } = yield* waitingChanges(2)
      const [endpoint] = yield* sql<{ destination: string }>`
        SELECT account_id || '/' || destination_hash AS destination FROM webhook_endpoints`
      const round = yield* newProcess
      const { claimed, postponed } = yield* round({ busy: [endpoint!.destination] })
      assert.deepStrictEqual([claimed.length, postponed], [0, 0])
      assert.deepStrictEqual([yield* stored, yield* leased], [[{ status: "scheduled", count: 2 }], 0])
    }).pipe(Effect.scoped)
  )
})
