/** Charges and payouts whose state says which fields they have. */
import type { Charge, Payout } from "./generated/Resources.ts"
import type { KnownStatus } from "./WaitUntil.ts"

/** A charge that is paid: it has its payment. */
export type PaidCharge = Charge & {
  readonly status: "paid"
  readonly paid_at: string
  readonly pix: { readonly end_to_end_id: string }
}
/** A charge that the acquirer refused: it has the reason. */
export type FailedCharge = Charge & { readonly status: "failed"; readonly failure_reason: string }
/** A payout whose money has arrived. */
export type CompletedPayout = Payout & { readonly status: "completed"; readonly end_to_end_id: string }
/** A payout whose money came back: it has the reason. */
export type FailedPayout = Payout & { readonly status: "failed"; readonly failure_reason: string }

/** A charge in this state. */
export type ChargeIn<Status extends string> = Status extends "paid"
  ? PaidCharge
  : Status extends "failed"
    ? FailedCharge
    : Charge & { readonly status: Status }

/** A payout in this state. */
export type PayoutIn<Status extends string> = Status extends "completed"
  ? CompletedPayout
  : Status extends "failed"
    ? FailedPayout
    : Payout & { readonly status: Status }

/** Whether a charge or payout is in this state, which says what fields it has. */
export function hasStatus<Status extends KnownStatus<Charge["status"]>>(
  charge: Charge,
  status: Status
): charge is ChargeIn<Status>
export function hasStatus<Status extends KnownStatus<Payout["status"]>>(
  payout: Payout,
  status: Status
): payout is PayoutIn<Status>
export function hasStatus(resource: Charge | Payout, status: string): boolean {
  return resource.status === status
}
