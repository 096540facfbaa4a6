import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { nextAttemptDelayMs, parseRetryDelays, retryDelaysMs, retrySchedule } from "../src/RetryCurve.ts"

const MINUTE = 60_000

const noJitter = { nextIntUnsafe: () => 0, nextDoubleUnsafe: () => 0 }

describe("retrySchedule", () => {
  it.effect("DLV-3: attempts at minutes 0, 1, 6, 21, 81, 261, 621, 1341, and no more", () =>
    Effect.gen(function* () {
      const minutes: Array<number> = []
      const attempt = Effect.flatMap(Clock.currentTimeMillis, (now) => {
        minutes.push(now / MINUTE)
        return Effect.fail(minutes.length)
      })
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.retry(attempt, retrySchedule())))
      yield* TestClock.adjust("30 days")
      assert.strictEqual(yield* Fiber.join(fiber), 8)
      assert.deepStrictEqual(minutes, [0, 1, 6, 21, 81, 261, 621, 1341])
    }).pipe(Effect.provideService(Random.Random, noJitter))
  )

  it.effect("takes other delays, none included", () =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const attempt = Effect.flatMap(Clock.currentTimeMillis, (now) => {
        times.push(now)
        return Effect.fail(times.length)
      })
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.retry(attempt, retrySchedule([5, 7]))))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(times, [0, 5, 12])
      times.length = 0
      yield* Effect.flip(Effect.retry(attempt, retrySchedule([])))
      assert.strictEqual(times.length, 1)
    }).pipe(Effect.provideService(Random.Random, noJitter))
  )

  it.effect("DLV-3: one schedule serves deliveries at any place of the curve, each with its own jitter", () =>
    Effect.gen(function* () {
      const step = yield* Schedule.toStep(retrySchedule([1000, 2000]))
      const delaysOf = (attemptsMade: number) =>
        Effect.forEach(Array.from({ length: 50 }), () =>
          Effect.map(step(0, attemptsMade), ([, delay]) => Duration.toMillis(delay))
        )
      const second = yield* delaysOf(2)
      const first = yield* delaysOf(1)
      for (const delay of first) assert.isTrue(delay >= 1000 && delay <= 1100, String(delay))
      for (const delay of second) assert.isTrue(delay >= 2000 && delay <= 2200, String(delay))
      assert.isAbove(new Set(first).size, 5)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(step(0, 3))))
    })
  )
})

describe("nextAttemptDelayMs", () => {
  it("DLV-3: the curve is 1m, 5m, 15m, 1h, 3h, 6h, 12h; attempts in all = delays + 1", () => {
    const delays: Array<number> = []
    let made = 1
    for (let delay = nextAttemptDelayMs(made); delay !== undefined; delay = nextAttemptDelayMs(made)) {
      delays.push(delay / MINUTE)
      made++
    }
    assert.deepStrictEqual(delays, [1, 5, 15, 60, 180, 360, 720])
    assert.strictEqual(made, retryDelaysMs.length + 1)
    assert.isUndefined(nextAttemptDelayMs(99))
  })

  it("the first attempt is made at once", () => assert.strictEqual(nextAttemptDelayMs(0), 0))

  it("without delays there is one attempt", () => assert.isUndefined(nextAttemptDelayMs(1, [])))

  const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
  const Made = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 }))

  it.prop(
    "DLV-3: no jitter before the stated time; up to 10% may be added after it",
    [Made, Share],
    ([made, jitter]) => {
      const stated = retryDelaysMs[made - 1] ?? assert.fail("no such delay")
      const delay = nextAttemptDelayMs(made, retryDelaysMs, jitter) ?? assert.fail("no such delay")
      assert.isAtLeast(delay, stated)
      assert.isAtMost(delay, stated * 1.1)
      assert.isTrue(Number.isInteger(delay))
    }
  )

  it("limits the caller's jitter to 0 to 1", () => {
    assert.strictEqual(nextAttemptDelayMs(1, [1000], 0.5), 1050)
    assert.strictEqual(nextAttemptDelayMs(1, [1000], 1), 1100)
    assert.strictEqual(nextAttemptDelayMs(1, [1000], 7), 1100)
    assert.strictEqual(nextAttemptDelayMs(1, [1000], -7), 1000)
  })
})

describe("parseRetryDelays", () => {
  it("reads the setting `1m,5m,15m,1h,3h,6h,12h` as the curve of the contract", () => {
    assert.deepStrictEqual(parseRetryDelays("1m,5m,15m,1h,3h,6h,12h"), Result.succeed(retryDelaysMs))
    assert.deepStrictEqual(parseRetryDelays(" 250ms, 2s ,30d"), Result.succeed([250, 2000, 2_592_000_000]))
  })

  it("names a malformed delay in the message", () => {
    for (const part of ["5", "m", "0m", "-1m", "1.5h", "1w", "1M", "31d", "99999999999s", "1m 5m", "1e3ms", ""]) {
      const parsed = parseRetryDelays(`1m,${part}`)
      assert.include(Result.isFailure(parsed) ? parsed.failure : "", `"${part}" is not a delay`)
    }
    assert.isTrue(Result.isFailure(parseRetryDelays("")))
    assert.isTrue(Result.isSuccess(parseRetryDelays(Array.from({ length: 100 }, () => "1m").join(","))))
    assert.isTrue(Result.isFailure(parseRetryDelays(Array.from({ length: 101 }, () => "1m").join(","))))
  })
})
