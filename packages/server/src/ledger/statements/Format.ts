/** What a format of a statement is: text made of facts, of each line, and of the end. Pure. */
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import { portugueseTitles } from "@pix-payments/domain/BalanceTransaction"
import type { Movement } from "../Lines.ts"

/** Whose statement it is, of which days, and what a reader of bank files looks an account up by. */
export interface StatementFacts {
  readonly book: "account" | "connection"
  readonly ownerId: string
  readonly name: string
  readonly from: string
  readonly to: string
  readonly timezone: string
  /** Cents before the first line. */
  readonly opening: number
  readonly bank: { readonly code: string; readonly branch: string; readonly number: string }
  readonly madeAtMs: number
}

export interface StatementLine {
  readonly transaction: BalanceTransaction
  readonly movement: Movement
  /** Its time in the installation's zone: `2026-11-26 22:15:03`. */
  readonly at: string
  /** Cents after it: of a bank account too, which has no stored balance. */
  readonly balance: number
}

export interface StatementEnd {
  readonly lines: number
  readonly closing: number
  readonly closes: ReadonlyArray<Close>
}

export interface Format {
  readonly contentType: string
  readonly extension: string
  /** It has all transfers of the account, not only those of `available`. */
  readonly isComplete: boolean
  readonly begin: (facts: StatementFacts) => string
  readonly line: (line: StatementLine) => string
  readonly end: (end: StatementEnd, facts: StatementFacts) => string
  /** Bytes of the text; by default UTF-8. */
  readonly encode?: (text: string) => Uint8Array
}

/** Cents in reais: `-12.30`. */
export const reais = (cents: number, decimal: "." | "," = "."): string => {
  const all = Math.abs(cents)
  return `${cents < 0 ? "-" : ""}${Math.floor(all / 100)}${decimal}${String(all % 100).padStart(2, "0")}`
}

/** What a person reads of a line. */
export const describe = ({ counterparty, reference, type }: BalanceTransaction): string =>
  [titleOf(type), counterparty?.name, reference].filter(Boolean).join(" ")

/** In Portuguese, as the programs that read these files are. */
const titleOf = (type: string): string => (portugueseTitles as Readonly<Record<string, string>>)[type] ?? type
