/**
 * Where the money of a paid charge is, and which part of it a reversal takes first: BAL-5, BAL-6.
 */
import type { ChargeStatus } from "./Charge.ts"

/**
 * `account`: in the account's balance, released or not. `blocked`: contested by a MED. `acquirer`: returned to the
 * payer, or a refund is in progress.
 */
export type ChargeMoneyPlace = "account" | "blocked" | "acquirer"

/** Where the money of a paid charge is, by its state. */
export const chargeMoneyAt = (status: ChargeStatus, isRefundUnderWay: boolean): ChargeMoneyPlace => {
  if (isRefundUnderWay || status === "refunded" || status === "charged_back") return "acquirer"
  return status === "infraction" ? "blocked" : "account"
}

/** An amount that leaves an account's balance, by the ledger account that it leaves. */
export interface ReversalParts {
  readonly pending: number
  readonly available: number
}

/** Splits a reversal of a charge that has `unreleased` cents in `pending`: those go first (BAL-6). */
export const splitReversal = (amount: number, unreleased: number): ReversalParts => {
  const pending = Math.min(amount, Math.max(0, unreleased))
  return { pending, available: amount - pending }
}

/** Whether an operator may order the reversal: `available` must not fall below zero (BAL-5). */
export const isCovered = (parts: ReversalParts, available: number): boolean =>
  parts.available === 0 || parts.available <= available
