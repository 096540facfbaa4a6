/** A connection whose circuit is open, over HTTP. The service's clock stands still, so that only the test ends the circuit. */
import { assert, layer } from "@effect/vitest"
import type { Connection } from "@pix-payments/api/operator/Connections"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import * as ConnectionMonitor from "../../src/providers/connections/ConnectionMonitor.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import { connectedBank } from "../support/ConnectedBank.ts"
import { eventStatusesOf, operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

let nowMs = Math.floor(performance.timeOrigin)

const standingClock = Effect.map(Clock.Clock, (live) =>
  Object.assign(Object.create(live) as Clock.Clock, {
    currentTimeMillis: Effect.sync(() => nowMs),
    currentTimeMillisUnsafe: () => nowMs
  })
)

/** Longer than the test: a creation that waited for the provider would not be answered. */
const acquirerTimeoutMs = 600_000

layer(
  TestService.layer({ settings: { acquirerTimeoutMs } }).pipe(Layer.provide(Layer.effect(Clock.Clock, standingClock))),
  {
    excludeTestServices: true
  }
)("A connection whose circuit is open", (it) => {
  it.effect(
    "OPR-64, CHG-4: creations answer processing without a call, and are emitted once when the circuit has closed",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank()
        const { connectionId, double, key } = bank
        yield* withoutSweeps(connectionId)
        const said: Array<string> = []
        const look = Effect.provideService(
          yield* ConnectionMonitor.makeWatch,
          Logger.CurrentLoggers,
          new Set([Logger.make(({ message }) => void said.push(String(message)))])
        )
        const circuitMetric = metricAfter(look, connectionId)
        const connection = operated<Connection>("GET", `/connections/${connectionId}`)
        const { id: before } = yield* created(key)
        assert.strictEqual((yield* connection).state, "ready")
        assert.strictEqual(yield* circuitMetric, 0)

        const repair = double.faults.always("dropped-before")
        const failed: Array<string> = []
        while ((yield* connection).state === "ready") {
          assert.isBelow(failed.length, 10)
          const charge = yield* created(key)
          assert.strictEqual(charge.status, "processing")
          failed.push(charge.id)
        }
        assert.strictEqual((yield* connection).state, "circuit_open")
        assert.strictEqual(yield* circuitMetric, 1)

        const called = double.exchanges.length
        const unsent = yield* Effect.forEach(Array.from({ length: 12 }), () => created(key), { concurrency: 12 })
        assert.deepStrictEqual(new Set(unsent.map(({ status }) => status)), new Set(["processing"]))
        yield* recoveryIsDue
        yield* eventually(recoveriesDue, (count) => count === 0)
        assert.strictEqual(double.exchanges.length, called)
        assert.deepStrictEqual((yield* retrieve(key, before)).body.status, "pending")

        // It is open until a call succeeds, also while one may be tried.
        nowMs += 60_000
        assert.strictEqual((yield* connection).state, "circuit_open")
        assert.strictEqual(yield* circuitMetric, 1)

        repair()
        nowMs += 60_000
        const waiting = [...failed, ...unsent.map(({ id }) => id)]
        yield* eventually(
          Effect.andThen(
            recoveryIsDue,
            Effect.forEach(waiting, (id) => retrieve(key, id))
          ),
          (charges) => charges.every(({ body }) => body.status === "pending")
        )
        for (const id of waiting) {
          const cob = Result.getOrThrow(double.provider.cobs.get(txidFromId(id)))
          assert.strictEqual(cob.status, "ATIVA")
          assert.deepStrictEqual(yield* eventStatusesOf(id), [
            "charge.pix.created pending",
            "charge.pix.emitted pending"
          ])
        }
        assert.strictEqual((yield* connection).state, "ready")
        assert.strictEqual(yield* circuitMetric, 0)
        assert.strictEqual((yield* created(key)).status, "pending")
        assert.deepStrictEqual(said, ["the provider of a connection is away", "the provider of a connection is back"])
        assert.deepStrictEqual([...double.violations, ...double.defects], [])
      })
  )
})

/** Waits for the end of the first sweep, whose calls would be counted, and lets no other begin. */
const withoutSweeps = (connectionId: string) =>
  SqlClient.use((sql) =>
    eventually(
      sql`UPDATE acquirer_connections SET due_at = 'infinity'
        WHERE id = ${connectionId}::uuid AND due_at BETWEEN now() AND now() + interval '61 seconds' RETURNING id`,
      ({ length }) => length === 1
    )
  )

const recoveryIsDue = SqlClient.use((sql) => sql`UPDATE charge_recoveries SET due_at = now()`)

const recoveriesDue = SqlClient.use((sql) =>
  Effect.map(sql<{ count: bigint }>`SELECT count(*) FROM charge_recoveries WHERE due_at <= now()`, ([row]) =>
    Number(row?.count)
  )
)

/** The metric of a connection, as `/metrics` has it after the next look at the connections. */
const metricAfter = <E, R>(look: Effect.Effect<unknown, E, R>, connectionId: string) =>
  Effect.gen(function* () {
    yield* Effect.provideServiceEffect(look, Clock.Clock, standingClock)
    const { text } = yield* (yield* TestService).operate("GET", "/metrics")
    const line = text
      .split("\n")
      .find((each) => each.startsWith("pix_payments_acquirer_connection_circuit_open{") && each.includes(connectionId))
    return Number(line?.split(" ").at(-1))
  })
