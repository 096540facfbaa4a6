/**
 * Waiting for a charge by asking for it, as seldom as the contract wants; what both clients do.
 *
 * Guarantees: it asks at once, then after 30 s, 60 s, 90 s and so on, each wait 30 s longer than the last; where less
 * than the next wait is left of its time, it waits what is left and asks once more. It ends when the charge is as wanted,
 * can no longer become so, or the time is over. A question that stays without an answer through all its attempts, or is
 * answered with 429 or 5xx, says nothing of the charge: the next one comes after the next wait, and not before
 * `Retry-After`; only the last one's failure is the wait's. Any other error ends it. Webhooks tell sooner and cost less.
 *
 * Source: payments-api-v1.md "Limits" ("Clients that poll use increasing intervals starting at 30 seconds"); the domain's
 * table of transitions.
 */
import { sleep } from "./Bounded.ts"
import type { RequestOptions } from "./Call.ts"
import { AbortError, ApiError, ConnectionError, PaymentsError, TimeoutError, UsageError, WaitError } from "./Errors.ts"
import type { Charge, ChargeStatus } from "./generated/Resources.ts"
import { laterChargeStatuses } from "./generated/Routes.ts"

/** A status, several of them, or any question about the charge. */
export type ChargeCondition = ChargeStatus | ReadonlyArray<ChargeStatus> | ((charge: Charge) => boolean)

/** What `waitUntil` takes. */
export interface WaitOptions extends RequestOptions {
  /**
   * How long to wait in all, in milliseconds, from 0, which asks once; the last wait is shortened to what is left. Without
   * it, until the charge is as wanted or can no longer become so, however long the service does not answer.
   */
  readonly waitMs?: number | undefined
}

/** What is wrong with how long to wait, or `undefined`. */
export const wrongWait = (waitMs: number): string | undefined => (waitMs >= 0 ? undefined : "waitMs must be 0 or more")

/** Whether the charge is as wanted. */
export const isMet = (condition: ChargeCondition, charge: Charge): boolean =>
  typeof condition === "function" ? condition(charge) : [condition].flat().includes(charge.status)

/** Whether a question that was answered with an error may be asked again later; one without an answer always may. */
export const isPassing = (status: number): boolean => status === 429 || status >= 500

/**
 * How long to wait before another question, in milliseconds; `undefined` where there is no time for one.
 *
 * @param asked how often it was asked
 * @param leftMs what is left of `waitMs`; 0 after the last wait
 * @param askedMs what the service asks to wait
 */
export const nextDelay = (asked: number, leftMs: number, askedMs = 0): number | undefined =>
  leftMs > 0 ? Math.min(Math.max(FIRST_DELAY_MS * asked, Math.min(askedMs, LONGEST_ASKED_MS)), leftMs) : undefined

/** The same of a charge that was read and is not as wanted; or why to give up. */
export const nextWait = (
  condition: ChargeCondition,
  { id, status }: Charge,
  asked: number,
  leftMs: number,
  waitMs: number
): number | string => {
  if (isOver(condition, status)) return `The charge ${id} is ${status}`
  return nextDelay(asked, leftMs) ?? `The charge ${id} was still ${status} after ${waitMs} ms`
}

export const waitUntil = async (
  retrieve: (id: string, options: RequestOptions) => Promise<Charge>,
  id: string,
  condition: ChargeCondition,
  { waitMs = Infinity, ...options }: WaitOptions = {}
): Promise<Charge> => {
  const operation = "charges.waitUntil"
  const wrong = wrongWait(waitMs)
  if (wrong !== undefined) throw new UsageError(`${operation}: ${wrong}`, { operation, attempts: 0 })
  const endMs = performance.now() + waitMs
  let isLast = false
  for (let attempts = 1; ; attempts++) {
    const read = await retrieve(id, options).catch(passing)
    const failed = read instanceof PaymentsError
    if (!failed && isMet(condition, read)) return read
    const facts = { operation, attempts }
    // A timer may be early by a little, which is no time for another question.
    const leftMs: number = isLast ? 0 : endMs - performance.now()
    const next = failed
      ? nextDelay(attempts, leftMs, Object(read).retryAfterMs)
      : nextWait(condition, read, attempts, leftMs, waitMs)
    if (next === undefined) throw read
    if (typeof next === "string") throw Object.assign(new WaitError(next, facts), { charge: read })
    isLast = next === leftMs
    await sleep(
      next,
      options.signal,
      () => new AbortError(`${operation} was aborted`, facts, { cause: options.signal?.reason })
    )
  }
}

/** The failure of a question that may be asked again later; any other is thrown. */
const passing = (error: unknown): PaymentsError => {
  const isUnanswered = error instanceof ConnectionError || error instanceof TimeoutError
  if (isUnanswered || (error instanceof ApiError && isPassing(error.status))) return error
  throw error
}

const FIRST_DELAY_MS = 30_000
/** The longest that the service's own wish is followed; a timer counts no further than some weeks. */
const LONGEST_ASKED_MS = 3_600_000

/**
 * Whether nothing that is waited for will come any more: what the table of transitions does not reach from here. For a
 * function, and for statuses that this release does not know, that is so where nothing at all comes; in a status that
 * this release does not know, never. A late payment of an expired charge is told by webhook, and not waited for.
 */
const isOver = (condition: ChargeCondition, status: string): boolean => {
  const later = laterChargeStatuses.get(status)
  if (later === undefined) return false
  if (status === "expired" || later.length === 0) return true
  if (typeof condition === "function") return false
  return [condition].flat().every((wanted) => laterChargeStatuses.has(wanted) && !later.includes(wanted))
}
