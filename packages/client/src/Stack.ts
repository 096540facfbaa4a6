/**
 * Stack traces that reach the caller's line, although an error is made long after the call returned.
 *
 * Measured on Node 26, 20 frames deep: 3 to 4 µs of processor time and 500 bytes a call while it is under way, and 7 µs
 * for the text of one that failed (`scripts/stackCost.ts`).
 */
import { PaymentsError } from "./Errors.ts"

/** Where a call was made; without `stack` in a runtime that captures none. */
export interface Origin {
  readonly stack?: string
}

/** Captures where `below` was called. */
export const originOf = (below: (...parameters: never) => unknown): Origin => {
  const origin: Origin = {}
  ;(Error as Partial<typeof Error>).captureStackTrace?.(origin, below)
  return origin
}

/** Gives the promise's failure the stack of the call. */
export const traced = <A>(result: Promise<A>, origin: Origin): Promise<A> =>
  result.catch((error: unknown) => {
    // The first line is of no error yet.
    if (error instanceof PaymentsError && origin.stack) error.stack = `${error}${`${origin.stack}`.replace(/.*/, "")}`
    throw error
  })
