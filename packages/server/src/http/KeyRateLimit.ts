/**
 * The per-key request limit of `RATE_LIMIT_PER_MINUTE`: off unless configured, counted in each process.
 *
 * Source: decisions.md "Answers" (429 `RATE_LIMITED` with `Retry-After`).
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { Settings } from "../Settings.ts"

export class KeyRateLimit extends Context.Service<
  KeyRateLimit,
  {
    /** Counts a request; the seconds to wait when it is one too many, else 0. */
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
      return KeyRateLimit.of({
        take: (key) =>
          limiter.consume({ key, limit, window: "1 minute", algorithm: "fixed-window", onExceeded: "fail" }).pipe(
            Effect.as(0),
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
