/**
 * Whether and when a request is sent again, and what an answer says of the attempts before it.
 *
 * Guarantees: what may have been carried out is repeated only where repeating is safe: reads, changes that say how
 * things are to be, and creations under an idempotency key. A creation that takes no key is repeated after 429 alone:
 * every other answer may come after its commit. What the service refused (4xx but 408 and 429) is never repeated, nor does it
 * matter how much of the refusal arrived. Delays are random over their whole range, so that clients that failed together
 * do not come back together; where the service asks for a wait, chance comes on top of it, up to a quarter more.
 *
 * Source: payments-api-v1.md "Errors" (500 and time-outs: repeat with the same key), "Limits" (429: back off).
 */

/** The longest that `Retry-After` is waited for; who asks for more gets the error at once. */
export const MAX_RETRY_AFTER_MS = 60_000

/** Statuses of which a request may be sent again: 408 and 52x are of proxies that gave up on the service. */
export const isRetryable = (status: number, isRepeatable: boolean): boolean =>
  status === 429 || (isRepeatable && /^(408|50[0234]|52.)$/.test(`${status}`))

/** Whether a call may have been carried out although it was answered so. */
export const isUncertain = (status: number): boolean => status === 408 || status >= 500

/**
 * Whether an answer says that what was to be removed is gone by an earlier attempt, of which no result came. Only the
 * service can say so, by its code: the 404 of a proxy is about a path.
 */
export const isRemoved = (method: string, code: unknown, mayBeDone: boolean): boolean =>
  mayBeDone && method === "DELETE" && code === "WEBHOOK_NOT_FOUND"

/**
 * How long to wait after an attempt, in milliseconds: what the service asks for, and full jitter on top: from 0 to half a
 * second, doubled with each attempt, 8 seconds at most, or to a quarter of what is asked for where that is longer.
 */
export const delayMs = (attempt: number, askedMs: number, random: number): number =>
  askedMs + Math.floor(random * Math.max(askedMs / 4, Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1))))

/** Milliseconds that a `Retry-After` header asks for, in seconds or as a date; `undefined` where it says nothing. */
export const retryAfterMs = (header: string | null, nowMs: number): number | undefined => {
  if (header === null || header === "") return undefined
  const ms = /^[0-9]+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

const BASE_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 8000
