/** Charges and payouts whose state says which fields they have. */
import type { Charge, Payout } from "./generated/Resources.ts"
import type { KnownStatus } from "./WaitUntil.ts"

/** A charge that is paid: it has its payment. */
export type PaidCharge = Charge & {
  /** It is paid. */
  readonly status: "paid"
  /** When the payment was confirmed. */
  readonly paid_at: string
  /** The Pix, with its settlement. */
  readonly pix: {
    /** Settlement identifier. */
    readonly end_to_end_id: string
  }
}

/** A charge that the acquirer refused. */
export type FailedCharge = Charge & {
  /** It failed. */
  readonly status: "failed"
  /** Why it failed. */
  readonly failure_reason: string
}

/** A payout whose money has arrived. */
export type CompletedPayout = Payout & {
  /** It is completed. */
  readonly status: "completed"
  /** Settlement identifier. */
  readonly end_to_end_id: string
}

/** A payout whose money came back. */
export type FailedPayout = Payout & {
  /** It failed. */
  readonly status: "failed"
  /** Why it failed. */
  readonly failure_reason: string
}

/** A charge in this state. */
export type ChargeIn<Status extends string> = Status extends "paid"
  ? PaidCharge
  : Status extends "failed"
    ? FailedCharge
    : Charge & Readonly<Record<"status", Status>>

/** A payout in this state. */
export type PayoutIn<Status extends string> = Status extends "completed"
  ? CompletedPayout
  : Status extends "failed"
    ? FailedPayout
    : Payout & Readonly<Record<"status", Status>>

/** Whether a charge is in this state, which says what fields it has. */
export function hasStatus<Status extends KnownStatus<Charge["status"]>>(
  charge: Charge,
  status: Status
): charge is ChargeIn<Status>
/** Whether a payout is in this state, which says what fields it has. */
export function hasStatus<Status extends KnownStatus<Payout["status"]>>(
  payout: Payout,
  status: Status
): payout is PayoutIn<Status>
export function hasStatus(resource: Charge | Payout, status: string): boolean {
  return resource.status === status
}
