/** Background loops continue after every failure, and sleep when there is nothing to do. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as BackgroundLoop from "../../../src/base/observability/BackgroundLoop.ts"
import { Heartbeats } from "../../../src/base/observability/Heartbeats.ts"

describe("Loops", () => {
  it.effect("repeats at once while there is work, and sleeps when there is none", () =>
    Effect.gen(function* () {
      const work = [3, 2, 1, 0, 5, 0]
      let rounds = 0
      const round = Effect.sync(() => {
        rounds++
        return work.shift() ?? 0
      })
      yield* Effect.forkChild(BackgroundLoop.run("test", round, Effect.sleep("1 second")))
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(rounds, 4)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(rounds, 6)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(rounds, 9)
    })
  )

  it.effect("tries a round that fails or dies again, after pauses that grow up to ten seconds", () =>
    Effect.gen(function* () {
      const at: Array<number> = []
      const round = Effect.gen(function* () {
        at.push(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
        return yield* at.length % 2 === 0 ? Effect.fail("away") : Effect.die(new Error("a mistake of ours"))
      })
      yield* Effect.forkChild(BackgroundLoop.run("test", round, Effect.never))
      yield* TestClock.adjust("45 seconds")
      assert.deepStrictEqual(at, [0, 500, 1500, 3500, 7500, 15_500, 25_500, 35_500])
    })
  )

  it.effect("forgets its failures once a round is done", () =>
    Effect.gen(function* () {
      const outcomes = [Effect.fail("1"), Effect.fail("2"), Effect.fail("3"), Effect.succeed(1), Effect.fail("4")]
      const at: Array<number> = []
      const round = Effect.gen(function* () {
        at.push(yield* Effect.clockWith((clock) => clock.currentTimeMillis))
        return yield* outcomes.shift() ?? Effect.succeed(0)
      })
      yield* Effect.forkChild(BackgroundLoop.run("test", round, Effect.never))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(at, [0, 500, 1500, 3500, 3500, 4000])
    })
  )

  it.effect("continues after a round whose own work was interrupted", () =>
    Effect.gen(function* () {
      let rounds = 0
      const round = Effect.suspend(() => {
        rounds++
        return rounds === 1
          ? Effect.flatMap(Effect.forkChild(Effect.never), (fiber) =>
              Effect.andThen(Fiber.interrupt(fiber), Fiber.join(fiber))
            )
          : Effect.succeed(0)
      })
      yield* Effect.forkChild(BackgroundLoop.run("test", round, Effect.sleep("1 second")))
      yield* TestClock.adjust("5 seconds")
      assert.isAbove(rounds, 1)
    })
  )

  it.effect(
    "OPR-312: is stalled while its rounds hang or fail for longer than they may, and not while it waits for work",
    () =>
      Effect.gen(function* () {
        const heartbeats = yield* Heartbeats
        const of = (name: string) => heartbeats.all().find((loop) => loop.name === name)
        const within = { within: "1 minute" } as const
        const release = yield* Deferred.make<number>()
        const hangs = [Effect.succeed(0), Deferred.await(release)]
        yield* Effect.forkChild(
          BackgroundLoop.run(
            "hangs",
            Effect.suspend(() => hangs.shift() ?? Effect.succeed(0)),
            Effect.sleep("1 second"),
            within
          )
        )
        yield* Effect.forkChild(BackgroundLoop.run("fails", Effect.fail("away"), Effect.never, within))
        const waits = yield* Effect.forkChild(BackgroundLoop.run("waits", Effect.succeed(0), Effect.never, within))
        const works = Effect.as(Effect.sleep("10 seconds"), 1)
        yield* Effect.forkChild(BackgroundLoop.run("works", works, Effect.never, within))
        const stalled = () => ["fails", "hangs", "waits", "works"].filter((name) => of(name)?.isStalled === true)
        yield* TestClock.adjust("60 seconds")
        assert.deepStrictEqual(stalled(), [])
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(stalled(), ["fails", "hangs"])
        assert.strictEqual(of("hangs")?.lastRoundMs, 0)
        assert.strictEqual(of("works")?.lastRoundMs, 60_000)
        yield* Deferred.succeed(release, 0)
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(stalled(), ["fails"])
        assert.strictEqual(of("hangs")?.lastRoundMs, 62_000)
        yield* Fiber.interrupt(waits)
        assert.isUndefined(of("waits"), "a loop that ended is none")
      })
  )

  it.effect("ends when it is interrupted, at work or at rest", () =>
    Effect.gen(function* () {
      for (const round of [Effect.never, Effect.succeed(0), Effect.fail("away")]) {
        const loop = yield* Effect.forkChild(BackgroundLoop.run("test", round, Effect.never), {
          startImmediately: true
        })
        yield* Fiber.interrupt(loop)
      }
    })
  )
})
