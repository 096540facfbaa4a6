import { assert, describe, it } from "@effect/vitest"
import type { PspDouble } from "@pix-payments/psp-double/PspDouble"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { SendUntilMs } from "../src/Connection.ts"
import { type Bank, connect, emission, startDouble, TXID, until, withBank } from "./support/Bank.ts"

const NO_RETRIES = { lookupRetries: 0 }

/** Calls of the token endpoint excepted. */
const calls = ({ exchanges, profile }: PspDouble) => exchanges.filter(({ path }) => path !== profile.tokenPath).length

const circuit = ({ connection }: Bank) => Effect.map(connection.status, (status) => status.circuit._tag)

describe("a connection", () => {
  it.effect("after 429 the operation is not sent until Retry-After has passed; others are", () =>
    withBank({ retryAfterSeconds: 30, connection: { limits: NO_RETRIES } }, ({ double, client, connection }) =>
      Effect.gen(function* () {
        yield* client.emit(emission(double))
        double.faults.once("too-many-requests", { method: "GET" })
        assert.deepInclude(yield* Effect.flip(client.find(TXID)), { _tag: "RateLimited", retryAfterMs: 30_000 })
        yield* TestClock.adjust("10 seconds")
        const before = calls(double)
        assert.deepInclude(yield* Effect.flip(client.find(TXID)), { _tag: "RateLimited", retryAfterMs: 20_000 })
        assert.strictEqual(calls(double), before)
        assert.deepStrictEqual([...(yield* connection.status).limitedUntilMs.keys()], ["find"])
        yield* client.emit(emission(double))
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual((yield* client.find(TXID)).txid, TXID)
      })
    )
  )

  it.effect("a clock that is set back makes neither a 429 nor an open circuit last longer", () =>
    withBank({ connection: { limits: { ...NO_RETRIES, failuresToOpen: 1, openMs: 10_000 } } }, (bank) =>
      Effect.gen(function* () {
        const { client, double } = bank
        yield* TestClock.setTime(3_600_000)
        double.faults.once("too-many-requests", { path: /cob/ })
        yield* Effect.flip(client.find(TXID))
        double.faults.once("error-after", { path: /pix/ })
        yield* Effect.flip(client.findReceived("E".padEnd(32, "1")))
        assert.strictEqual(yield* circuit(bank), "Open")
        yield* TestClock.setTime(0)
        assert.strictEqual(yield* circuit(bank), "HalfOpen")
        assert.strictEqual((yield* Effect.flip(client.find(TXID)))._tag, "NotFound")
        assert.strictEqual(yield* circuit(bank), "Closed")
      })
    )
  )

  it.effect("after 429 of the token endpoint no token is requested until Retry-After has passed", () =>
    withBank({ retryAfterSeconds: 30 }, ({ double, client }) =>
      Effect.gen(function* () {
        double.faults.once("too-many-requests", { path: /token/ })
        for (let n = 0; n < 3; n += 1) {
          assert.deepInclude(yield* Effect.flip(client.find(TXID)), { _tag: "RateLimited", operation: "token" })
        }
        assert.strictEqual(double.exchanges.length, 1)
        yield* TestClock.adjust("30 seconds")
        yield* client.emit(emission(double))
      })
    )
  )

  it.effect("the circuit opens after failures in a row, refuses, lets one call probe, and closes", () =>
    withBank({ connection: { limits: { ...NO_RETRIES, failuresToOpen: 3, openMs: 10_000 } } }, (bank) =>
      Effect.gen(function* () {
        const { double, client } = bank
        yield* client.emit(emission(double))
        double.faults.setRates({ "error-after": 1 })
        for (let n = 0; n < 3; n += 1) {
          assert.strictEqual(yield* circuit(bank), "Closed")
          assert.deepInclude(yield* Effect.flip(client.find(TXID)), { _tag: "Unclear", kind: "server-error" })
        }
        assert.strictEqual(yield* circuit(bank), "Open")
        const before = calls(double)
        for (let n = 0; n < 5; n += 1) {
          assert.deepInclude(yield* Effect.flip(client.find(TXID)), { _tag: "NotSent", reason: "circuit-open" })
        }
        assert.strictEqual(calls(double), before)

        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* circuit(bank), "HalfOpen")
        assert.strictEqual((yield* Effect.flip(client.find(TXID)))._tag, "Unclear")
        assert.strictEqual(yield* circuit(bank), "Open")

        yield* TestClock.adjust("10 seconds")
        double.faults.setRates({})
        double.faults.once("hang", { method: "GET" })
        const probe = yield* Effect.forkChild(client.find(TXID))
        yield* until(() => double.exchanges.some(({ fault }) => fault === "hang"))
        assert.deepInclude(yield* Effect.flip(client.find(TXID)), { _tag: "NotSent", reason: "circuit-open" })
        yield* Fiber.interrupt(probe)
        yield* client.find(TXID)
        assert.strictEqual(yield* circuit(bank), "Closed")
      })
    )
  )

  it.effect("refusals and what is not found leave the circuit closed", () =>
    withBank({ connection: { limits: { ...NO_RETRIES, failuresToOpen: 2 } } }, (bank) =>
      Effect.gen(function* () {
        for (let n = 0; n < 6; n += 1) {
          assert.strictEqual((yield* Effect.flip(bank.client.find(TXID)))._tag, "NotFound")
        }
        assert.strictEqual(yield* circuit(bank), "Closed")
      })
    )
  )

  it.effect("one that hangs has a bounded number of calls in flight, and another is not delayed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const limits = { ...NO_RETRIES, maxInFlight: 8, failuresToOpen: 8, openMs: 600_000 }
        const [hanging, sound] = [
          yield* connect(yield* startDouble(), { connection: { limits } }),
          yield* connect(yield* startDouble({ profile: "efi" }), { connection: { limits } })
        ]
        yield* hanging.client.emit(emission(hanging.double))
        yield* sound.client.emit(emission(sound.double))
        const before = calls(hanging.double)
        hanging.double.faults.setRates({ hang: 1 })
        const outcomes = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 100 }, () => Effect.flip(hanging.client.find(TXID))),
            { concurrency: "unbounded" }
          )
        )
        yield* until(() => calls(hanging.double) === before + 8)
        assert.strictEqual((yield* hanging.connection.status).inFlight, 8)

        // The clock stands still: no time limit has ended any call of the other.
        for (let n = 0; n < 50; n += 1) yield* sound.client.find(TXID)
        assert.strictEqual((yield* hanging.connection.status).inFlight, 8)

        yield* TestClock.adjust("60 seconds")
        const ended = yield* Fiber.join(outcomes)
        const count = (what: string) =>
          ended.filter((each) => ("reason" in each ? `${each._tag} ${each.reason}` : each._tag).startsWith(what)).length
        assert.deepStrictEqual([count("Unclear no answer"), count("NotSent saturated")], [8, 92])
        assert.strictEqual(calls(hanging.double), before + 8)
        assert.deepStrictEqual([yield* circuit(hanging), yield* circuit(sound)], ["Open", "Closed"])
        assert.strictEqual((yield* hanging.connection.status).inFlight, 0)
      })
    )
  )

  it.effect("no token in time: the order was not sent", () =>
    withBank({}, ({ double, client }) =>
      Effect.gen(function* () {
        double.faults.once("hang", { path: /token/ })
        const emitting = yield* Effect.forkChild(Effect.flip(client.emit(emission(double))))
        yield* until(() => double.exchanges.length === 1)
        yield* TestClock.adjust("60 seconds")
        assert.deepInclude(yield* Fiber.join(emitting), { _tag: "NotSent", reason: "no-access-token" })
        yield* client.emit(emission(double))
      })
    )
  )

  it.effect("a process that is stopped while it waits for its token sends no order when its time is over", () =>
    withBank({}, ({ double, client }) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        // It is stopped before the token's answer, and no timer has run when it reads the answer.
        const stoppedMs = () => (double.exchanges.length > 0 ? 60_000 : 0)
        const stopped: Clock.Clock = Object.create(clock, {
          currentTimeMillis: { value: Effect.map(clock.currentTimeMillis, (nowMs) => nowMs + stoppedMs()) }
        })
        const failure = yield* Effect.flip(client.emit(emission(double))).pipe(
          Effect.provideService(SendUntilMs, 30_000),
          Effect.provideService(Clock.Clock, stopped)
        )
        assert.deepInclude(failure, { _tag: "NotSent", reason: "no-access-token" })
        assert.deepStrictEqual([double.exchanges.length, calls(double)], [1, 0])
        yield* client.emit(emission(double))
      })
    )
  )

  it.effect("one that is closed sends nothing, and lets nobody wait", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble()
        const scope = yield* Scope.make()
        const { client, connection } = yield* Scope.provide(connect(double), scope)
        double.faults.once("hang", { path: /token/ })
        const waiting = yield* Effect.forkChild(Effect.flip(client.find(TXID)))
        yield* until(() => double.exchanges.length === 1)
        yield* Scope.close(scope, Exit.void)
        const failures = [
          yield* Fiber.join(waiting),
          yield* Effect.flip(connection.authenticate),
          yield* Effect.flip(client.find(TXID))
        ]
        for (const failure of failures) assert.deepInclude(failure, { _tag: "NotSent", reason: "no-access-token" })
      })
    )
  )

  it.effect("a provider that cannot be reached: the order was not sent", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const double = yield* startDouble()
        const bank = yield* connect(double, { connection: { limits: NO_RETRIES } })
        yield* bank.client.emit(emission(double))
        yield* Effect.promise(() => double.close())
        const failure = yield* until(() => true).pipe(
          Effect.andThen(Effect.flip(bank.client.find(TXID))),
          Effect.repeat({
            until: ({ _tag }) => _tag === "NotSent"
          })
        )
        assert.deepInclude(failure, { _tag: "NotSent", reason: "no-connection", detail: "ECONNREFUSED" })
      })
    )
  )

  it.effect("a token is replaced before its end, by our clock", () =>
    withBank({ tokenLifetimeSeconds: 3600 }, ({ double, client }) =>
      Effect.gen(function* () {
        const tokens = () => double.exchanges.length - calls(double)
        yield* client.emit(emission(double))
        yield* TestClock.adjust("58 minutes")
        yield* client.find(TXID)
        assert.strictEqual(tokens(), 1)
        yield* TestClock.adjust("90 seconds")
        yield* client.find(TXID)
        assert.strictEqual(tokens(), 2)
      })
    )
  )
})
