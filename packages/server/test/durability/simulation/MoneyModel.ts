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
  /** Cents of an operator's order that came to nothing: until then they were in no account. */
  | { readonly tag: "failed"; readonly cents: number }
  /** Cents of an operator's order: the bank said first that they had gone back, then that they had not; or the other way. */
  | { readonly tag: "undone" | "late"; readonly cents: number }
  /** A MED contests cents. */
  | { readonly tag: "contested"; readonly med: string; readonly cents: number }
  | { readonly tag: "won"; readonly med: string }
  /** Cents of a MED went back to the payer, with or without a word before: maybe less than it contests. */
  | { readonly tag: "lost"; readonly med: string; readonly cents: number; readonly isShort?: boolean }
  /** An account has it from now on: an operator, or a rule, accepted it. */
  | { readonly tag: "accepted" }

/** A Pix that arrived at its bank. */
export interface BankPix {
  /** The connection of the key that was paid. */
  readonly connectionId: string
  readonly endToEndId: string
  readonly txid: string | undefined
  readonly cents: number
  /** Besides the orders of operators. */
  readonly facts: ReadonlyArray<Fact>
  readonly returns: ReadonlyArray<BankReturn>
}

/** A return that an operator ordered. */
export interface BankReturn {
  readonly orderId: string
  readonly cents: number
  /** As of a payout. */
  readonly ends: BankPayout["ends"]
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
  /** Of exceptions that hold what the bank did otherwise than the books: below zero where it sent beyond them. */
  readonly contradicted: number
  /** An account has it. */
  readonly isHeld: boolean
  /** The cents that each open MED contests; where nobody has the money: will contest. */
  readonly meds: Readonly<Record<string, number>>
  /** Of these, those that were lost, of which nothing was returned, while nobody had the money. */
  readonly unreturned: ReadonlyArray<string>
  readonly isLost: boolean
}

/** The service has all of these, but how orders ended that came to nothing. */
export const learnAll = (facts: ReadonlyArray<Fact>, moment: number): void => {
  for (const fact of facts) if (fact.tag !== "failed") fact.known ??= moment
}

/** What an operator's order did. `byHand`: the outcome that an operator settled it with, before the bank said one. */
export const factsOfReturn = (
  { cents, ends }: BankReturn,
  byHand: BankPayout["ends"][number] | undefined
): ReadonlyArray<Fact> => {
  const said = byHand === undefined ? ends : [byHand, ...ends]
  const isDone = ends.at(-1) === "completed"
  const isOtherwise = said.includes(isDone ? "failed" : "completed")
  if (!isDone && !isOtherwise) return ends.length === 0 ? [] : [{ tag: "failed", cents, at: 0 }]
  return [{ tag: isOtherwise ? (isDone ? "late" : "undone") : "refunded", cents, at: 0 }]
}

/** What has not gone back to the payer. */
export const leftOf = ({ cents, facts }: Pick<BankPix, "cents" | "facts">): number =>
  facts.reduce((left, fact) => left - returnedBy(fact), cents)

/** Where the money of a Pix may be; nothing where no order of the facts is possible. `isHeld`: it pays a charge as it arrives. */
export const moneyOf = (cents: number, isHeld: boolean, given: ReadonlyArray<Fact>): ReadonlyArray<PixMoney> => {
  // What came to nothing matters only where less is blocked than MEDs contest.
  const has = (tags: ReadonlyArray<Fact["tag"]>) => given.some(({ tag }) => tags.includes(tag))
  const isShort = has(["contested"]) && has(["returned", "late", "lost"])
  const facts = isShort ? given : given.filter(({ tag }) => tag !== "failed")
  const begin: PixMoney = {
    free: isHeld ? cents : 0,
    blocked: 0,
    unallocated: isHeld ? 0 : cents,
    contradicted: 0,
    isHeld,
    meds: {},
    unreturned: [],
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
  fact.tag === "refunded" || fact.tag === "returned" || fact.tag === "late" || fact.tag === "lost" ? fact.cents : 0

const precedes = (one: Fact, other: Fact): boolean =>
  (one.known !== undefined && one.known < other.at) ||
  (one.tag === "contested" && (other.tag === "won" || other.tag === "lost") && one.med === other.med)

const contestedBy = (meds: PixMoney["meds"]): number => Object.values(meds).reduce((sum, cents) => sum + cents, 0)

/** Empty where the rules allow it in no such state; several where they allow several. */
const after = (money: PixMoney, fact: Fact): ReadonlyArray<PixMoney> => {
  const { blocked, contradicted, free, isHeld, meds, unallocated } = money
  switch (fact.tag) {
    case "refunded":
      // Operators return what is not contested.
      return isHeld ? left(money, { free: free - fact.cents }) : [{ ...money, unallocated: unallocated - fact.cents }]
    case "returned": {
      if (!isHeld) return [{ ...money, unallocated: unallocated - fact.cents }]
      // DSP-7: what is contested goes first. BAL-11: what a loss took that the bank did not return is not there.
      const there = Math.min(fact.cents, free + blocked)
      const first = Math.min(there, blocked)
      const rest = { ...money, unallocated: unallocated - (fact.cents - there) }
      return left(rest, { blocked: blocked - first, free: free - (there - first) })
    }
    case "failed": {
      // OPR-73: what comes back is blocked as far as MEDs contest it. A return may have taken what was, meanwhile.
      const more = Math.max(0, Math.min(fact.cents, free, contestedBy(meds) - blocked))
      return more === 0 || !isHeld ? [money] : [money, { ...money, free: free - more, blocked: blocked + more }]
    }
    case "undone": {
      // BAL-16: the service may have heard of the last outcome alone.
      const refunded = after(money, { ...fact, tag: "refunded" })
      return [money, ...refunded.map((next) => ({ ...next, contradicted: next.contradicted + fact.cents }))]
    }
    case "late": {
      // BAL-16: what is there goes as a return that the provider reports.
      const there = Math.max(0, Math.min(fact.cents, isHeld ? free + blocked : unallocated))
      const rest = { ...money, contradicted: contradicted - (fact.cents - there) }
      return [...after(money, { ...fact, tag: "refunded" }), ...after(rest, { ...fact, tag: "returned", cents: there })]
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
      const own = meds[fact.med]
      if (fact.isShort === true && own === undefined)
        return fact.cents === 0 ? [money] : after(money, { ...fact, isShort: false })
      if (fact.isShort === true && isHeld) return lostShort(money, fact, own!)
      if (fact.isShort === true && fact.cents === 0) return [{ ...money, unreturned: [...money.unreturned, fact.med] }]
      if (!isHeld) return [{ ...money, unallocated: unallocated - fact.cents, meds: without(meds, fact.med) }]
      // BAL-16: the books may lack cents of which the bank said first that they had gone back.
      const beyond = Math.max(0, fact.cents - free - blocked)
      if (beyond > Math.max(0, contradicted)) return []
      // DSP-5, DSP-7: one without a word before may be that of an open MED.
      const isNew = meds[fact.med] === undefined
      return (isNew ? ["", ...Object.keys(meds)] : [fact.med]).flatMap((ended) => {
        const others = without(meds, ended)
        // What other MEDs contest stays blocked, as far as there is other money.
        const rest = free + blocked + beyond - fact.cents
        const kept = Math.max(0, Math.min(contestedBy(others), blocked, rest))
        const next = { ...money, unallocated: unallocated - beyond, meds: others, isLost: true }
        return left(next, { blocked: kept, free: rest - kept })
      })
    }
    case "accepted": {
      const waiting = [
        ...Object.entries(meds).map(([med, cents]) => ({ tag: "contested", med, cents, at: fact.at }) as const),
        ...money.unreturned.map((med) => ({ tag: "lost", med, cents: 0, isShort: true, at: fact.at }) as const)
      ]
      return waiting.reduce<ReadonlyArray<PixMoney>>(
        (all, next) => all.flatMap((one) => after(one, next)),
        [{ ...money, free: unallocated, unallocated: 0, isHeld: true, meds: {}, unreturned: [] }]
      )
    }
  }
}

/** DSP-4: the loss takes what the MED contests; what of it the bank does not return is available, or contradicts the books. */
const lostShort = (money: PixMoney, fact: Extract<Fact, { tag: "lost" }>, own: number): ReadonlyArray<PixMoney> => {
  const whole = after(money, {
    tag: "lost",
    med: fact.med,
    cents: Math.min(own, money.free + money.blocked),
    at: fact.at
  })
  const back = (one: PixMoney) => money.free + money.blocked - one.free - one.blocked - fact.cents
  return whole.flatMap((one) =>
    fact.cents === 0
      ? [{ ...one, contradicted: one.contradicted + back(one) }]
      : [{ ...one, free: one.free + back(one) }, ...after(money, { ...fact, isShort: false })]
  )
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
