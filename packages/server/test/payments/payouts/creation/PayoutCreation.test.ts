/** The decision of new payouts, without a database. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  type Decision,
  decidePayouts,
  type Facts,
  intentOf,
  keyOf,
  type PayoutRequest,
  type PayoutTerms,
  type RequestedPayout
} from "../../../../src/payments/payouts/creation/PayoutCreation.ts"
import { ACCOUNT, requestedPayout, termsOfPayout as terms } from "../../../support/NewPayout.ts"

const request = (changes: Partial<RequestedPayout> = {}): PayoutRequest => ({
  caller: undefined,
  requested: requestedPayout(changes)
})

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const facts = (changes: Partial<Facts> = {}): Facts => ({
  isCurrent: () => true,
  accounts: new Map([[ACCOUNT, terms()]]),
  known: new Map(),
  duplicates: new Map(),
  limits: new Map(),
  ...changes
})

const tags = (decisions: ReadonlyArray<Decision>) => decisions.map(({ _tag }) => _tag)

const accountWith = (changes: Partial<PayoutTerms>): Partial<Facts> => ({
  accounts: new Map([[ACCOUNT, terms(changes)]])
})

describe("decidePayouts", () => {
  it("PAY-2, PAY-9: grants amount plus fee, and refuses what the balance does not cover", () => {
    const exact = decidePayouts([request({ amount: 9900 })], facts())
    assert.deepStrictEqual(tags(exact.decisions), ["Created"])
    assert.strictEqual(exact.granted[0]!.payout.fee, 100)
    assert.strictEqual(exact.availableCents.get(ACCOUNT), 0)
    assert.deepStrictEqual(tags(decidePayouts([request({ amount: 9901 })], facts()).decisions), ["InsufficientBalance"])
  })

  it("PAY-1: what one payout is granted, the next cannot spend; a smaller one behind a refused one is granted", () => {
    const { availableCents, decisions } = decidePayouts(
      [request({ amount: 6000 }), request({ amount: 5000 }), request({ amount: 3000 })],
      facts()
    )
    assert.deepStrictEqual(tags(decisions), ["Created", "InsufficientBalance", "Created"])
    assert.strictEqual(availableCents.get(ACCOUNT), 10_000 - 6100 - 3100)
  })

  it("PAY-3: starts in `processing` with automatic payouts, else in `pending`", () => {
    const statusWith = (autoPayoutEnabled: boolean) =>
      decidePayouts([request()], facts(accountWith({ autoPayoutEnabled }))).granted[0]!.payout.status
    assert.strictEqual(statusWith(true), "processing")
    assert.strictEqual(statusWith(false), "pending")
  })

  it("PAY-14: an inactive account comes before its onboarding, and both before the balance", () => {
    const decisionWith = (changes: Partial<PayoutTerms>) =>
      tags(decidePayouts([request()], facts(accountWith({ availableCents: 0, ...changes }))).decisions)
    assert.deepStrictEqual(decisionWith({ status: "inactive", onboardingStatus: "pending" }), ["AccountInactive"])
    assert.deepStrictEqual(decisionWith({ onboardingStatus: "pending" }), ["AccountRestricted"])
    assert.deepStrictEqual(decisionWith({}), ["InsufficientBalance"])
    assert.deepStrictEqual(tags(decidePayouts([request()], facts({ accounts: new Map() })).decisions), [
      "AccountInactive"
    ])
  })

  it("IDEM-4, IDEM-5: a known key is replayed whatever the account is; a key of the same batch is created once", () => {
    const first = request({ idempotencyKey: "key-00000001" })
    const stored = decidePayouts([first], facts()).granted[0]!.payout
    const known = new Map([[keyOf(first.requested)!, stored]])
    const replayed = decidePayouts(
      [request({ idempotencyKey: "key-00000001", amount: 1 })],
      facts({ known, ...accountWith({ status: "inactive" }) })
    )
    assert.deepStrictEqual(replayed.decisions, [{ _tag: "Replayed", payout: stored }])
    const both = decidePayouts([first, request({ idempotencyKey: "key-00000001" })], facts())
    assert.deepStrictEqual(tags(both.decisions), ["Created", "Replayed"])
    assert.lengthOf(both.granted, 1)
  })

  it("a caller that changed is not decided at all, not even replayed", () => {
    const stale = request({ idempotencyKey: "key-00000001" })
    const { decisions, granted } = decidePayouts([stale], facts({ isCurrent: () => false }))
    assert.deepStrictEqual(tags(decisions), ["StaleCaller"])
    assert.lengthOf(granted, 0)
  })

  it("the duplicate guard marks the second of two equal payouts, which waits for an operator", () => {
    const guarded = facts(accountWith({ duplicateWindowSeconds: 60 }))
    const { granted } = decidePayouts([request(), request(), request({ amount: 1001 })], guarded)
    assert.deepStrictEqual(
      granted.map(({ payout }) => [payout.status, payout.duplicateOf]),
      [
        ["processing", null],
        ["pending", granted[0]!.payout.id],
        ["processing", null]
      ]
    )
    const recent = new Map([
      [intentOf({ accountId: ACCOUNT, amount: 1000, pix_key_type: "email", pix_key: "ana@example.com" }), "earlier"]
    ])
    const [second] = decidePayouts([request()], { ...guarded, duplicates: recent }).granted
    assert.deepStrictEqual([second!.payout.status, second!.payout.duplicateOf], ["pending", "earlier"])
    assert.isNull(decidePayouts([request()], facts({ duplicates: recent })).granted[0]!.payout.duplicateOf)
  })

  it.prop(
    "PAY-1: never grants more than the balance, for any amounts, fees and balance",
    [Schema.Array(between(500, 50_000)), between(0, 300_000), between(0, 500), between(0, 10_000)],
    ([amounts, availableCents, feeFixedCents, feeBasisPoints]) => {
      const decided = decidePayouts(
        amounts.map((amount) => request({ amount })),
        facts(accountWith({ availableCents, feeFixedCents, feeBasisPoints }))
      )
      const spent = decided.granted.reduce((sum, { payout }) => sum + payout.amount + payout.fee, 0)
      assert.isAtMost(spent, availableCents)
      assert.strictEqual(decided.availableCents.get(ACCOUNT) ?? availableCents, availableCents - spent)
      assert.strictEqual(tags(decided.decisions).filter((tag) => tag === "Created").length, decided.granted.length)
    }
  )
})
