/**
 * The error of the Effect client. Its `reason` says why an operation failed.
 *
 * Guarantees: an error carries what is needed to repeat the operation and to ask about it. It contains no API key, no secret
 * and no request body.
 */
import * as Data from "effect/Data"
import type { ApiErrorFields, CallInfo, ConnectionErrorReason } from "@pix-payments/client/internal/Errors"
import type { Charge, ErrorCode, ErrorFields, Payout } from "@pix-payments/client/internal/generated/Resources"

/** The fields of an error response with this code. */
export interface ApiErrorReasonFields<Code extends string> extends ApiErrorFields {
  /** The error code. */
  readonly code: Code
  /** For humans. */
  readonly message: string
}

/** The service answered with an error code that this release knows. The code is the tag. */
export type ApiErrorReason = {
  readonly [Code in ErrorCode]: ApiErrorReasonFields<Code> & ErrorFields[Code] & { readonly _tag: Code }
}[ErrorCode]

/** The service, or a proxy in front of it, answered with an error code that this release does not know, or without one. */
export interface UnknownApiError extends ApiErrorReasonFields<string> {
  readonly _tag: "UnknownApiError"
}

/** There is no usable response: the connection failed or broke, or the response is incomplete or not the service's. */
export interface ConnectionError {
  readonly _tag: "ConnectionError"
  /** For humans. */
  readonly message: string
  /** Whether the request may have reached the service. */
  readonly reason: ConnectionErrorReason
  /** The transport's error code, if any: `ECONNREFUSED`. */
  readonly causeCode?: string
  /** The transport's error. */
  readonly cause?: unknown
}

/** An attempt took longer than `timeoutMs`. */
export interface TimeoutError {
  readonly _tag: "TimeoutError"
  /** For humans. */
  readonly message: string
  /** The time limit of each attempt, in milliseconds. */
  readonly timeoutMs: number
}

/** An option, id or param is invalid. Nothing was sent. */
export interface UsageError {
  readonly _tag: "UsageError"
  /** For humans. */
  readonly message: string
}

/** `waitUntil` gave up: `maxWaitMs` has passed, or the condition can no longer be met. */
export interface WaitError {
  readonly _tag: "WaitError"
  /** For humans. */
  readonly message: string
  /** The charge as last read, from `charges.waitUntil`. */
  readonly charge?: Charge
  /** The payout as last read, from `payouts.waitUntil`. */
  readonly payout?: Payout
}

/** The idempotency key already created a resource from other params. Nothing was created now: use another key. */
export interface ReplayMismatchError {
  readonly _tag: "ReplayMismatchError"
  /** For humans. */
  readonly message: string
  /** The names of the params that differ: `amount`, `customer.document`. */
  readonly fields: ReadonlyArray<string>
  /** The charge or payout that the key created. */
  readonly data: Charge | Payout
}

/** Why an operation failed. */
export type PaymentsErrorReason =
  | ApiErrorReason
  | UnknownApiError
  | ConnectionError
  | TimeoutError
  | UsageError
  | ReplayMismatchError
  | WaitError

/** The fields of a `PaymentsError`. */
export interface PaymentsErrorFields extends CallInfo {
  /** Why the operation failed. */
  readonly reason: PaymentsErrorReason
}

/**
 * Any failure of an operation. Handle one reason with
 * `Effect.catchReason("PaymentsError", "INSUFFICIENT_BALANCE", …)`. A creation that failed may still have been processed:
 * repeat it with its `idempotencyKey`.
 */
export class PaymentsError extends Data.TaggedError("PaymentsError")<PaymentsErrorFields> implements CallInfo {
  /** The reason's message, for humans. */
  override get message(): string {
    return this.reason.message
  }
}

/** The reason of an error response. */
export const apiErrorReason = (
  fields: ApiErrorFields & { readonly message: string },
  isKnown: (code: string) => boolean
): PaymentsErrorReason =>
  // `fields` already includes the fields of a known code, such as `charge_id`.
  ({ ...fields, _tag: isKnown(fields.code) ? fields.code : "UnknownApiError" }) as ApiErrorReason | UnknownApiError
