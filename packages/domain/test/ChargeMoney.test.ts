import { assert, describe, it } from "@effect/vitest"
import { isCovered, leftOf, noFunds, splitAccount, splitReturn } from "../src/ChargeMoney.ts"

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
        const { available, pending } = splitAccount(amount, { ...noFunds, pending: unreleased })
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
          const parts = splitAccount(amount, { ...noFunds, pending: unreleased })
          assert.strictEqual(isCovered(parts, has), parts.available === 0 || has - parts.available >= 0)
        }
      }
    }
  })

  it("DSP-7: a return of the provider takes blocked money first, and no money twice", () => {
    for (const blocked of numbers(10, 2000)) {
      for (const pending of numbers(10, 2000)) {
        for (const available of numbers(10, 2000)) {
          const funds = { blocked, pending, available, inTransit: 7 }
          const all = blocked + pending + available
          for (const amount of numbers(10, all).filter((each) => each <= all)) {
            const parts = splitReturn(amount, funds)
            assert.strictEqual(parts.blocked + parts.pending + parts.available, amount)
            assert.isTrue(parts.pending === 0 || parts.blocked === blocked)
            assert.isTrue(parts.available === 0 || parts.pending === pending)
            assert.isTrue(parts.available <= available)
          }
          assert.strictEqual(leftOf(funds), blocked + pending + available + 7)
        }
      }
    }
  })
})
