/**
 * What can be watched of a client: every attempt, its answer, and every wait before another.
 *
 * Guarantees: hooks see no key, no header and no body; one that fails disturbs no call.
 */
import type { PaymentsError } from "./Errors.ts"

/** An attempt at a call. */
export interface AttemptInfo {
  /** Group and name of the operation: `charges.create`. */
  readonly operation: string
  /** The HTTP verb. */
  readonly method: string
  /** The whole address. */
  readonly url: string
  /** 1 for the first. */
  readonly attempt: number
  /** `X-Request-Id` of this attempt. */
  readonly requestId: string
  /** The key of a creation. */
  readonly idempotencyKey?: string
}

/** Functions that are called as a call proceeds. */
export interface Hooks {
  /** Before an attempt is sent. */
  readonly onRequest?: ((attempt: AttemptInfo) => void) | undefined
  /** After an answer came, an error of the service included. `durationMs` counts from sending. */
  readonly onResponse?:
    | ((attempt: AttemptInfo & { readonly status: number; readonly durationMs: number }) => void)
    | undefined
  /** After an attempt ended without a whole answer: its connection failed, its time was over, or its caller aborted it. */
  readonly onFailure?:
    | ((attempt: AttemptInfo & { readonly error: PaymentsError; readonly durationMs: number }) => void)
    | undefined
  /** Before waiting `delayMs` milliseconds to send again, because of `error`. */
  readonly onRetry?:
    | ((attempt: AttemptInfo & { readonly error: PaymentsError; readonly delayMs: number }) => void)
    | undefined
}

/** Tells a hook. */
export const tell = <A>(hook: ((info: A) => unknown) | undefined, info: A): void => {
  if (hook === undefined) return
  // A promise takes what is thrown, now or later.
  new Promise((resolve) => {
    resolve(hook(info))
  }).catch(() => {})
}
