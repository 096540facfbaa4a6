/**
 * Statements as CSV (RFC 4180).
 *
 * Guarantees:
 * - A text that a spreadsheet would read as a formula begins with an apostrophe. Figures and ids are as they are.
 * - A CPF or CNPJ has its points and dashes: a spreadsheet reads it as text, and its zeros stay.
 * - The time of a line is that of the installation's zone: a sale of 22:15 is of its day.
 */
import type { Close } from "@pix-payments/api/operator/Books"
import { punctuated } from "@pix-payments/domain/Document"
import { describe, type Format, reais, type StatementLine } from "./Format.ts"

export interface CsvOptions {
  readonly separator: "," | ";" | "tab"
  readonly decimal: "." | ","
  /** A byte order mark, by which Excel knows UTF-8. */
  readonly bom: boolean
}

/** As spreadsheets in Brazil read it. */
export const brazilian: CsvOptions = { separator: ";", decimal: ",", bom: true }

export const csv = (options: CsvOptions): Format => {
  const { bom, decimal } = options
  const row = rowsOf(options)
  return {
    contentType: "text/csv; charset=utf-8",
    extension: "csv",
    isComplete: false,
    begin: () => `${bom ? BOM : ""}${row(columns.map(([name]) => name))}`,
    line: (line) => row(columns.map(([, cell]) => cell(line, (cents) => reais(cents, decimal)))),
    end: () => ""
  }
}

/** The closes of some days, as CSV. */
export const closesCsv = (closes: ReadonlyArray<Close>, options: CsvOptions): string => {
  const row = rowsOf(options)
  const money = (cents: number) => reais(cents, options.decimal)
  return [
    `${options.bom ? BOM : ""}${row(closeColumns)}`,
    ...closes.map(({ closing, credits, day, debits, fees, hash, lines, lines_hash, opening, previous_hash }) =>
      row([
        day,
        ...[opening, credits, debits, fees, closing].map(money),
        String(lines),
        lines_hash,
        previous_hash ?? "",
        hash
      ])
    )
  ].join("")
}

const closeColumns = [
  "day",
  "opening",
  "credits",
  "debits",
  "fees",
  "closing",
  "lines",
  "lines_hash",
  "previous_hash",
  "hash"
]

export const BOM = "\uFEFF"

const rowsOf = ({ separator }: CsvOptions) => {
  const between = separator === "tab" ? "\t" : separator
  return (cells: ReadonlyArray<string>) => `${cells.map((cell) => quoted(cell, between)).join(between)}\r\n`
}

type Cell = (line: StatementLine, money: (cents: number) => string) => string

const columns: ReadonlyArray<readonly [name: string, cell: Cell]> = [
  ["day", ({ transaction }) => transaction.day],
  ["created_at", ({ at }) => at],
  ["id", ({ transaction }) => transaction.id],
  ["type", ({ transaction }) => transaction.type],
  ["description", ({ transaction }) => defused(describe(transaction))],
  ["amount", ({ transaction }, money) => money(transaction.amount)],
  ["fee", ({ transaction }, money) => money(transaction.fee)],
  ["net", ({ transaction }, money) => money(transaction.net)],
  ["balance_after", ({ balance }, money) => money(balance)],
  ["reference", ({ transaction }) => defused(transaction.reference ?? "")],
  ["counterparty", ({ transaction }) => defused(transaction.counterparty?.name ?? "")],
  ["document", ({ transaction }) => defused(punctuated(transaction.counterparty?.document ?? ""))],
  ["end_to_end_id", ({ transaction }) => defused(transaction.end_to_end_id ?? "")],
  ["return_id", ({ transaction }) => defused(transaction.return_id ?? "")],
  ["txid", ({ transaction }) => defused(transaction.txid ?? "")],
  ["payment_code", ({ transaction }) => transaction.payment_code ?? ""],
  ["source", ({ transaction: { source } }) => `${source.object}:${source.id}`],
  ["account_id", ({ transaction }) => transaction.account_id ?? ""],
  ["connection_id", ({ transaction }) => transaction.connection_id ?? ""],
  ["order_fee", ({ transaction: { order_fee: fee } }, money) => (fee === null ? "" : money(fee))],
  ["dispute_id", ({ transaction }) => transaction.dispute_id ?? ""]
]

const defused = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

const quoted = (cell: string, separator: string): string =>
  cell.includes(separator) || /["\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
