/**
 * Money in integer cents.
 *
 * Guarantees: an amount is an integer from 0 to the most that EMV field 54 can carry, and the fee is exact at
 * every such amount.
 *
 * Source: decisions.md "Values" (largest amount, payout fee).
 */
import * as Schema from "effect/Schema"

/** 9999999999.99, the thirteen characters of EMV field 54. */
export const MAX_CENTS = 999_999_999_999

export const Cents = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_CENTS })).pipe(Schema.brand("Cents"))
export type Cents = typeof Cents.Type

/** The two fee settings of an account. */
export interface FeeSettings {
  readonly fixed: number
  readonly basis_points: number
}

/** `fixed + round_half_up(amount * basis_points / 10000)`. */
export const payoutFee = (amount: number, fee: FeeSettings): number => {
  // amount * basis_points can pass 2^53. The whole ten-thousands of the amount divide out exactly, so only the
  // remainder is rounded, and every product stays far below 2^53.
  const whole = Math.floor(amount / BASIS)
  const rest = amount % BASIS
  return fee.fixed + whole * fee.basis_points + Math.floor((rest * fee.basis_points + BASIS / 2) / BASIS)
}

/** Cents as EMV and the API Pix write them: `1000` is `"10.00"`. */
export const formatReais = (cents: number): string =>
  `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`

const BASIS = 10_000
