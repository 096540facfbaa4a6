/**
 * Waits for a charge or a payout by polling, as seldom as the contract wants; what both clients do.
 *
 * Guarantees:
 * - It asks at once, then after 30 s, 60 s, 90 s and so on, each wait 30 s longer than the last. Where less than the next
 *   wait is left of its time, it waits what is left and asks once more.
 * - It ends when the condition is met, when it can no longer be met, or when the time is over.
 * - A question without an answer, or answered with 429 or 5xx, is asked again after the next wait, and not before
 *   `Retry-After`; only the last one's failure is the wait's. Any other error ends it.
 *
 * Source: payments-api-v1.md "Limits" ("Clients that poll use increasing intervals starting at 30 seconds"); the domain's
 * tables of transitions.
 */
import { sleep } from "./Bounded.ts"
import type { RequestOptions } from "./Call.ts"
import { AbortError, ApiError, ConnectionError, PaymentsError, TimeoutError, UsageError, WaitError } from "./Errors.ts"
import type { Charge, Payout } from "./generated/Resources.ts"
import { statuses } from "./generated/Routes.ts"

/** What can be waited for. */
export type Awaitable = Charge | Payout

/** A status, several of them, or any question about the resource. */
export type Condition<Resource extends Awaitable> =
  | Resource["status"]
  | ReadonlyArray<Resource["status"]>
  | ((resource: Resource) => boolean)

/** A status, several of them, or any question about the charge. */
export type ChargeCondition = Condition<Charge>
/** A status, several of them, or any question about the payout. */
export type PayoutCondition = Condition<Payout>

/** What `waitUntil` takes. */
export interface WaitOptions extends RequestOptions {
  /**
   * How long to wait in all, in milliseconds, from 0, which asks once; the last wait is shortened to what is left. Without
   * it, until the condition is met or can no longer be met, however long the service does not answer.
   */
  readonly waitMs?: number | undefined
}

/** The kinds of resources that can be waited for. */
export type Kind = keyof typeof statuses

/** What is wrong with how long to wait, or `undefined`. */
export const wrongWait = (waitMs: number): string | undefined => (waitMs >= 0 ? undefined : "waitMs must be 0 or more")

/** Whether the condition is met. */
export const isMet = <Resource extends Awaitable>(condition: Condition<Resource>, resource: Resource): boolean =>
  typeof condition === "function" ? condition(resource) : [condition].flat().includes(resource.status)

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

/** The same of a resource that was read and is not as wanted; or why to give up. */
export const nextWait = <Resource extends Awaitable>(
  kind: Kind,
  condition: Condition<Resource>,
  { id, status }: Resource,
  asked: number,
  leftMs: number,
  waitMs: number
): number | string => {
  if (isOver(kind, condition, status)) return `The ${kind} ${id} is ${status}`
  return nextDelay(asked, leftMs) ?? `The ${kind} ${id} was still ${status} after ${waitMs} ms`
}

export const waitUntil = async <Resource extends Awaitable>(
  kind: Kind,
  retrieve: (id: string, options: RequestOptions) => Promise<Resource>,
  id: string,
  condition: Condition<Resource>,
  { waitMs = Infinity, ...options }: WaitOptions = {}
): Promise<Resource> => {
  const operation = `${kind}s.waitUntil`
  const wrong = wrongWait(waitMs)
  if (wrong) throw new UsageError(`${operation}: ${wrong}`, { operation, attempts: 0 })
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
      : nextWait(kind, condition, read, attempts, leftMs, waitMs)
    if (next === undefined) throw read
    if (typeof next === "string") throw Object.assign(new WaitError(next, facts), { [kind]: read })
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
 * this release does not know, never. A late payment of an expired charge is reported by webhook, and not waited for.
 */
const isOver = (kind: Kind, condition: string | ReadonlyArray<string> | object, status: string): boolean => {
  const { all, later } = statuses[kind]
  const next = later[all.indexOf(status)]
  if (next === undefined) return false
  if (status === "expired" || next === "") return true
  if (typeof condition === "function") return false
  return [condition as string]
    .flat()
    .every((wanted) => all.includes(wanted) && !next.includes(`${all.indexOf(wanted)}`))
}
