/**
 * Hooks: functions that observe attempts, responses and retries.
 *
 * Guarantees: hooks receive no API key, header or body. A hook that throws or rejects does not affect the call.
 */
import type { PaymentsError } from "./Errors.ts"

/** One attempt of a call. */
export interface AttemptInfo {
  /** Group and name of the operation: `charges.create`. */
  readonly operation: string
  /** HTTP method. */
  readonly method: string
  /** The complete URL. */
  readonly url: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** `X-Request-Id` of this attempt. */
  readonly requestId: string
  /** The idempotency key of a creation. */
  readonly idempotencyKey?: string
}

/** Functions that the client calls during a call. */
export interface Hooks {
  /** Before an attempt is sent. */
  readonly onRequest?: ((attempt: AttemptInfo) => void) | undefined
  /** After a response, including error responses. `durationMs` counts from sending. */
  readonly onResponse?:
    | ((attempt: AttemptInfo & { readonly status: number; readonly durationMs: number }) => void)
    | undefined
  /** After an attempt without a complete response: connection error, timeout or abort. */
  readonly onFailure?:
    | ((attempt: AttemptInfo & { readonly error: PaymentsError; readonly durationMs: number }) => void)
    | undefined
  /** Before the wait of `delayMs` milliseconds that precedes a retry. `error` is why it is retried. */
  readonly onRetry?:
    | ((attempt: AttemptInfo & { readonly error: PaymentsError; readonly delayMs: number }) => void)
    | undefined
}

/** Calls a hook and ignores its failures. */
export const runHook = <A>(hook: ((info: A) => unknown) | undefined, info: A): void => {
  if (hook === undefined) return
  // The promise catches a throw and a rejection alike.
  new Promise((resolve) => {
    resolve(hook(info))
  }).catch(() => {})
}
