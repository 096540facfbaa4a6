/** What becomes of a return or MED, given what is known of its payment, without a database. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  decideReversal,
  divideReturn,
  kindOf,
  type ReversalFacts
} from "../../../src/payments/exceptions/ReversalDecision.ts"

const cents = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5000 }))
const unallocated = Schema.Int.check(Schema.isBetween({ minimum: -2000, maximum: 5000 }))
const facts = Schema.Struct({
  kind: Schema.Literals(["return", "dispute"]),
  amount: Schema.UndefinedOr(cents),
  arrived: Schema.UndefinedOr(cents),
  charge: Schema.UndefinedOr(Schema.Struct({ amount: cents, isReversed: Schema.Boolean })),
  hasException: Schema.Boolean,
  isAccepted: Schema.Boolean
})

const factsWith = (changes: Partial<ReversalFacts>): ReversalFacts => ({
  kind: "return",
  amount: 700,
  arrived: undefined,
  charge: undefined,
  hasException: false,
  isAccepted: false,
  ...changes
})

const named = { amount: 1000, isReversed: false }
const paid = { amount: 1000, isReversed: true }

describe("A return or MED", () => {
  it.each<[string, Partial<ReversalFacts>, ReturnType<typeof decideReversal>]>([
    ["of a payment that has not arrived waits", {}, { _tag: "Wait", amount: 700 }],
    ["of all of it: of what the charge asks", { amount: undefined, charge: named }, { _tag: "Wait", amount: 1000 }],
    ["of all of it, of no charge: nothing is known", { amount: undefined }, { _tag: "Unknown" }],
    ["of a paid charge", { arrived: 1000, charge: paid }, { _tag: "ReverseCharge" }],
    [
      "of a paid charge whose settlement conflicts: the charge first",
      { arrived: 1000, charge: paid, hasException: true },
      { _tag: "ReverseCharge" }
    ],
    [
      "of an exception, which the charge that it names does not change",
      { arrived: 900, charge: named, hasException: true },
      { _tag: "TakeFromExceptions", amount: 700 }
    ],
    [
      "of all of an exception",
      { amount: undefined, arrived: 900, hasException: true },
      { _tag: "TakeFromExceptions", amount: 900 }
    ],
    [
      "a MED of an exception that an account accepted contests it there",
      { kind: "dispute", arrived: 900, hasException: true, isAccepted: true },
      { _tag: "ContestAccepted", amount: 700 }
    ],
    [
      "a MED of an exception waits until that is accepted",
      { kind: "dispute", arrived: 900, hasException: true },
      { _tag: "Wait", amount: 700 }
    ],
    ["of a payment that is not kept any more", { arrived: 900 }, { _tag: "Unknown" }]
  ])("DSP-10, BAL-11: %s", (_, known, decision) => {
    assert.deepStrictEqual(decideReversal(factsWith(known)), decision)
  })

  it("DSP-10: only a MED is contested, every other reversal is a return", () => {
    const pix = { txid: "", endToEndId: "E1" }
    assert.strictEqual(kindOf({ _tag: "med.opened", ...pix, reason: "fraud" }), "dispute")
    assert.strictEqual(kindOf({ _tag: "charge.refunded", ...pix }), "return")
    // Also the return of a MED.
    assert.strictEqual(kindOf({ _tag: "charge.returned", ...pix, as: "charged_back" }), "return")
  })

  it.prop("DSP-10: waits only for what can come", [facts], ([known]) => {
    const decision = decideReversal(known)
    const isReversed = known.charge?.isReversed === true
    if (decision._tag === "Wait") {
      assert.isFalse(isReversed)
      // A payment that has arrived can only be accepted, which a return does not wait for.
      if (known.arrived !== undefined)
        assert.isTrue(known.kind === "dispute" && known.hasException && !known.isAccepted)
    }
    if (isReversed) assert.strictEqual(decision._tag, "ReverseCharge")
    if (decision._tag === "ReverseCharge") assert.isTrue(isReversed)
  })

  it.prop("BAL-11: is of the reported cents, else of those of the payment or of its charge", [facts], ([known]) => {
    const decision = decideReversal(known)
    if (!("amount" in decision)) return
    assert.strictEqual(decision.amount, known.amount ?? known.arrived ?? known.charge?.amount)
  })

  it.prop("OPR-87, BAL-11: no cent of a return is lost", [cents, Schema.Array(unallocated)], ([amount, left]) => {
    const { taken, unmatched } = divideReturn(
      amount,
      left.map((each) => ({ unallocated: each }))
    )
    assert.strictEqual(
      taken.reduce((sum, each) => sum + each, unmatched),
      amount
    )
    assert.isAtLeast(unmatched, 0)
    for (const [at, each] of taken.entries()) assert.isTrue(each >= 0 && each <= Math.max(0, left[at]!))
    // Nothing is unmatched while an exception has money.
    if (unmatched > 0)
      assert.deepStrictEqual(
        taken,
        left.map((each) => Math.max(0, each))
      )
  })

  it.prop(
    "DSP-10, BAL-11: after each of them, and of their payment, in any order, the books have what arrived less what was returned",
    [cents, Schema.Boolean, Schema.Array(cents), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 }))],
    ([amount, paysCharge, returns, at]) => {
      const books = new Books(amount, paysCharge)
      let returned = 0
      for (const [index, each] of returns.entries()) {
        if (index === at) books.arrive()
        books.giveBack(each)
        returned += each
        assert.strictEqual(books.posted, (books.hasArrived ? amount : 0) - returned)
      }
      if (!books.hasArrived) books.arrive()
      assert.strictEqual(books.posted, amount - returned)
      assert.deepStrictEqual(books.waiting, [])
    }
  )
})

/** Books that apply decisions as the store does, of one Pix. */
class Books {
  hasArrived = false
  waiting: Array<number> = []
  /** Cents of the charge, of the payment's exception, and of what fits nothing. */
  private charge = 0
  private exception = 0
  private unmatched = 0
  private readonly amount: number
  private readonly paysCharge: boolean

  constructor(amount: number, paysCharge: boolean) {
    this.amount = amount
    this.paysCharge = paysCharge
  }

  /** Cents that are posted: those of returns that wait are below zero. */
  get posted() {
    return this.charge + this.exception + this.unmatched - this.waiting.reduce((sum, each) => sum + each, 0)
  }

  arrive() {
    const early = this.waiting
    this.waiting = []
    this.hasArrived = true
    if (this.paysCharge) this.charge = this.amount
    else this.exception = this.amount
    for (const each of early) this.giveBack(each)
  }

  giveBack(cents: number) {
    const decision = decideReversal({
      kind: "return",
      amount: cents,
      arrived: this.hasArrived ? this.amount : undefined,
      charge: this.paysCharge ? { amount: this.amount, isReversed: this.hasArrived } : undefined,
      hasException: this.hasArrived && !this.paysCharge,
      isAccepted: false
    })
    switch (decision._tag) {
      case "Wait":
        this.waiting.push(decision.amount)
        return
      case "ReverseCharge": {
        const taken = Math.min(this.charge, cents)
        this.charge -= taken
        this.unmatched -= divideReturn(cents - taken, []).unmatched
        return
      }
      case "TakeFromExceptions": {
        const { taken, unmatched } = divideReturn(decision.amount, [{ unallocated: this.exception }])
        this.exception -= taken[0]!
        this.unmatched -= unmatched
        return
      }
      default:
        throw new Error(decision._tag)
    }
  }
}
