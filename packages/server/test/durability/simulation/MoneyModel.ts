/**
 * The money that a bank's doings leave in the books, by the rules of the contract: of each Pix and each payout.
 *
 * Fed by what the bank did and by what operators were answered. Written again from the contract; none of it goes through the
 * service, and it reads no row of the service's money.
 *
 * The service may learn in another order what the bank did. A fact comes after those that the service had for certain when it
 * happened; every order of the rest is right.
 */

/** Something that happened to a Pix after its payment. */
export type Fact = FactOf & {
  /** `Machine.moment`, when it began. */
  readonly at: number
  /** The moment from which on the service has it for certain. */
  known?: number
}

/** A fact before it has its place. */
export type FactOf =
  /** Cents went back to the payer: as an operator ordered, or as somebody else did. */
  | { readonly tag: "refunded" | "returned"; readonly cents: number }
  /** A MED contests cents. */
  | { readonly tag: "contested"; readonly med: string; readonly cents: number }
  | { readonly tag: "won"; readonly med: string }
  /** Cents of a MED went back to the payer, with or without a word before. */
  | { readonly tag: "lost"; readonly med: string; readonly cents: number }
  /** An account has it from now on: an operator, or a rule, accepted it. */
  | { readonly tag: "accepted" }

/** A Pix that arrived at its bank. */
export interface BankPix {
  /** The connection of the key that was paid. */
  readonly connectionId: string
  readonly endToEndId: string
  readonly txid: string | undefined
  readonly cents: number
  readonly facts: ReadonlyArray<Fact>
}

/** A payout that its bank has. */
export interface BankPayout {
  /** The name of the caller's operation, which the payer sees. */
  readonly operation: string
  readonly cents: number
  /** What the bank said, one after the other; the last one is so. None while it is in process. */
  readonly ends: ReadonlyArray<"completed" | "failed">
  /** Cents of each part that the payee's bank sent back. */
  readonly sentBack: ReadonlyArray<number>
}

/** Where the money of a Pix is. */
export interface PixMoney {
  /** Of the account that has it: `pending` and `available`. */
  readonly free: number
  readonly blocked: number
  readonly unallocated: number
  /** An account has it. */
  readonly isHeld: boolean
  /** The cents that each open MED contests; where nobody has the money: will contest. */
  readonly meds: Readonly<Record<string, number>>
  readonly isLost: boolean
}

/** The service has all of these. */
export const learnAll = (facts: ReadonlyArray<Fact>, moment: number): void => {
  for (const fact of facts) fact.known ??= moment
}

/** What has not gone back to the payer. */
export const leftOf = ({ cents, facts }: Pick<BankPix, "cents" | "facts">): number =>
  facts.reduce((left, fact) => left - returnedBy(fact), cents)

/** Where the money of a Pix may be; nothing where no order of the facts is possible. `isHeld`: it pays a charge as it arrives. */
export const moneyOf = (cents: number, isHeld: boolean, facts: ReadonlyArray<Fact>): ReadonlyArray<PixMoney> => {
  const begin: PixMoney = {
    free: isHeld ? cents : 0,
    blocked: 0,
    unallocated: isHeld ? 0 : cents,
    isHeld,
    meds: {},
    isLost: false
  }
  const all = 2 ** facts.length - 1
  // By the set of the facts that have come.
  const reached = Array.from({ length: all + 1 }, () => new Map<string, PixMoney>())
  reached[0]!.set("", begin)
  for (let come = 0; come < all; come++) {
    for (const money of reached[come]!.values()) {
      for (const [index, fact] of facts.entries()) {
        if ((come & (1 << index)) !== 0) continue
        if (facts.some((other, at) => (come & (1 << at)) === 0 && precedes(other, fact))) continue
        for (const next of after(money, fact)) reached[come | (1 << index)]!.set(JSON.stringify(next), next)
      }
    }
  }
  return [...reached[all]!.values()]
}

/** The ledger accounts of a payout's account, by its outcome. */
export const moneyOfPayout = (
  cents: number,
  { feeBasisPoints, feeFixed }: { readonly feeBasisPoints: number; readonly feeFixed: number },
  outcome: "pending" | "canceled" | "processing" | "completed" | "failed"
): Readonly<Record<string, number>> => {
  const fee = feeFixed + Math.floor((cents * feeBasisPoints + 5000) / 10_000)
  switch (outcome) {
    case "completed":
      return { available: -cents - fee, acquirer: cents, fees: fee }
    case "pending":
    case "processing":
      return { available: -cents - fee, payouts_in_transit: cents + fee }
    default:
      return {}
  }
}

/** What payouts have taken from the bank's balance. */
export const sentCents = (payouts: ReadonlyArray<BankPayout>): number =>
  payouts.reduce((sum, { cents, ends }) => (ends.at(-1) === "failed" ? sum : sum + cents), 0)

const returnedBy = (fact: Fact): number =>
  fact.tag === "refunded" || fact.tag === "returned" || fact.tag === "lost" ? fact.cents : 0

const precedes = (one: Fact, other: Fact): boolean =>
  (one.known !== undefined && one.known < other.at) ||
  (one.tag === "contested" && (other.tag === "won" || other.tag === "lost") && one.med === other.med)

const contestedBy = (meds: PixMoney["meds"]): number => Object.values(meds).reduce((sum, cents) => sum + cents, 0)

/** Empty where the rules allow it in no such state; several where they allow several. */
const after = (money: PixMoney, fact: Fact): ReadonlyArray<PixMoney> => {
  const { blocked, free, isHeld, meds, unallocated } = money
  switch (fact.tag) {
    case "refunded":
      // Operators return what is not contested.
      return isHeld ? left(money, { free: free - fact.cents }) : [{ ...money, unallocated: unallocated - fact.cents }]
    case "returned": {
      if (!isHeld) return [{ ...money, unallocated: unallocated - fact.cents }]
      // DSP-7: what is contested goes first.
      const first = Math.min(fact.cents, blocked)
      return left(money, { blocked: blocked - first, free: free - (fact.cents - first) })
    }
    case "contested": {
      if (!isHeld) return [{ ...money, meds: { ...meds, [fact.med]: fact.cents } }]
      const cents = Math.max(0, Math.min(fact.cents, free + blocked - contestedBy(meds)))
      const more = Math.min(cents, free)
      const next = { ...money, free: free - more, blocked: blocked + more, meds: { ...meds, [fact.med]: cents } }
      return [cents === 0 ? money : next]
    }
    case "won": {
      const { [fact.med]: own, ...others } = meds
      if (!isHeld || own === undefined) return [{ ...money, meds: others }]
      const back = Math.max(0, blocked - contestedBy(others))
      return [{ ...money, free: free + back, blocked: blocked - back, meds: others }]
    }
    case "lost": {
      if (!isHeld) return [{ ...money, unallocated: unallocated - fact.cents, meds: without(meds, fact.med) }]
      // DSP-5, DSP-7: one without a word before may be that of an open MED.
      const isNew = meds[fact.med] === undefined
      return (isNew ? ["", ...Object.keys(meds)] : [fact.med]).flatMap((ended) => {
        const others = without(meds, ended)
        // What other MEDs contest stays blocked, as far as there is other money.
        const rest = free + blocked - fact.cents
        const kept = Math.max(0, Math.min(contestedBy(others), blocked, rest))
        return left({ ...money, meds: others, isLost: true }, { blocked: kept, free: rest - kept })
      })
    }
    case "accepted":
      return Object.entries(meds).reduce<ReadonlyArray<PixMoney>>(
        (all, [med, cents]) => all.flatMap((one) => after(one, { tag: "contested", med, cents, at: fact.at })),
        [{ ...money, free: unallocated, unallocated: 0, isHeld: true, meds: {} }]
      )
  }
}

const without = (meds: PixMoney["meds"], med: string): PixMoney["meds"] => {
  const { [med]: _ended, ...others } = meds
  return others
}

/** What is left in the account. MEDs of nothing are over. */
const left = (
  money: PixMoney,
  { blocked = money.blocked, free }: { readonly blocked?: number; readonly free: number }
): ReadonlyArray<PixMoney> => (free < 0 ? [] : [{ ...money, blocked, free, ...(free + blocked === 0 && { meds: {} }) }])
