/** First deliveries are sent before they are stored, while their change is leased in the outbox. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import type { ServerResponse } from "node:http"
import { DeliverySignal } from "../../src/events/DeliverySignal.ts"
import { Metrics } from "../../src/observability/Metrics.ts"
import { type ClaimedDelivery, NIL_UUID } from "../../src/webhooks/Delivery.ts"
import type { DeliveryQueue } from "../../src/webhooks/DeliveryQueue.ts"
import { FanOut } from "../../src/webhooks/FanOut.ts"
import { type Change, NO_LEASES } from "../../src/webhooks/FanOutQuarantine.ts"
import { fanOutToEndpoints } from "../../src/webhooks/FanOutStatements.ts"
import { makeInFlightDeliveries } from "../../src/webhooks/InFlightDeliveries.ts"
import { OutboxFailures } from "../../src/webhooks/OutboxFailures.ts"
import { makeLeasedChanges, STORE_AFTER_MS } from "../../src/webhooks/LeasedChanges.ts"
import type { SentChange } from "../../src/webhooks/LeasedChangeStatements.ts"
import { created } from "../support/ChargeRequests.ts"
import { answer, attempted, receivedOf } from "../support/Deliveries.ts"
import { attemptNow, leaseOf } from "../support/Leases.ts"
import { createDatabase } from "../support/Postgres.ts"
import { eventually, loopback, type Receiver, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { upgradedServices } from "../support/UpgradedDatabase.ts"
import { deliveriesOf, registered } from "../support/Webhooks.ts"

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
      const states = eventually(deliveriesOf(`resource_id=${id}`), ({ length }) => length === 3)
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

// One key, for several services on one database.
const secretsKeys = Option.some(Redacted.make(Buffer.alloc(32, 3).toString("base64")))

/** A database whose services stop, and its owner. */
const stoppable = Effect.gen(function* () {
  const databaseUrl = yield* createDatabase()
  const owner = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
  const service = TestService.layer({ databaseUrl, settings: { ...settings, secretsKeys } })
  return {
    sql: owner,
    /** Runs with a service of its own, which is stopped afterwards. */
    withService: <A, E>(work: Effect.Effect<A, E, TestService | SqlClient | Scope.Scope>) =>
      Layer.build(Layer.fresh(service)).pipe(
        Effect.flatMap((built) => Effect.provide(work, built)),
        Effect.scoped
      )
  }
})

describe("A process that stops", () => {
  it.live("DLV-4: stores what it has sent, and the next one sends it again with the same bytes", () =>
    Effect.gen(function* () {
      const { sql, withService } = yield* stoppable
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

const capacity = makeInFlightDeliveries(768, 100, () => {}).capacity()!

/** A process that only fans out. */
const process = Effect.map(Layer.build(Layer.fresh(FanOut.layer).pipe(Layer.provide(Metrics.layer))), (built) => {
  const { round } = Context.get(built, FanOut)
  return (options: { readonly perDestination?: number; readonly busy?: ReadonlyArray<string> } = {}) =>
    round({
      leaseMs: 60_000,
      busy: options.busy ?? [],
      capacity: { ...capacity, perDestination: options.perDestination ?? 50 }
    })
})

/** Charges of which one change each waits in the outbox, on a database without a service. */
const waitingChanges = Effect.fnUntraced(function* (count: number) {
  const { sql, withService } = yield* stoppable
  const hooks = yield* receiver()
  yield* withService(
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      yield* registered(key, { url: hooks.url, events: ["charge.pix.emitted"] })
      yield* Effect.forEach(Array.from({ length: count }), () => created(key))
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (received) => received === count
      )
    })
  )
  yield* sql`DELETE FROM deliveries`
  yield* sql`UPDATE changes SET created_at = now() + interval '1 hour'`
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
      const { leased, newProcess, sql, stored } = yield* waitingChanges(5)
      const round = yield* newProcess
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

describe("An installation that an earlier release may serve", () => {
  it.live("DLV-4: stores deliveries before they are sent, until an operator ends the upgrade", () =>
    Effect.gen(function* () {
      const { endUpgrade, start } = yield* upgradedServices(settings)
      const { answerAll, hooks } = yield* hanging
      const sent = Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const { id } = yield* created(key, { webhook_url: hooks.url })
        yield* receivedBy(hooks, id, 2)
        const stored = yield* rowsOf(id)
        answerAll()
        yield* attempted(id, 1, 2)
        return stored.map(({ status }) => status)
      })
      assert.deepStrictEqual(yield* Effect.provide(sent, yield* start), ["delivering", "delivering"])
      yield* endUpgrade
      yield* Effect.provide(sent, yield* start)
    }).pipe(Effect.scoped)
  )
})

/** Deliveries of a change that are sent to a queue that notes what it stores. */
const noted = (changeId: string, count: number) => {
  const calls: Array<string> = []
  const note = (change: SentChange) =>
    Effect.sync(() => {
      const states = change.deliveries.map(
        ({ completed, leaseMs }) => completed?.outcome.status ?? `in flight ${leaseMs}`
      )
      calls.push(`store ${change.changeId}: ${states.join(", ")}`)
    })
  const queue: Pick<DeliveryQueue["Service"], "record" | "store"> = {
    record: ({ outcome }) => Effect.sync(() => void calls.push(`record ${outcome.status}`)),
    store: note
  }
  const deliveries = Array.from({ length: count }, (_, index): ClaimedDelivery => ({
    ...leaseOf(`delivery ${index}`, NIL_UUID, 0),
    unstored: { changeId, applicationId: null, origin: "https://shop.example", createdAtMs: 0 }
  }))
  const changes = makeLeasedChanges(queue, 60_000)
  const ended = (index: number, status: "delivered" | "failed" = "delivered") =>
    Effect.flatMap(attemptNow(), (attempt) =>
      changes.record({ delivery: deliveries[index]!, attempt, outcome: { status } })
    )
  return { calls, changes, deliveries, ended }
}

describe("Leased changes", () => {
  it.effect("are stored once, with the last attempt", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries, ended } = noted("a", 3)
      yield* changes.add(deliveries)
      yield* ended(1)
      yield* ended(2, "failed")
      assert.deepStrictEqual(calls, [])
      yield* ended(0)
      assert.deepStrictEqual(calls, ["store a: delivered, failed, delivered"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* changes.storeOverdue, 0)
      yield* changes.release
      assert.lengthOf(calls, 1)
    })
  )

  it.effect("are stored while attempts are in flight, whose ends are recorded afterwards", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries, ended } = noted("a", 2)
      yield* changes.add(deliveries)
      yield* ended(0)
      yield* TestClock.adjust(STORE_AFTER_MS - 1)
      assert.strictEqual(yield* changes.storeOverdue, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* changes.storeOverdue, 1)
      yield* ended(1, "failed")
      assert.deepStrictEqual(calls, ["store a: delivered, in flight 60000", "record failed"])
    })
  )

  it.effect("are stored by a process that stops: what is in flight is due at once", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries, ended } = noted("a", 2)
      yield* changes.add(deliveries)
      yield* ended(0)
      yield* changes.release
      assert.deepStrictEqual(calls, ["store a: delivered, in flight 0"])
    })
  )

  it.effect("do not concern deliveries that are stored", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries } = noted("a", 1)
      const stored = { ...deliveries[0]!, unstored: undefined }
      yield* changes.add([stored])
      yield* changes.record({ delivery: stored, attempt: yield* attemptNow(), outcome: { status: "delivered" } })
      assert.deepStrictEqual(calls, ["record delivered"])
    })
  )
})
