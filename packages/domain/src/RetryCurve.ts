/**
 * When a webhook delivery is attempted again.
 *
 * Guarantees: the curve is data. After the n-th failed attempt the next one is never before the n-th delay has
 * passed, and at most a tenth of that delay after it. Attempts in all are the delays plus one.
 *
 * Source: payments-api-v1.md "Retries"; decisions.md "Webhooks" and "Finer points".
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The curve of the contract, counted from the end of an attempt. */
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
 * How long after the end of the last attempt the next one is due, or `undefined` when there is none left.
 * `jitter`, from 0 to 1, is drawn by the caller and adds up to a tenth.
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

/** The same curve for `Effect.retry`, in processes that live that long: tests and the command line. */
export const retrySchedule = (delays: ReadonlyArray<number> = retryDelaysMs): Schedule.Schedule<number> =>
  Schedule.recurs(delays.length).pipe(
    Schedule.modifyDelay(({ output }) => Effect.succeed(Duration.millis(delays[output] ?? 0)))
  )

/** The delays of a setting such as `1m,5m,15m,1h` (`ms`, `s`, `m`, `h`, `d`), or what is wrong with it. */
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
  const [, count, unit] = /^([0-9]{1,10})(ms|s|m|h|d)$/.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  const delay = Number(count) * (units[unit] ?? 0)
  return delay > 0 && delay <= MAX_DELAY ? delay : undefined
}
