/** The rate limit of a key while the wall clock is wrong. Its answers: RateLimit.test.ts. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KeyRateLimit } from "../../../src/http/public/KeyRateLimit.ts"
import { Settings } from "../../../src/base/Settings.ts"

describe("RATE_LIMIT_PER_MINUTE", () => {
  it.effect("a clock that was an hour ahead refuses no caller for longer than a window after its correction", () =>
    Effect.gen(function* () {
      const { clock, pass, step } = steppingClock()
      const context = yield* Layer.build(limitOf(2)).pipe(Effect.provideService(Clock.Clock, clock))
      const take = Effect.provideService(
        KeyRateLimit.use((limit) => Effect.sync(() => limit.take(caller, new Map()))),
        Clock.Clock,
        clock
      ).pipe(Effect.provide(context))

      step(3_600_000)
      assert.strictEqual(yield* take, 0)
      step(-3_600_000)
      assert.strictEqual(yield* take, 0)
      assert.strictEqual(yield* take, 60, "one too many waits for the end of its window")
      pass(60_000)
      assert.strictEqual(yield* take, 0)
    }).pipe(Effect.scoped)
  )
})

const caller = { keyId: "key", requestsPerMinute: { ofKey: null, ofAccount: null }, account: { id: "account" } }

const limitOf = (perMinute: number) =>
  KeyRateLimit.layer.pipe(
    Layer.provide(Settings.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { RATE_LIMIT_PER_MINUTE: String(perMinute) } })))
  )

/** A wall clock that can be set, beside a monotonic clock. */
const steppingClock = () => {
  let wallMs = Date.UTC(2026, 10, 21)
  let passedMs = 1_000_000
  const wallNanos = () => BigInt(wallMs) * 1_000_000n
  const passedNanos = () => BigInt(passedMs) * 1_000_000n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => wallMs,
    currentTimeMillis: Effect.sync(() => wallMs),
    currentTimeNanosUnsafe: wallNanos,
    currentTimeNanos: Effect.sync(wallNanos),
    monotonicTimeNanosUnsafe: passedNanos,
    monotonicTimeNanos: Effect.sync(passedNanos),
    sleep: () => Effect.never
  }
  return {
    clock,
    step: (ms: number) => {
      wallMs += ms
    },
    pass: (ms: number) => {
      wallMs += ms
      passedMs += ms
    }
  }
}
