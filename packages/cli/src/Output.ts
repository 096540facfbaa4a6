/**
 * Answers on standard output: tables and fields for people, JSON for programs. CLI-7.
 *
 * Guarantee: text of others reaches a terminal without control characters.
 */
import * as Effect from "effect/Effect"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import { columns } from "./Columns.ts"
import { bold, dim, green, isTerminal, jsonOf, printable, red, write, yellow } from "./Terminal.ts"
import { reais } from "./Money.ts"

export const JsonFlag = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDescription("Write JSON, also to a terminal"), Flag.withDefault(false))
})

/** JSON if asked for, and where no person reads. */
export const wantsJson = Effect.map(JsonFlag, (flag) => flag || !isTerminal())

export const writeJson = (value: unknown): void => write(`${jsonOf(value, isTerminal() ? 2 : 0)}\n`)

/** The fields of a resource, or a row of a table. */
export type Row = Readonly<Record<string, unknown>>

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value)

/** Fields in cents. */
const moneyFields = new Set([
  "amount",
  "fee",
  "fixed",
  "net_amount",
  "expected_amount",
  "refunded_amount",
  "unallocated",
  "available",
  "pending",
  "blocked",
  "balance_before",
  "balance_after",
  "in_transit",
  "total",
  "kept",
  "computed",
  "received",
  "returned",
  "sent",
  "net",
  "approval_limit",
  "opening",
  "closing",
  "credits",
  "debits",
  "fees",
  "bank",
  "books",
  "bank_total",
  "books_total",
  "difference",
  "unexplained",
  "change"
])

const styles: Readonly<Record<string, (text: string) => string>> = {
  paid: green,
  completed: green,
  delivered: green,
  active: green,
  won: green,
  failed: red,
  canceled: dim,
  expired: dim,
  lost: red,
  charged_back: red,
  pending: yellow,
  processing: yellow,
  open: yellow
}

const cell = (name: string, value: unknown): string => {
  if (value === null || value === undefined) return "–"
  if (typeof value === "number" && moneyFields.has(name)) return reais(value)
  if (typeof value === "string" && (name === "at" || name.endsWith("_at")))
    return value.replace("T", " ").replace(/\.\d+Z$/, "Z")
  if (typeof value === "string") return printable(value)
  if (isRow(value) && typeof value["name"] === "string") return printable(value["name"])
  // A destination without a Pix key is a bank account.
  if (isRow(value) && "pix_key" in value) return printable(String(value["pix_key"] ?? value["account"]))
  if (Array.isArray(value) && value.length === 0) return "–"
  if (Array.isArray(value) && value.every((each) => typeof each !== "object")) return printable(value.join(", "))
  return typeof value === "object" ? printable(JSON.stringify(value)) : String(value)
}

const styledCell = (name: string, text: string): string =>
  name === "status" || name === "state" ? (styles[text.trim()] ?? ((same: string) => same))(text) : text

/** A row of fields, and those of objects below it indented. */
export const showFields = (fields: Row, indent = ""): void => {
  const names = Object.keys(fields).filter((name) => name !== "object")
  const width = Math.max(0, ...names.map((name) => name.length))
  for (const name of names) {
    const value = fields[name]
    if (isRow(value) && Object.keys(value).length > 0) {
      write(`${indent}${dim(printable(name))}\n`)
      showFields(value, `${indent}  `)
    } else if (Array.isArray(value) && value.some(isRow)) {
      write(`${indent}${dim(printable(name))}\n`)
      showTable(value.filter(isRow), `${indent}  `)
    } else {
      write(`${indent}${dim(printable(name).padEnd(width))}  ${styledCell(name, cell(name, value))}\n`)
    }
  }
}

const WIDEST = 48

/** The columns of a kind of row: those of the table, or the first fields. */
const columnsOf = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const chosen = columns[String(rows[0]?.["object"])]
  // Of several cells, each row says its own.
  if (chosen !== undefined) return ["cell", ...chosen].filter((name) => rows.some((row) => name in row))
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => name !== "object" && rows.some((row) => !isRow(row[name]) && !Array.isArray(row[name]))
  )
  const last = names.includes("created_at") ? ["created_at"] : []
  return [...names.filter((name) => name !== "created_at").slice(0, 6), ...last]
}

/** A table with a column for each field, and with its names. Numbers are aligned to the right. */
export const showTable = (rows: ReadonlyArray<Row>, indent = "", hasHeader = true): void => {
  // The balance of an account and the summary of a request are parts of their rows.
  const flat = rows.map((row) => ({ ...Object(row["balance"]), ...Object(row["summary"]), ...row }))
  const names = columnsOf(flat)
  const cells = flat.map((row) =>
    names.map((name) => {
      const text = cell(name, row[name])
      return text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text
    })
  )
  const isNumber = names.map((name) => moneyFields.has(name) || flat.some((row) => typeof row[name] === "number"))
  const widths = names.map((name, column) => Math.max(name.length, ...cells.map((row) => row[column]!.length)))
  const aligned = (texts: ReadonlyArray<string>, style: (name: string, text: string) => string) =>
    texts
      .map((text, column) => {
        const name = names[column]!
        const width = widths[column]!
        return style(name, isNumber[column]! ? text.padStart(width) : text.padEnd(width))
      })
      .join("  ")
      .trimEnd()
  if (hasHeader) write(`${indent}${aligned(names, (_, text) => bold(text))}\n`)
  for (const row of cells) write(`${indent}${aligned(row, styledCell)}\n`)
}
