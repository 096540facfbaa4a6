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
  | { readonly tag: "contested"; readonly cents: number }
  | { readonly tag: "won" }
  /** Cents of a MED went back to the payer, with or without a word before. */
  | { readonly tag: "lost"; readonly cents: number }
  /** An operator, or a rule, accepted it: as the payment of its charge, or beside it. */
  | { readonly tag: "accepted"; readonly asPayment: boolean }

/** A Pix that arrived at its bank. */
export interface BankPix {
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
  readonly outcome: "processing" | "completed" | "failed"
}

/** Where the money of a Pix is. */
export interface PixMoney {
  /** Of the account that has it: `pending` and `available`. */
  readonly free: number
  readonly blocked: number
  readonly unallocated: number
  /** The state of its charge, where something of it is left. */
  readonly status: "paid" | "infraction" | "charged_back"
  /** It pays a charge. */
  readonly isPayment: boolean
  /** Contested while it pays no charge. */
  readonly waiting: number | undefined
}

/** The service has all of these. */
export const learnAll = (facts: ReadonlyArray<Fact>, moment: number): void => {
  for (const fact of facts) fact.known ??= moment
}

/** What has not gone back to the payer. */
export const leftOf = ({ cents, facts }: Pick<BankPix, "cents" | "facts">): number =>
  facts.reduce((left, fact) => left - returnedBy(fact), cents)

/** Where the money of a Pix may be; nothing where no order of the facts is possible. */
export const moneyOf = (cents: number, isPayment: boolean, facts: ReadonlyArray<Fact>): ReadonlyArray<PixMoney> => {
  const begin: PixMoney = {
    free: isPayment ? cents : 0,
    blocked: 0,
    unallocated: isPayment ? 0 : cents,
    status: "paid",
    isPayment,
    waiting: undefined
  }
  const all = 2 ** facts.length - 1
  // By the set of the facts that have come.
  const reached = Array.from({ length: all + 1 }, () => new Map<string, PixMoney>())
  reached[0]!.set("", begin)
  for (let come = 0; come < all; come++) {
    for (const money of reached[come]!.values()) {
      for (const [index, fact] of facts.entries()) {
        if ((come & (1 << index)) !== 0) continue
        if (facts.some((other, at) => (come & (1 << at)) === 0 && at !== index && precedes(other, at, fact, index)))
          continue
        const next = after(money, fact)
        if (next !== undefined) reached[come | (1 << index)]!.set(JSON.stringify(next), next)
      }
    }
  }
  return [...reached[all]!.values()]
}

/** The ledger accounts of a payout's account, by its outcome. */
export const moneyOfPayout = (
  cents: number,
  { feeBasisPoints, feeFixed }: { readonly feeBasisPoints: number; readonly feeFixed: number },
  outcome: "pending" | "canceled" | BankPayout["outcome"]
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
  payouts.reduce((sum, { cents, outcome }) => (outcome === "failed" ? sum : sum + cents), 0)

const returnedBy = (fact: Fact): number =>
  fact.tag === "refunded" || fact.tag === "returned" || fact.tag === "lost" ? fact.cents : 0

const isOfMed = ({ tag }: Fact) => tag === "contested" || tag === "won" || tag === "lost"

const precedes = (one: Fact, at: number, other: Fact, otherAt: number): boolean =>
  (one.known !== undefined && one.known < other.at) || (isOfMed(one) && isOfMed(other) && at < otherAt)

/** `undefined` where the rules allow it in no such state. */
const after = (money: PixMoney, fact: Fact): PixMoney | undefined => {
  const { blocked, free, status, unallocated, waiting } = money
  switch (fact.tag) {
    case "refunded":
      // Operators return what is not contested: of a charge, or of an exception.
      if (money.isPayment) return free < fact.cents ? undefined : { ...money, free: free - fact.cents }
      return { ...money, unallocated: unallocated - fact.cents }
    case "returned":
      return take(money, fact.cents)
    case "contested": {
      if (!money.isPayment) return { ...money, waiting: fact.cents }
      // DSP-4: a lost MED is the end of its charge.
      if (status === "charged_back" || free + blocked === 0) return money
      const contested = Math.min(fact.cents, free)
      return { ...money, free: free - contested, blocked: blocked + contested, status: "infraction" }
    }
    case "won":
      if (status !== "infraction") return { ...money, waiting: undefined }
      return { ...money, free: free + blocked, blocked: 0, status: "paid" }
    case "lost": {
      if (!money.isPayment) return take({ ...money, waiting: undefined }, fact.cents)
      const taken = take(money, fact.cents)
      return taken && { ...taken, free: taken.free + taken.blocked, blocked: 0, status: "charged_back" }
    }
    case "accepted": {
      const accepted = {
        ...money,
        free: free + unallocated,
        unallocated: 0,
        isPayment: fact.asPayment,
        waiting: undefined
      }
      return waiting === undefined || !fact.asPayment
        ? accepted
        : after(accepted, { tag: "contested", cents: waiting, at: fact.at })
    }
  }
}

/** DSP-7: what is contested goes first. What was accepted beside a charge is not taken from its account. */
const take = (money: PixMoney, cents: number): PixMoney | undefined => {
  if (!money.isPayment) return { ...money, unallocated: money.unallocated - cents }
  const blocked = Math.min(cents, money.blocked)
  const free = money.free - (cents - blocked)
  return free < 0 ? undefined : { ...money, blocked: money.blocked - blocked, free }
}
