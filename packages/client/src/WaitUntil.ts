/**
 * Waiting for a charge by asking for it, as seldom as the contract wants.
 *
 * Guarantees: it asks at once, then after 30 s, 60 s, 90 s and so on, each wait 30 s longer than the last; it ends when
 * the charge is as wanted, can no longer become so, or the time is over. Webhooks tell sooner and cost less.
 *
 * Source: payments-api-v1.md "Limits" ("Clients that poll use increasing intervals starting at 30 seconds").
 */
import { sleep } from "./Bounded.ts"
import type { RequestOptions } from "./Call.ts"
import { AbortError, WaitError } from "./Errors.ts"
import type { Charge, ChargeStatus } from "./generated/Resources.ts"
import { finalChargeStatuses } from "./generated/Routes.ts"

/** A status, several of them, or any question about the charge. */
export type ChargeCondition = ChargeStatus | ReadonlyArray<ChargeStatus> | ((charge: Charge) => boolean)

/** What `waitUntil` takes. */
export interface WaitOptions extends RequestOptions {
  /** How long to wait in all, in milliseconds; without it, until the charge is as wanted or final. */
  readonly waitMs?: number | undefined
}

/** How long to wait before the n-th question after the first, in milliseconds. */
export const pollDelayMs = (waits: number): number => FIRST_DELAY_MS * waits

/** Whether the charge is as wanted. */
export const isMet = (condition: ChargeCondition, charge: Charge): boolean =>
  typeof condition === "function" ? condition(charge) : [condition].flat().includes(charge.status)

/** Whether nothing that can be waited for will come any more. A late payment of an expired charge is told by webhook. */
export const isOver = (charge: Charge): boolean =>
  charge.status === "expired" || finalChargeStatuses.includes(charge.status)

export const waitUntil = async (
  retrieve: (id: string, options: RequestOptions) => Promise<Charge>,
  id: string,
  condition: ChargeCondition,
  { waitMs = Infinity, ...options }: WaitOptions = {}
): Promise<Charge> => {
  const endMs = performance.now() + waitMs
  for (let waits = 1; ; waits++) {
    const charge = await retrieve(id, options)
    if (isMet(condition, charge)) return charge
    const facts = { operation: "charges.waitUntil", attempts: waits }
    const delayMs = pollDelayMs(waits)
    const hasEnded = isOver(charge)
    if (hasEnded || performance.now() + delayMs > endMs) {
      const why = hasEnded ? `is ${charge.status}` : `was still ${charge.status} after ${waitMs} ms`
      throw Object.assign(new WaitError(`The charge ${charge.id} ${why}`, facts), { charge })
    }
    await sleep(
      delayMs,
      options.signal,
      () => new AbortError("charges.waitUntil was aborted", facts, { cause: options.signal?.reason })
    )
  }
}

const FIRST_DELAY_MS = 30_000
