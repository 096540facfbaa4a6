/**
 * Where the money of a paid charge is, and which part of it a reversal takes first: BAL-5, BAL-6, BAL-9.
 */

/** The cents of a charge by the ledger account that has them. Those that are in none of these went back to the payer. */
export interface ChargeFunds {
  /** Not released yet. */
  readonly pending: number
  readonly available: number
  /** Contested by a MED. */
  readonly blocked: number
  /** In the open refund. */
  readonly inTransit: number
}

export const noFunds: ChargeFunds = { pending: 0, available: 0, blocked: 0, inTransit: 0 }

/** The cents of a charge that are in the account's balance. */
export const inAccount = ({ available, pending }: ChargeFunds): number => pending + available

/** The cents of a charge that have not gone back to the payer. */
export const leftOf = (funds: ChargeFunds): number => inAccount(funds) + funds.blocked + funds.inTransit

/** An amount by the ledger accounts that it leaves. */
export type ReversalParts = Omit<ChargeFunds, "inTransit">

/** Splits an amount that leaves the account: what is not released goes first (BAL-6). */
export const splitAccount = (amount: number, funds: ChargeFunds): ReversalParts => {
  const pending = Math.min(amount, Math.max(0, funds.pending))
  return { blocked: 0, pending, available: amount - pending }
}

/** Splits a return that the provider reports: what a MED contests goes first, then as from the account (DSP-7). */
export const splitReturn = (amount: number, funds: ChargeFunds): ReversalParts => {
  const blocked = Math.min(amount, Math.max(0, funds.blocked))
  return { ...splitAccount(amount - blocked, funds), blocked }
}

/** The cents that a MED contests, of these or of all: at most what is left and no other MED contests. */
export const contestedBy = (amount: number | undefined, funds: ChargeFunds, byOthers: number): number => {
  const free = Math.max(0, leftOf(funds) - byOthers)
  return amount === undefined || amount <= 0 ? free : Math.min(amount, free)
}

/** The cents that are blocked and that no other MED contests. */
export const blockedBeyond = ({ blocked }: ChargeFunds, byOthers: number): number => Math.max(0, blocked - byOthers)

/**
 * Splits the money of a MED that is lost: first what is blocked for it. What others contest stays blocked as far as the account
 * has other money; `released` is blocked for nobody any more.
 */
export const splitLoss = (
  amount: number,
  funds: ChargeFunds,
  byOthers: number
): ReversalParts & { readonly released: number } => {
  const kept = Math.max(0, Math.min(byOthers, funds.blocked, inAccount(funds) + funds.blocked - amount))
  const free = funds.blocked - kept
  const blocked = Math.min(amount, free)
  return { ...splitAccount(amount - blocked, funds), blocked, released: free - blocked }
}

/** What moves so that as much is blocked as MEDs contest, as far as the account has it. */
export const blockedAgain = (
  contested: number,
  funds: ChargeFunds
): { readonly released: number; readonly blocked: ReversalParts } => {
  const wanted = Math.min(contested, inAccount(funds) + funds.blocked)
  return {
    released: Math.max(0, funds.blocked - wanted),
    blocked: splitAccount(Math.max(0, wanted - funds.blocked), funds)
  }
}

/** Whether an operator may order the reversal: `available` of the account must not fall below zero (BAL-5). */
export const isCovered = (parts: ReversalParts, available: number): boolean =>
  parts.available === 0 || parts.available <= available
