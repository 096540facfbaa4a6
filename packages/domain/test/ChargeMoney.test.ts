import { assert, describe, it } from "@effect/vitest"
import {
  blockedAgain,
  blockedBeyond,
  contestedBy,
  inAccount,
  isCovered,
  leftOf,
  noFunds,
  splitAccount,
  splitLoss,
  splitReturn
} from "../src/ChargeMoney.ts"

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
            assert.strictEqual(parts.blocked, Math.min(amount, blocked))
            assert.isTrue(parts.pending === 0 || parts.blocked === blocked)
            assert.isTrue(parts.available === 0 || parts.pending === pending)
            assert.isTrue(parts.available <= available)
          }
          assert.strictEqual(leftOf(funds), blocked + pending + available + 7)
        }
      }
    }
  })

  it("DSP-7: a MED contests what it names, at most what is left and no other MED contests; without an amount all of that", () => {
    const funds = { pending: 10, available: 20, blocked: 30, inTransit: 5 }
    assert.strictEqual(inAccount(funds), 30)
    const contested = (amount: number | undefined, others: number) => contestedBy(amount, funds, others)
    assert.deepStrictEqual([contested(7, 0), contested(64, 0), contested(65, 0), contested(66, 0)], [7, 64, 65, 65])
    assert.deepStrictEqual([contested(undefined, 0), contested(0, 0), contested(-1, 0)], [65, 65, 65])
    assert.deepStrictEqual(
      [contested(undefined, 30), contested(36, 30), contested(1, 65), contested(1, 70)],
      [35, 35, 0, 0]
    )
    assert.deepStrictEqual([blockedBeyond(funds, 12), blockedBeyond(funds, 30), blockedBeyond(funds, 31)], [18, 0, 0])
  })

  it("DSP-4, DSP-7: a loss takes what is blocked for it, and leaves the others what is blocked for them as far as there is other money", () => {
    const loss = (amount: number, others: number) =>
      splitLoss(amount, { pending: 10, available: 20, blocked: 30, inTransit: 0 }, others)
    assert.deepStrictEqual(loss(30, 0), { blocked: 30, pending: 0, available: 0, released: 0 })
    assert.deepStrictEqual(loss(12, 0), { blocked: 12, pending: 0, available: 0, released: 18 })
    // 20 are blocked for others: 10 are free, and the account pays the rest, what is not released first.
    assert.deepStrictEqual(loss(25, 20), { blocked: 10, pending: 10, available: 5, released: 0 })
    assert.deepStrictEqual(loss(5, 20), { blocked: 5, pending: 0, available: 0, released: 5 })
    // Of 60 cents, 50 go back: only 10 can stay blocked for others, who contest 20.
    assert.deepStrictEqual(loss(50, 20), { blocked: 20, pending: 10, available: 20, released: 0 })
    assert.deepStrictEqual(loss(60, 90), { blocked: 30, pending: 10, available: 20, released: 0 })
  })

  it("DSP-7: as much is blocked again as MEDs contest, as far as the account has it", () => {
    const funds = { pending: 10, available: 20, blocked: 30, inTransit: 7 }
    const none = { blocked: 0, pending: 0, available: 0 }
    assert.deepStrictEqual(blockedAgain(12, funds), { released: 18, blocked: none })
    assert.deepStrictEqual(blockedAgain(30, funds), { released: 0, blocked: none })
    assert.deepStrictEqual(blockedAgain(45, funds), { released: 0, blocked: { blocked: 0, pending: 10, available: 5 } })
    assert.deepStrictEqual(blockedAgain(90, funds), {
      released: 0,
      blocked: { blocked: 0, pending: 10, available: 20 }
    })
  })
})
