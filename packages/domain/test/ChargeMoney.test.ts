import { assert, describe, it } from "@effect/vitest"
import { chargeMoneyAt, isCovered, splitReversal } from "../src/ChargeMoney.ts"

/** Numbers of every size, edges included, from one seed. */
const numbers = (() => {
  let state = 7
  const next = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31
  return (count: number, most: number) => [
    0,
    1,
    most,
    ...Array.from({ length: count }, () => Math.floor(next() ** 4 * most))
  ]
})()

describe("The money of a charge", () => {
  it("BAL-6: a reversal takes the charge's part of `pending` first, then `available`, to the cent", () => {
    for (const amount of numbers(60, 999_999_999_999)) {
      for (const unreleased of [amount, ...numbers(60, 999_999_999_999)]) {
        const { available, pending } = splitReversal(amount, unreleased)
        assert.strictEqual(pending + available, amount)
        assert.isTrue(pending >= 0 && pending <= unreleased && available >= 0)
        // `available` pays only what the unreleased part cannot.
        assert.isTrue(available === 0 || pending === unreleased)
      }
    }
  })

  it("BAL-5: an operator's order never takes `available` below zero", () => {
    for (const amount of numbers(20, 2000)) {
      for (const unreleased of numbers(20, 2000)) {
        for (const has of numbers(20, 4000).map((each) => each - 2000)) {
          const parts = splitReversal(amount, unreleased)
          assert.strictEqual(isCovered(parts, has), parts.available === 0 || has - parts.available >= 0)
        }
      }
    }
  })

  it("is in one place in every state", () => {
    assert.deepStrictEqual(
      (["paid", "infraction", "refunded", "charged_back"] as const).map((status) => [
        chargeMoneyAt(status, false),
        chargeMoneyAt(status, true)
      ]),
      [
        ["account", "acquirer"],
        ["blocked", "acquirer"],
        ["acquirer", "acquirer"],
        ["acquirer", "acquirer"]
      ]
    )
  })
})
