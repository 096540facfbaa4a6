/**
 * Retry policy: which responses are retried, after what delay, and what a response says about earlier attempts.
 *
 * Guarantees:
 * - A request that may have been processed is retried only if that is safe: reads, PATCH, DELETE, and creations with an
 *   idempotency key.
 * - A POST without a key is retried only after 429. Every other response may come after its commit.
 * - A 4xx other than 408 and 429 is never retried, even if its body is incomplete.
 * - Delays are random over their whole range (full jitter). After `Retry-After` the jitter is added: up to a quarter more.
 *
 * Rules: IDEM-9 (repeat with the same key), ERR-9 (503), ERR-10 and ERR-15 (429).
 */

/** The longest `Retry-After` that the client waits for. With a longer one, the call fails at once. */
export const MAX_RETRY_AFTER_MS = 60_000

/** Whether a response with this status is retried. 408 and 52x come from proxies that gave up on the service. */
export const isRetryable = (status: number, isRepeatable: boolean): boolean =>
  status === 429 || (isRepeatable && /^(408|50[0234]|52.)$/.test(`${status}`))

/** Whether the request may have been processed despite this error status. */
export const isOutcomeUnknown = (status: number): boolean => status === 408 || status >= 500

/**
 * Whether an error response means that an earlier attempt already deleted the resource. Only the service's own code counts:
 * a proxy's 404 may be about the path.
 */
export const isAlreadyDeleted = (method: string, code: unknown, mayBeDone: boolean): boolean =>
  mayBeDone && method === "DELETE" && code === "WEBHOOK_NOT_FOUND"

/**
 * The delay before the next attempt, in milliseconds: `Retry-After` plus jitter. The jitter is at most half a second,
 * doubled with each attempt up to 8 s, or a quarter of `Retry-After` if that is longer.
 */
export const retryDelayMs = (attempt: number, afterMs: number, random: number): number =>
  afterMs + Math.floor(random * Math.max(afterMs / 4, Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1))))

/** Parses `Retry-After`, in seconds or as a date, into milliseconds; `undefined` if it is missing or malformed. */
export const retryAfterMs = (header: string | null, nowMs: number): number | undefined => {
  if (header === null || header === "") return undefined
  const ms = /^[0-9]+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

const BASE_BACKOFF_MS = 500
const MAX_BACKOFF_MS = 8000
