/**
 * The retry delays of webhook deliveries: DLV-3.
 *
 * Guarantees
 * - The n-th retry is never before the n-th delay has passed since the end of the failed attempt, and at most a tenth
 *   of the delay later.
 * - There is one attempt more than there are delays.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The delays of the contract. */
export const retryDelaysMs: ReadonlyArray<number> = [
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR
]

/**
 * The delay from the end of the last attempt to the next one, or `undefined` if no attempt is left. `jitter`, a random
 * number from 0 to 1 of the caller, adds up to a tenth.
 */
export const nextAttemptDelayMs = (
  attemptsMade: number,
  delays: ReadonlyArray<number> = retryDelaysMs,
  jitter = 0
): number | undefined => {
  if (attemptsMade === 0) return 0
  const delay = delays[attemptsMade - 1]
  return delay === undefined ? undefined : delay + Math.floor(delay * MAX_JITTER * Math.min(Math.max(jitter, 0), 1))
}

/**
 * The retry curve as a `Schedule`. Its input is the number of attempts made, so that one schedule serves every delivery: a
 * delivery's place on the curve is in its row. Its output is the delay, with jitter from `Random`.
 */
export const retrySchedule = (
  delays: ReadonlyArray<number> = retryDelaysMs
): Schedule.Schedule<Duration.Duration, number> =>
  Schedule.fromStep(
    Effect.succeed((_nowMs: number, attemptsMade: number) =>
      Effect.flatMap(Random.next, (jitter) => {
        const delayMs = nextAttemptDelayMs(attemptsMade, delays, jitter)
        if (delayMs === undefined) return Cause.done(Duration.zero)
        const delay = Duration.millis(delayMs)
        return Effect.succeed<[Duration.Duration, Duration.Duration]>([delay, delay])
      })
    )
  )

/** The delays of a setting such as `1m,5m,15m,1h` (`ms`, `s`, `m`, `h`, `d`), or an error message. */
export const parseRetryDelays = (setting: string): Result.Result<ReadonlyArray<number>, string> => {
  const parts = setting.split(",").map((part) => part.trim())
  if (parts.length > MAX_DELAYS) return Result.fail(`at most ${MAX_DELAYS} delays, got ${parts.length}`)
  const delays: Array<number> = []
  for (const part of parts) {
    const delay = parseDelay(part)
    if (delay === undefined) {
      return Result.fail(`"${part}" is not a delay: write a whole number above 0 and ms, s, m, h or d, at most 30d`)
    }
    delays.push(delay)
  }
  return Result.succeed(delays)
}

const MAX_JITTER = 0.1
const MAX_DELAYS = 100
const MAX_DELAY = 30 * 24 * HOUR

const units: { readonly [unit: string]: number } = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: 24 * HOUR }

const parseDelay = (text: string): number | undefined => {
  // NaN, which is not above 0, for another text.
  const [, count, unit = ""] = /^([0-9]{1,10})(ms|s|m|h|d)$/.exec(text) ?? []
  const delay = Number(count) * (units[unit] ?? 0)
  return delay > 0 && delay <= MAX_DELAY ? delay : undefined
}
