/** An exception: money, or a claim on money, that fits no charge as it is. BAL-11, BAL-12. */
import * as Schema from "effect/Schema"

/**
 * - `wrong_amount`: another amount than the charge asks for;
 * - `second_payment`: the charge is paid already;
 * - `late_payment`: the charge was canceled, returned or failed;
 * - `unknown_txid`: no charge has this txid;
 * - `unidentified_payment`: a payment to the key, without a txid;
 * - `unmatched_return`: a return of a payment that has not arrived, or of more than is left of it;
 * - `unmatched_dispute`: a dispute of a payment that is not a charge's;
 * - `conflicting_settlement`: a settlement that was reported again with another amount. Its money is the difference;
 * - `returned_payout`: the payee's bank sent money of a completed payout back;
 * - `contradictory_outcome`: the provider completed what the books have as failed, or the other way. Its money is what the
 *   books have as sent, less what the provider sent;
 * - `unreadable`: an entry of a provider's list whose core cannot be read, that fails to be applied, or that has a payout or return with
 *   another amount than was ordered. It has no amount.
 */
export const ExceptionKind = Schema.Literals([
  "wrong_amount",
  "second_payment",
  "late_payment",
  "unknown_txid",
  "unidentified_payment",
  "unmatched_return",
  "unmatched_dispute",
  "conflicting_settlement",
  "returned_payout",
  "contradictory_outcome",
  "unreadable"
])
export type ExceptionKind = typeof ExceptionKind.Type
export const exceptionKinds = ExceptionKind.literals

/** What a provider says of a payout or return, where it contradicts the books. */
export const ProviderOutcome = Schema.Literals(["completed", "failed"])
export type ProviderOutcome = typeof ProviderOutcome.Type

export const ExceptionStatus = Schema.Literals(["open", "resolved"])
export type ExceptionStatus = typeof ExceptionStatus.Type
export const exceptionStatuses = ExceptionStatus.literals

export const ExceptionAction = Schema.Literals(["return", "accept", "dismiss"])
export type ExceptionAction = typeof ExceptionAction.Type
export const exceptionActions = ExceptionAction.literals
