/**
 * Why a field of a request is refused, in words: ERR-3. The service and its clients, which check some fields before they send,
 * say it alike.
 *
 * Guarantees
 * - No reason repeats text that was sent, which may be personal or a secret, nor a number as long as a CPF or a telephone.
 * - Nothing is imported.
 */

/** Why the value of a field is refused. `expected`: what it must be; absent where it is missing. */
export const reasonOf = (field: string, expected: string | undefined, value: unknown): string =>
  expected === undefined ? `${field} is required` : `${field} must be ${expected}${got(value)}`

/** What was sent, without its text. */
export const got = (value: unknown): string => {
  if (value === undefined) return ""
  if (typeof value === "string") return `, got text of ${counted([...value].length, "character")}`
  if (Array.isArray(value)) return `, got a list of ${value.length}`
  if (typeof value === "number" && String(value).length > 8) return ", got a long number"
  return `, got ${typeof value === "bigint" ? "a BigInt" : Object(value) === value ? "an object" : String(value)}`
}

/** `1 day`, `2 days` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

export const AN_AMOUNT = "an integer number of cents, as 1990 for R$ 19,90"
export const A_DOCUMENT = "a CPF or CNPJ with right check digits"

export const MINIMUM_CHARGE_CENTS = 100
export const MINIMUM_PAYOUT_CENTS = 500

export const atMost = (cents: number): string => `at most ${cents} cents`
export const atLeast = (cents: number): string => `at least ${cents} cents`
