/**
 * Decides what becomes of a return or MED, given what is known of its payment. Pure.
 *
 * Guarantees:
 * - one whose payment has not arrived waits for it. One whose payment has arrived never waits, except a MED of a payment that
 *   no account has: it waits until that is accepted;
 * - the cents of a return are those that it takes of its charge, those that it takes of exceptions, and those that are
 *   unmatched; no exception gives more than it has (BAL-11, OPR-87).
 */
import type { Reversal } from "../../providers/AcquirerNotification.ts"

/** What is known of a return or MED, read with its ledger accounts, charge and exceptions locked. */
export interface ReversalFacts {
  readonly kind: "return" | "dispute"
  /** Cents, as reported; absent: all of the payment. */
  readonly amount: number | undefined
  /** Cents of the payment of the Pix; absent: it has not arrived. */
  readonly arrived: number | undefined
  /** The charge that the Pix pays; where it pays none, the one that is named. */
  readonly charge: ReversedCharge | undefined
  /** The payment is an exception, or has one beside its charge. */
  readonly hasException: boolean
  /** An account accepted money of such an exception. */
  readonly isAccepted: boolean
}

export interface ReversedCharge {
  readonly amount: number
  /** The Pix pays it. */
  readonly isReversed: boolean
}

export type ReversalDecision =
  /** Nothing that is known, or no amount. */
  | { readonly _tag: "Unknown" }
  /** It waits for its Pix. Operators see it as an exception over so many cents, which of a return are posted. */
  | { readonly _tag: "Wait"; readonly amount: number }
  /** The charge is reversed. `divideReturn` divides what it does not have. */
  | { readonly _tag: "ReverseCharge" }
  /** The money that an account accepted is contested. */
  | { readonly _tag: "ContestAccepted"; readonly amount: number }
  /** So many cents are returned. `divideReturn` divides them. */
  | { readonly _tag: "TakeFromExceptions"; readonly amount: number }

export const decideReversal = (facts: ReversalFacts): ReversalDecision => {
  const { amount, arrived, charge, hasException, isAccepted, kind } = facts
  if (charge?.isReversed === true) return { _tag: "ReverseCharge" }
  if (arrived === undefined) {
    const reversed = amount ?? charge?.amount
    return reversed === undefined ? { _tag: "Unknown" } : { _tag: "Wait", amount: reversed }
  }
  // The charge of the payment is not kept any more.
  if (!hasException) return { _tag: "Unknown" }
  if (kind === "return") return { _tag: "TakeFromExceptions", amount: amount ?? arrived }
  return { _tag: isAccepted ? "ContestAccepted" : "Wait", amount: amount ?? arrived }
}

export interface ReturnSplit {
  /** Cents of each exception. */
  readonly taken: ReadonlyArray<number>
  /** Cents that no exception has. */
  readonly unmatched: number
}

/** Divides a return, or what the charge of its payment does not have of it, among the exceptions of its payment. */
export const divideReturn = (
  amount: number,
  exceptions: ReadonlyArray<{ readonly unallocated: number }>
): ReturnSplit => {
  let unmatched = amount
  const taken = exceptions.map(({ unallocated }) => {
    const cents = Math.min(unmatched, Math.max(0, unallocated))
    unmatched -= cents
    return cents
  })
  return { taken, unmatched }
}

export const kindOf = ({ _tag }: Reversal): ReversalFacts["kind"] => (_tag === "med.opened" ? "dispute" : "return")
