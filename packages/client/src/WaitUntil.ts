/**
 * Polls a charge or a payout until a condition is met. Used by both clients.
 *
 * Guarantees:
 * - Polls at once, then after 30 s, 60 s, 90 s and so on (ERR-15); a service on this machine, after 1 s, 2 s, 3 s. If less than
 *   the next interval is left of `maxWaitMs`, it waits for the rest and polls one last time.
 * - Ends when the condition is met, when it can no longer be met, or after `maxWaitMs`, by default an hour.
 * - After a connection error, a timeout, a 429 or a 5xx it polls again after the next interval, and not before
 *   `Retry-After`. Only the last poll's failure is thrown. Any other error is thrown at once.
 */
import type { RequestOptions } from "./Call.ts"
import { abortError, ApiError, isUnanswered, PaymentsError, UsageError, WaitError } from "./Errors.ts"
import type { Charge, Payout } from "./generated/Resources.ts"
import { statuses } from "./generated/Routes.ts"
import { sleep } from "./Timeout.ts"

/** A resource that `waitUntil` polls. */
export type Pollable = Charge | Payout

/** The statuses that this release knows: a misspelt one would never be reached. */
export type KnownStatus<Status extends string> = Status extends unknown
  ? string extends Status
    ? never
    : Status
  : never

/** A status, several statuses, or a predicate. */
export type Condition<Resource extends Pollable> =
  | KnownStatus<Resource["status"]>
  | ReadonlyArray<KnownStatus<Resource["status"]>>
  | ((resource: Resource) => boolean)

/** A charge's status, several statuses, or a predicate. */
export type ChargeCondition = Condition<Charge>
/** A payout's status, several statuses, or a predicate. */
export type PayoutCondition = Condition<Payout>

/** Options of `waitUntil`. */
export interface WaitOptions extends RequestOptions {
  /** The longest time to wait, in milliseconds. 0 polls once, `Infinity` without end. Default: one hour. */
  readonly maxWaitMs?: number | undefined
  /** The first interval, in milliseconds. Each next one is longer by as much. Default: 30 000; 1000 for a service on this machine. */
  readonly intervalMs?: number | undefined
}

/** The default of `maxWaitMs`. */
export const MAX_WAIT_MS = 3_600_000

/** The default of `intervalMs`. A service on this machine is one with the simulator. */
export const intervalOf = (baseUrl: string): number =>
  /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(baseUrl).hostname) ? 1000 : 30_000

/** The kinds of resources that `waitUntil` polls. */
export type PollableKind = keyof typeof statuses

/** Checks the options; `undefined` if they are valid. */
export const waitProblem = (maxWaitMs: number, intervalMs: number): string | undefined =>
  maxWaitMs >= 0 && intervalMs > 0 ? undefined : "maxWaitMs must be 0 or more, intervalMs above 0"

/** Whether the resource meets the condition. */
export const isMet = <Resource extends Pollable>(condition: Condition<Resource>, resource: Resource): boolean =>
  typeof condition === "function"
    ? condition(resource)
    : ([condition].flat() as ReadonlyArray<string>).includes(resource.status)

/** Whether polling continues after an error response with this status. */
export const isTransient = (status: number): boolean => status === 429 || status >= 500

/**
 * The time until the next poll, in milliseconds; `undefined` if `maxWaitMs` has passed.
 *
 * @param polls how many polls were made
 * @param intervalMs the first interval
 * @param leftMs what is left of `maxWaitMs`; 0 after the last poll
 * @param afterMs the service's `Retry-After`
 */
export const nextPollDelayMs = (polls: number, intervalMs: number, leftMs: number, afterMs = 0): number | undefined =>
  leftMs > 0 ? Math.min(Math.max(intervalMs * polls, Math.min(afterMs, MAX_AFTER_MS)), leftMs) : undefined

/** The time until the next poll of a resource that does not meet the condition, or the message to give up with. */
export const nextPollOf = <Resource extends Pollable>(
  kind: PollableKind,
  condition: Condition<Resource>,
  { id, status }: Resource,
  polls: number,
  intervalMs: number,
  leftMs: number,
  maxWaitMs: number
): number | string => {
  if (isHopeless(kind, condition, status)) return `The ${kind} ${id} is ${status}: the wait cannot succeed`
  return (
    nextPollDelayMs(polls, intervalMs, leftMs) ??
    `The ${kind} ${id} is still ${status} after ${maxWaitMs} ms: wait again, or use webhooks`
  )
}

export const waitUntil = async <Resource extends Pollable>(
  kind: PollableKind,
  retrieve: (id: string, options: RequestOptions) => Promise<Resource>,
  id: string,
  condition: Condition<Resource>,
  { intervalMs, maxWaitMs = MAX_WAIT_MS, ...options }: WaitOptions & { readonly intervalMs: number }
): Promise<Resource> => {
  const operation = `${kind}s.waitUntil`
  const problem = waitProblem(maxWaitMs, intervalMs)
  if (problem) throw new UsageError(`${operation}: ${problem}`, { operation, attempts: 0 })
  const endMs = performance.now() + maxWaitMs
  let isLast = false
  for (let attempts = 1; ; attempts++) {
    const read = await retrieve(id, options).catch(transientErrorOf)
    const failed = read instanceof PaymentsError
    if (!failed && isMet(condition, read)) return read
    const call = { operation, attempts }
    // A timer may fire slightly early. `isLast` keeps the rest from becoming another poll.
    const leftMs: number = isLast ? 0 : endMs - performance.now()
    const next = failed
      ? nextPollDelayMs(attempts, intervalMs, leftMs, Object(read).retryAfterMs)
      : nextPollOf(kind, condition, read, attempts, intervalMs, leftMs, maxWaitMs)
    if (next === undefined) throw read
    if (typeof next === "string") throw new WaitError(next, { ...call, [kind]: read })
    isLast = next === leftMs
    await sleep(next, options.signal, () => abortError(call, options.signal))
  }
}

/** Returns an error after which polling continues, and throws any other. */
const transientErrorOf = (error: unknown): PaymentsError => {
  if (isUnanswered(error) || (error instanceof ApiError && isTransient(error.status))) return error
  throw error
}

/** The longest `Retry-After` that polling follows: one hour. */
const MAX_AFTER_MS = 3_600_000

/**
 * Whether the condition can no longer be met, by the domain's state machine: no wanted status is reachable from this one.
 * A predicate, or a status that this release does not know, is hopeless only in a final status. A status that this release
 * does not know is never final. `expired` counts as final, because a payment after it is reported by webhook only.
 */
const isHopeless = (
  kind: PollableKind,
  condition: string | ReadonlyArray<string> | object,
  status: string
): boolean => {
  const { all, reachable } = statuses[kind]
  const next = reachable[all.indexOf(status)]
  if (next === undefined) return false
  if (status === "expired" || next === "") return true
  return (
    typeof condition !== "function" &&
    [condition as string].flat().every((wanted) => all.includes(wanted) && !next.includes(`${all.indexOf(wanted)}`))
  )
}
