/**
 * Money in integer cents: API-1, CHG-10, PAY-9.
 *
 * Guarantees
 * - An amount is an integer from 0 to the maximum of EMV field 54.
 * - The fee is exact for every such amount.
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
  // amount * basis_points can exceed 2^53. Whole ten-thousands divide exactly, so only the remainder is rounded and
  // every product stays below 2^53.
  const whole = Math.floor(amount / BASIS)
  const rest = amount % BASIS
  return fee.fixed + whole * fee.basis_points + Math.floor((rest * fee.basis_points + BASIS / 2) / BASIS)
}

/** Cents as EMV and the API Pix write them: `1000` is `"10.00"`. */
export const formatReais = (cents: number): string =>
  `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`

/**
 * Cents of an amount in reais, as text or number with at most two decimals: `"39.9"` and `39.9` are 3990, `97` is 9700.
 * `undefined` for anything else.
 */
export const parseReais = (value: unknown): number | undefined => {
  if (typeof value === "string") return reais.test(value) ? parseReais(Number(value)) : undefined
  if (typeof value !== "number") return undefined
  const cents = Math.round(value * 100)
  return cents / 100 === value && cents >= 0 && cents <= MAX_CENTS ? Math.abs(cents) : undefined
}

const reais = /^\d{1,10}(\.\d{1,2})?$/

const BASIS = 10_000
