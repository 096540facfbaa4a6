/**
 * Stack traces that include the caller's line, even though the error is created after the call returned.
 *
 * Measured on Node 26, 20 frames deep: 3 to 4 µs and 500 bytes per pending call, 7 µs to format the stack of a failed one
 * (`scripts/stackCost.ts`).
 */
import { PaymentsError } from "./Errors.ts"

/** The stack at a call. It has no `stack` in runtimes without `Error.captureStackTrace`. */
export interface CallSite {
  readonly stack?: string
}

/** Captures the stack above `below`, the function that the application called. */
export const captureCallSite = (below: (...parameters: never) => unknown): CallSite => {
  const site: CallSite = {}
  ;(Error as Partial<typeof Error>).captureStackTrace?.(site, below)
  return site
}

/** The line of the call: `at placeOrder (file:///shop.js:4:26)`. */
export const callerOf = ({ stack }: CallSite): string | undefined => stack?.split("\n")[1]?.trim()

/** Replaces the stack of a rejection with the stack of the call. */
export const withCallSite = <A>(result: Promise<A>, site: CallSite): Promise<A> =>
  result.catch((error: unknown) => {
    // The captured stack has no error message in its first line yet.
    if (error instanceof PaymentsError && site.stack) error.stack = `${error}${`${site.stack}`.replace(/.*/, "")}`
    throw error
  })
