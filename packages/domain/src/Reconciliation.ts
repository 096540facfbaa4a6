/** The comparison of a bank account's day with the books: what a line of it is. OPR-277. */
import type { Filled } from "./BankStatement.ts"

/**
 * - `matched`: both sides have it, on the same day;
 * - `missing_here`: the bank has it, and the books do not;
 * - `missing_there`: the books have it, and the bank does not;
 * - `amount_differs`: both have it, with other amounts;
 * - `state_differs`: the bank has it, and the books have it as not done;
 * - `timing`: both have it, on different days;
 * - `other_key`: it is of another Pix key of the client, and not of this service;
 * - `bank_fee`: what the bank takes;
 * - `owner`: what the owner of the bank account moved.
 */
export const lineStates = [
  "matched",
  "missing_here",
  "missing_there",
  "amount_differs",
  "state_differs",
  "timing",
  "other_key",
  "bank_fee",
  "owner"
] as const
export type LineState = (typeof lineStates)[number]

/** States that somebody has to look at. */
export const unmatchedStates = [
  "missing_here",
  "missing_there",
  "amount_differs",
  "state_differs"
] as const satisfies ReadonlyArray<LineState>

export const reconciliationStatuses = ["requested", "done", "failed"] as const
export type ReconciliationStatus = (typeof reconciliationStatuses)[number]

/** Why a day could not be compared. A `#` is a number. */
export const dayFailures = [
  "no statement of the bank has this day",
  "the bank has more than # lines around the day",
  "the books have more than # movements around the day"
] as const
export type DayFailure = Filled<(typeof dayFailures)[number]>
