/**
 * The one error of the Effect client: why a call failed is its `reason`.
 *
 * Guarantees: an error carries what is needed to repeat the call and to ask about it, and never what was sent: no key,
 * no secret, no body of a request.
 */
import * as Data from "effect/Data"
import type { ApiErrorFields, CallFacts, ConnectionFailure } from "@pix-payments/client/internal/Errors"
import type { Charge, ErrorCode, ErrorFields, Payout } from "@pix-payments/client/internal/generated/Resources"

/** What a refusal says, with the code that it is known by. */
export interface RefusalFields<Code extends string> extends ApiErrorFields {
  /** What to branch on. */
  readonly code: Code
  /** For humans. */
  readonly message: string
}

/** The service answered with an error whose code this release knows; the code is the tag. */
export type Refusal = {
  readonly [Code in ErrorCode]: RefusalFields<Code> & ErrorFields[Code] & { readonly _tag: Code }
}[ErrorCode]

/** The service, or a proxy before it, answered with an error whose code this release does not know. */
export interface UnknownRefusal extends RefusalFields<string> {
  readonly _tag: "UnknownRefusal"
}

/** No answer: the connection failed or broke off before one, or what came was no whole answer of the service. */
export interface ConnectionFailed {
  readonly _tag: "ConnectionFailed"
  /** For humans. */
  readonly message: string
  /** What is known of it: whether anything was sent at all. */
  readonly reason: ConnectionFailure
  /** The code of the transport's error, where it has one: `ECONNREFUSED`. */
  readonly causeCode?: string
  /** What the transport says. */
  readonly cause?: unknown
}

/** No whole answer within the time of an attempt. */
export interface TimedOut {
  readonly _tag: "TimedOut"
  /** For humans. */
  readonly message: string
  /** The time that each attempt had, in milliseconds. */
  readonly timeoutMs: number
}

/** The call was made wrongly and nothing was sent: an option, an id, or params that cannot be written as JSON. */
export interface InvalidCall {
  readonly _tag: "InvalidCall"
  /** For humans. */
  readonly message: string
}

/** `waitUntil` gave up: its time is over, or the charge or payout can no longer become as wanted. */
export interface WaitOver {
  readonly _tag: "WaitOver"
  /** For humans. */
  readonly message: string
  /** The charge as it was read last, by `charges.waitUntil`. */
  readonly charge?: Charge
  /** The payout as it was read last, by `payouts.waitUntil`. */
  readonly payout?: Payout
}

/**
 * The idempotency key was used before, for something else: what the service has under it differs from what was sent.
 * Nothing was created.
 */
export interface ReplayMismatch {
  readonly _tag: "ReplayMismatch"
  /** For humans. */
  readonly message: string
  /** What differs, by the names of the params: `amount`, `customer.document`. */
  readonly fields: ReadonlyArray<string>
  /** The charge or payout that the key names. */
  readonly data: Charge | Payout
}

/** Why a call failed. */
export type PaymentsErrorReason =
  | Refusal
  | UnknownRefusal
  | ConnectionFailed
  | TimedOut
  | InvalidCall
  | ReplayMismatch
  | WaitOver

/** What a `PaymentsError` carries. */
export interface PaymentsErrorFields extends CallFacts {
  /** Why the call failed. */
  readonly reason: PaymentsErrorReason
}

/**
 * Any failure of a call. `Effect.catchReason("PaymentsError", "INSUFFICIENT_BALANCE", …)` handles one reason; a
 * creation that failed may still have been carried out: repeat it with `idempotencyKey`.
 */
export class PaymentsError extends Data.TaggedError("PaymentsError")<PaymentsErrorFields> implements CallFacts {
  /** What the reason says, for humans. */
  override get message(): string {
    return this.reason.message
  }
}

/** The reason that an answer with an error gives. */
export const refusalReason = (
  fields: ApiErrorFields & { readonly message: string },
  isKnown: (code: string) => boolean
): PaymentsErrorReason =>
  // What a known code brings is in the fields already: they are all that the body says.
  ({ ...fields, _tag: isKnown(fields.code) ? fields.code : "UnknownRefusal" }) as Refusal | UnknownRefusal
