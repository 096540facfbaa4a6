/** A daily close as a row, and how the day after it begins. */
import { bigint, instant, json, nullable, text, uuid } from "../database/statements/Column.ts"
import { type Book, type ClosedDay, type DayStart, firstStart } from "./DayDigest.ts"
import { type BooksOf, type Place, startOf } from "./Lines.ts"

/** A close as it is stored. */
export interface CloseRow {
  readonly id: string
  readonly owner_id: string
  readonly book: Book
  readonly day: string
  readonly opening: bigint
  readonly credits: bigint
  readonly debits: bigint
  readonly fees: bigint
  readonly closing: bigint
  readonly lines: bigint
  readonly last_position: bigint
  readonly balances: Readonly<Record<string, number>>
  readonly lines_hash: string
  readonly previous_hash: string | null
  readonly hash: string
  readonly closed_at: Date
}

/** Where the days after a close begin. */
export const afterClose = (of: BooksOf, last: CloseRow | undefined) =>
  last === undefined
    ? { place: startOf(of, "-infinity"), start: firstStart }
    : { place: endOf(of, last), start: startAfter(last) }

/** The end of a close, with which the next day begins. */
export const startAfter = (close: CloseRow): DayStart => ({
  closing: Number(close.closing),
  balances: close.balances,
  lastPosition: Number(close.last_position),
  hash: close.hash
})

/** A close as it was computed. */
export const closedDayOf = (row: CloseRow): ClosedDay => ({
  day: row.day,
  opening: Number(row.opening),
  credits: Number(row.credits),
  debits: Number(row.debits),
  fees: Number(row.fees),
  closing: Number(row.closing),
  lines: Number(row.lines),
  lastPosition: Number(row.last_position),
  balances: row.balances,
  linesHash: row.lines_hash,
  previousHash: row.previous_hash,
  hash: row.hash
})

export const closeColumns = {
  id: uuid(),
  owner_id: uuid(),
  book: text<Book>(),
  day: { ...text(), type: "date" },
  opening: bigint(),
  credits: bigint(),
  debits: bigint(),
  fees: bigint(),
  closing: bigint(),
  lines: bigint(),
  last_position: bigint(),
  balances: { ...json<ClosedDay["balances"]>(), type: "jsonb" },
  lines_hash: text(),
  previous_hash: nullable(text()),
  hash: text(),
  closed_at: instant()
}

/** The row of a close that was computed. */
export const rowOf = <Of extends object>(
  {
    balances,
    closing,
    credits,
    day,
    debits,
    fees,
    hash,
    lastPosition,
    lines,
    linesHash,
    opening,
    previousHash
  }: ClosedDay,
  of: Of
) => ({
  ...of,
  day,
  opening,
  credits,
  debits,
  fees,
  closing,
  lines,
  last_position: lastPosition,
  balances,
  lines_hash: linesHash,
  previous_hash: previousHash,
  hash
})

export const bookOf = (of: BooksOf): Book => ("accountId" in of ? "ledger" : "bank")

export const ownerOf = (of: BooksOf): string => ("accountId" in of ? of.accountId : of.connectionId)

export const columns = `id, owner_id, book, day::text AS day, opening, credits, debits, fees, closing, lines, last_position,
  balances, lines_hash, previous_hash, hash, closed_at`

const endOf = (of: BooksOf, { day, last_position }: CloseRow): Place =>
  "accountId" in of ? { day, at: String(last_position) } : { day, at: HIGHEST }

const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
