/**
 * How long the callers of a batch wait for it.
 */
import { DATABASE_TIMEOUT_MS } from "../Unavailable.ts"

export interface BatchDeadline {
  /** Calls `onSlow` after a second and `onTimeout` after `DATABASE_TIMEOUT_MS`. */
  readonly start: (onSlow: (() => void) | undefined, onTimeout: () => void) => void
  /** Starts `DATABASE_TIMEOUT_MS` again, once: the server ended a statement, and parts of the batch are retried. */
  readonly extend: () => void
  readonly clear: () => void
}

export const makeBatchDeadline = (): BatchDeadline => {
  let timer: NodeJS.Timeout | undefined
  let isExtended = false
  let timeOut: (() => void) | undefined
  const clear = () => {
    clearTimeout(timer)
    timeOut = undefined
  }
  return {
    start: (onSlow, onTimeout) => {
      timeOut = () => {
        clear()
        onTimeout()
      }
      timer = setTimeout(() => {
        timer = setTimeout(() => timeOut?.(), DATABASE_TIMEOUT_MS - SLOW_MS)
        onSlow?.()
      }, SLOW_MS)
    },
    extend: () => {
      if (timeOut === undefined || isExtended) return
      isExtended = true
      clearTimeout(timer)
      timer = setTimeout(() => timeOut?.(), DATABASE_TIMEOUT_MS)
    },
    clear
  }
}

/** A slower batch does not delay the next one. */
const SLOW_MS = 1000
