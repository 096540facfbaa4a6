/**
 * What all forms of a statement file share: the statement as it is read, and how its parts are.
 */
import type { StatementRemark } from "@pix-payments/domain/BankStatement"
import { parseReais } from "@pix-payments/domain/Cents"
import { parseInstant } from "@pix-payments/domain/Instant"

export interface StatementLine {
  /** The line of the file that it begins on, from 1. */
  readonly line: number
  /** `yyyy-mm-dd`, as the bank books it. */
  readonly day: string
  /** Cents; negative where money left. */
  readonly amount: number
  readonly description: string
  /** The id of the Pix (`E…`) or of its return (`D…`), where the line has one. */
  readonly endToEndId: string | null
  /** The bank's id of the line. Banks repeat it. */
  readonly bankId: string | null
}

/** A line that is no movement: what it has, and why. */
export interface UnreadLine {
  readonly line: number
  readonly reason: StatementRemark
  readonly text: string
}

export interface Balance {
  readonly day: string
  readonly amount: number
}

export interface Statement {
  readonly format: "ofx" | "cnab240"
  /** The three digits of the bank; null where the file does not say them. */
  readonly bank: string | null
  /** Digits and letters of the account's number; null where the file does not say it. */
  readonly account: string | null
  readonly from: string | null
  readonly to: string | null
  readonly opening: Balance | null
  readonly closing: Balance | null
  readonly lines: ReadonlyArray<StatementLine>
  readonly unread: ReadonlyArray<UnreadLine>
  /** What the file says of itself and is not so. */
  readonly problems: ReadonlyArray<StatementRemark>
}

/** Cents of an amount as banks write it: `-1234.56`, `1.234,56`, `+12`, `12,5`, `4.6000`. Undefined where it is ambiguous. */
export const centsOf = (text: string): number | undefined => {
  const [, sign = "", written = ""] = /^([+-]?)\s*(?:R\$\s*)?([\d.,]+)$/.exec(text.trim()) ?? []
  const digits = written.replace(/([.,]\d{2})0{2,}$/, "$1")
  const plain = /^\d{1,3}(\.\d{3})*,\d{1,2}$|^\d+,\d{1,2}$|^\d{1,3}(\.\d{3}){2,}$/.test(digits)
    ? digits.replaceAll(".", "").replace(",", ".")
    : /^\d{1,3}(,\d{3})+\.\d{1,2}$/.test(digits)
      ? digits.replaceAll(",", "")
      : digits
  const cents = parseReais(plain)
  return cents === undefined || cents === 0 ? cents : sign === "-" ? -cents : cents
}

/** `20261126…` as a day; undefined where there is no such day. */
export const dayOf = (digits: string): string | undefined => {
  const [, year, month, day] = /^(?!0000)(\d{4})(\d{2})(\d{2})/.exec(digits) ?? []
  if (year === undefined) return undefined
  const text = `${year}-${month}-${day}`
  return parseInstant(`${text}T00:00:00Z`) === undefined ? undefined : text
}

/** Somebody's text in one line, without what a terminal or page would act on. */
export const cleaned = (text: string, most = 140): string =>
  [
    ...text
      .replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu, " ")
      .replace(/ {2,}/g, " ")
      .trim()
  ]
    .slice(0, most)
    .join("")

/** The first end-to-end id in texts. */
export const endToEndIdIn = (...texts: ReadonlyArray<string>): string | null => {
  for (const text of texts) {
    const [found] = /(?<![A-Za-z0-9])[ED][0-9A-Z]{8}20\d{10}[A-Za-z0-9]{11}(?![A-Za-z0-9])/.exec(text) ?? []
    if (found !== undefined) return found
  }
  return null
}

/** A balance that a bank writes among the movements, as `(=) SALDO` or `000 SALDO_DIA`. Only of a line without an end-to-end id. */
export const isBalance = (text: string): boolean => /^[^A-Za-zÀ-ÿ]*(?:SALDO|S A L D O|SDO)(?![A-Za-zÀ-ÿ])/i.test(text)

/** A balance whatever stands beside it: nobody else's name or message, which may begin with the word. */
export const isOnlyBalance = (text: string): boolean =>
  /^[^A-Za-zÀ-ÿ]*(?:SALDO|SDO)[ _]+(?:ANTERIOR|INICIAL|ATUAL|FINAL|(?:DO[ _]+)?DIA)[^A-Za-zÀ-ÿ]*$/i.test(text)

/** Whether a file's currency is the real. Banks have codes of their own for it, as Santander `BRC`; CNAB 240 may leave it out. */
export const isReal = (currency: string): boolean =>
  ["BRL", "BRC", "REA", "R$", "986", "009", "09", "000", "0", ""].includes(currency.trim().toUpperCase())

/** The balance of the last day. */
export const latestOf = (balances: ReadonlyArray<Balance | null>): Balance | null =>
  balances.reduce((last, each) => (last === null || (each !== null && each.day >= last.day) ? each : last), null)

export interface Days {
  readonly from: string | null
  readonly to: string | null
}

/** The days from the first line to the last one. */
export const daysOfLines = (lines: ReadonlyArray<StatementLine>): Days => {
  const days = lines.map(({ day }) => day).toSorted()
  return { from: days[0] ?? null, to: days.at(-1) ?? null }
}

/** The code of a bank: `341`, `0341`. Another number is none. */
export const bankOf = (text: string): string | null => /^0*(\d{3})$/.exec(text.trim())?.[1] ?? null

/** An account's number without punctuation and leading zeros. */
export const accountOf = (text: string): string | null => text.replace(/[^0-9A-Za-z]/g, "").replace(/^0+/, "") || null

/** Lines that are read before others have a turn. */
export const LINES_OF_A_TURN = 500
