/**
 * The requests of a minute: of a key (`RATE_LIMIT_PER_MINUTE`, and its own limit), and of all keys of an account. Each process
 * counts by itself. Nothing is counted where there is no limit.
 *
 * Windows use the monotonic clock, so that a correction of the wall clock refuses no request.
 *
 * Rules: ERR-10, OPR-332.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Caller } from "../../accounts/Caller.ts"
import { Settings } from "../../base/Settings.ts"

/** A request as it was counted. */
export type Counted = Map<string, Window>

interface Window {
  readonly endsAtMs: number
  requests: number
}

type Limited = Pick<Caller, "keyId" | "requestsPerMinute"> & { readonly account: Pick<Caller["account"], "id"> }

export class KeyRateLimit extends Context.Service<
  KeyRateLimit,
  {
    /**
     * Counts a request, once for each of its limits. Returns the seconds to wait where it exceeds one, else 0. A request that is
     * decided again, by another state of its caller, has the same `counted`.
     */
    readonly take: (caller: Limited, counted: Counted) => number
  }
>()("@pix-payments/server/KeyRateLimit") {
  static readonly layer = Layer.effect(
    KeyRateLimit,
    Effect.gen(function* () {
      const { rateLimitPerMinute } = yield* Settings
      const ofEachKey = Option.getOrElse(rateLimitPerMinute, () => Infinity)
      const clock = yield* Clock.Clock
      const windows = new Map<string, Window>()

      const count = (id: string, nowMs: number): Window => {
        let window = windows.get(id)
        if (window === undefined || window.endsAtMs <= nowMs) {
          // The oldest window is the first one.
          windows.delete(id)
          windows.set(id, (window = { endsAtMs: nowMs + WINDOW_MS, requests: 0 }))
          for (const [oldest, { endsAtMs }] of windows) {
            if (endsAtMs > nowMs) break
            windows.delete(oldest)
          }
        }
        window.requests++
        return window
      }

      return KeyRateLimit.of({
        take: ({ account, keyId, requestsPerMinute: { ofAccount, ofKey } }, counted) => {
          const limits = [
            [keyId, Math.min(ofEachKey, ofKey ?? Infinity)],
            [account.id, ofAccount ?? Infinity]
          ] as const
          let waitMs = 0
          for (const [id, limit] of limits) {
            if (limit === Infinity) continue
            const nowMs = Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
            const window = counted.get(id) ?? count(id, nowMs)
            counted.set(id, window)
            if (window.requests > limit) waitMs = Math.max(waitMs, window.endsAtMs - nowMs)
          }
          return Math.ceil(waitMs / 1000)
        }
      })
    })
  )
}

const WINDOW_MS = 60_000
