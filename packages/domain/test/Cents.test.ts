import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Cents, formatReais, MAX_CENTS, parseReais, payoutFee } from "../src/Cents.ts"

const accepts = (value: unknown): boolean => Result.isSuccess(Schema.decodeUnknownResult(Cents)(value))

const BasisPoints = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))

describe("Cents", () => {
  it("API-1: an amount is an integer from 0 to 999999999999 cents", () => {
    for (const value of [0, 1, MAX_CENTS]) assert.isTrue(accepts(value), String(value))
    for (const value of [-1, 0.5, MAX_CENTS + 1, Number.NaN, Infinity, "1", null]) {
      assert.isFalse(accepts(value), String(value))
    }
  })

  it("CHG-10: the largest amount is what EMV field 54 can carry: 13 characters", () => {
    assert.strictEqual(formatReais(MAX_CENTS), "9999999999.99")
    assert.strictEqual(formatReais(MAX_CENTS).length, 13)
  })
})

describe("payoutFee", () => {
  it("PAY-9: fee = fixed + round_half_up(amount * basis_points / 10000)", () => {
    assert.strictEqual(payoutFee(10_000, { fixed: 0, basis_points: 0 }), 0)
    assert.strictEqual(payoutFee(10_000, { fixed: 150, basis_points: 0 }), 150)
    assert.strictEqual(payoutFee(10_000, { fixed: 150, basis_points: 99 }), 249)
    assert.strictEqual(payoutFee(49, { fixed: 0, basis_points: 100 }), 0)
    assert.strictEqual(payoutFee(50, { fixed: 0, basis_points: 100 }), 1, "a half rounds up")
    assert.strictEqual(payoutFee(150, { fixed: 0, basis_points: 100 }), 2, "and not to the even neighbour")
  })

  it("PAY-9: exact at the largest amount, where the product passes 2^53", () => {
    assert.strictEqual(payoutFee(MAX_CENTS, { fixed: 0, basis_points: 10_000 }), MAX_CENTS)
    assert.strictEqual(payoutFee(MAX_CENTS, { fixed: 0, basis_points: 9_999 }), 999_899_999_999)
    // In doubles alone this is one cent more.
    assert.strictEqual(payoutFee(999_999_996_813, { fixed: 0, basis_points: 9_123 }), 912_299_997_092)
  })

  it.prop("equals the fee counted in big integers", [Cents, BasisPoints, Cents], ([amount, basis_points, fixed]) => {
    const expected = BigInt(fixed) + (BigInt(amount) * BigInt(basis_points) + 5000n) / 10_000n
    assert.strictEqual(BigInt(payoutFee(amount, { fixed, basis_points })), expected)
  })
})

describe("formatReais", () => {
  it("writes cents as EMV does: `10.00`", () => {
    assert.deepStrictEqual([0, 1, 10, 100, 1000, 12_345].map(formatReais), [
      "0.00",
      "0.01",
      "0.10",
      "1.00",
      "10.00",
      "123.45"
    ])
  })

  it.prop("loses no cent", [Cents], ([cents]) => {
    assert.strictEqual(Number(formatReais(cents).replace(".", "")), cents)
  })
})

describe("parseReais", () => {
  it("reads text and numbers with at most two decimals", () => {
    const cases = [
      ["50", 5000],
      ["39.9", 3990],
      ["39.90", 3990],
      [97, 9700],
      [39.9, 3990],
      [0.07, 7],
      ["0.00", 0],
      ["9999999999.99", MAX_CENTS],
      [9999999999.99, MAX_CENTS]
    ] as const
    for (const [value, cents] of cases) assert.strictEqual(parseReais(value), cents, String(value))
  })

  it("guesses nothing", () => {
    const others = ["", "1.", ".5", "1,00", "1.000,00", "10.001", "-1", "+1", "1e3", " 1", "1\n", "R$ 1", "10000000000"]
    for (const value of [...others, 1.001, -1, 1e10, Number.NaN, Infinity, null, undefined, {}, ["1"], true, 1n]) {
      assert.isUndefined(parseReais(value), String(value))
    }
  })

  it.prop("reads every amount as text and as number", [Cents], ([cents]) => {
    assert.strictEqual(parseReais(formatReais(cents)), cents)
    assert.strictEqual(parseReais(cents / 100), cents)
  })
})
