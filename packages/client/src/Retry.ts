/**
 * Whether and when a request is sent again.
 *
 * Guarantees: what may have been carried out is repeated only where repeating is safe: reads, changes that say how
 * things are to be, and creations under an idempotency key. What the service refused (4xx but 429) never is. Delays are
 * random over their whole range, so that clients that failed together do not come back together, and never shorter than
 * the service asks for.
 *
 * Source: payments-api-v1.md "Errors" (500 and time-outs: repeat with the same key), "Limits" (429: back off).
 */

/** The longest that `Retry-After` is waited for; who asks for more gets the error at once. */
export const MAX_RETRY_AFTER_MS = 60_000

/** Statuses of which a request may be sent again. */
export const isRetryable = (status: number, code: string, isRepeatable: boolean): boolean =>
  // These two say that nothing was done, whatever was asked.
  status === 429 || (status === 503 && code === "SERVICE_UNAVAILABLE")
    ? true
    : isRepeatable && (status === 500 || (status >= 502 && status <= 504))

/** Full jitter: from 0 to half a second, doubled with each attempt, 8 seconds at most. In milliseconds. */
export const backoffMs = (attempt: number, random: number): number =>
  Math.floor(random * Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1)))

/** Milliseconds that a `Retry-After` header asks for, in seconds or as a date; `undefined` where it says nothing. */
export const retryAfterMs = (header: string | null, nowMs: number): number | undefined => {
  if (header === null || header === "") return undefined
  const ms = /^[0-9]+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

const BASE_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 8000
