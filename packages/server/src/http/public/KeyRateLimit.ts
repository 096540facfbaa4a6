/**
 * The request limit of a key, `RATE_LIMIT_PER_MINUTE`: off by default, counted in each process.
 *
 * Windows use the monotonic clock, so that a correction of the wall clock refuses no request.
 *
 * Rules: ERR-10.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { Settings } from "../../base/Settings.ts"

export class KeyRateLimit extends Context.Service<
  KeyRateLimit,
  {
    /** Counts a request. Returns the seconds to wait where it exceeds the limit, else 0. */
    readonly take: (keyId: string) => Effect.Effect<number>
  }
>()("@pix-payments/server/KeyRateLimit") {
  static readonly layer = Layer.effect(
    KeyRateLimit,
    Effect.gen(function* () {
      const { rateLimitPerMinute } = yield* Settings
      if (Option.isNone(rateLimitPerMinute)) return KeyRateLimit.of({ take: () => Effect.succeed(0) })
      const limiter = yield* RateLimiter.make
      const limit = rateLimitPerMinute.value
      const clock = monotonic(yield* Clock.Clock)
      return KeyRateLimit.of({
        take: (key) =>
          limiter.consume({ key, limit, window: "1 minute", algorithm: "fixed-window", onExceeded: "fail" }).pipe(
            Effect.as(0),
            Effect.provideService(Clock.Clock, clock),
            Effect.catch(({ reason }) =>
              Effect.succeed(
                reason._tag === "RateLimitExceeded" ? Math.max(1, Math.ceil(Duration.toSeconds(reason.retryAfter))) : 0
              )
            )
          )
      })
    })
  ).pipe(Layer.provide(RateLimiter.layerStoreMemory))
}

const monotonic = (clock: Clock.Clock): Clock.Clock => {
  const millis = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    currentTimeNanos: clock.monotonicTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}
