/**
 * Where the money of a charge is after its payment, and what is taken of it first.
 *
 * Source: decisions.md "Balance and ledger", "Decided after the first release".
 */
import type { ChargeStatus } from "./Charge.ts"

/**
 * `account`: in the account's balance, released or not. `blocked`: contested by a MED. `acquirer`: out of the account,
 * for it came back to the payer or a refund of it is under way.
 */
export type ChargeMoneyPlace = "account" | "blocked" | "acquirer"

/** Where the money of a paid charge is. */
export const chargeMoneyAt = (status: ChargeStatus, isRefundUnderWay: boolean): ChargeMoneyPlace => {
  if (isRefundUnderWay || status === "refunded" || status === "charged_back") return "acquirer"
  return status === "infraction" ? "blocked" : "account"
}

/** The parts of an amount that leaves an account's balance: of the charge's unreleased money first. */
export interface ReversalParts {
  readonly pending: number
  readonly available: number
}

/** Splits what is taken of a charge, of which `unreleased` cents are still in `pending`. */
export const splitReversal = (amount: number, unreleased: number): ReversalParts => {
  const pending = Math.min(amount, Math.max(0, unreleased))
  return { pending, available: amount - pending }
}

/** Whether an operator may order it: their orders take `available` no lower than zero. */
export const isCovered = (parts: ReversalParts, available: number): boolean =>
  parts.available === 0 || parts.available <= available
