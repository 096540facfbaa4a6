/**
 * CNAB 240, the statement for reconciliation: records of 240 columns, of which segment E is a line, the header of a lot has the
 * opening and its trailer the closing.
 *
 * A record whose blanks at the end were cut is completed. A lot without a trailer, or a file without one, was cut off.
 * Rules: OPR-273.
 */
import type { StatementRemark } from "@pix-payments/domain/BankStatement"
import { dayAfter } from "./FourLegs.ts"
import {
  accountOf,
  bankOf,
  type Balance,
  cleaned,
  dayOf,
  daysOfLines,
  endToEndIdIn,
  isBalance,
  isReal,
  latestOf,
  LINES_OF_A_TURN,
  type Statement,
  type StatementLine,
  type UnreadLine
} from "./StatementParts.ts"

/** The statement, or why the file is none. */
export function* readCnab240(text: string): Generator<void, Statement | string> {
  const lines: Array<StatementLine> = []
  const unread: Array<UnreadLine> = []
  const problems: Array<StatementRemark> = []
  const accounts = new Set<string>()
  const lots: Array<Lot> = []
  let bank: string | null = null
  let lot = newLot()
  const records = recordsOf(text)
  const isEnded = records.some((record) => record[KIND] === "9")
  for (const [index, record] of records.entries()) {
    if (record.trim() === "") continue
    const line = index + 1
    if (line % LINES_OF_A_TURN === 0) yield
    const name = (reason: StatementRemark) => unread.push({ line, reason, text: cleaned(record) })
    // Without a line's end behind it, the record may lack more than blanks.
    if (!isEnded && line === records.length && record.length < COLUMNS) {
      name("the file ends within it")
      continue
    }
    const kind = record[KIND]
    if (kind === "0" || kind === "9") continue
    if (kind === "1") lots.push((lot = newLot()))
    if (kind === "5") lot.isEnded = true
    lot.records++
    if (record.length > COLUMNS && record.slice(COLUMNS).trim() !== "") {
      name(`it has ${record.length} columns instead of ${COLUMNS}`)
      continue
    }
    const at = columnsOf(record.padEnd(COLUMNS))
    if (kind === "1") {
      accounts.add(accountOf(at(59, 71)) ?? "")
      bank = bankOf(at(1, 3))
      if (!isReal(at(171, 173))) return "it is not in reais"
      const read = balanceAt(at)
      if (read === undefined) problems.push(`line ${line}: the opening balance cannot be read`)
      lot.opening = read ?? null
    } else if (kind === "5") {
      const read = balanceAt(at)
      if (read === undefined) problems.push(`line ${line}: the closing balance cannot be read`)
      lot.closing = read ?? lot.closing
      // Some banks count the lines only.
      const counted = centsIn(at(171, 176)) ?? 0
      if (counted > lot.records) {
        problems.push(`line ${line}: it counts ${counted} records, and its lot has ${lot.records}`)
      }
      const said = { debits: centsIn(at(177, 194)), credits: centsIn(at(195, 212)) }
      for (const side of ["debits", "credits"] as const) {
        if (said[side] === lot[side] || said[side] === 0) continue
        problems.push(
          said[side] === undefined
            ? `line ${line}: its ${side} cannot be read`
            : `line ${line}: its ${side} are ${said[side]} cents, and those of the lines ${lot[side]} cents`
        )
      }
    } else if (kind === "3" && at(14, 14).toUpperCase() === "E") {
      const read = lineOf(at, line)
      if (typeof read === "string") name(read)
      else {
        lines.push(read)
        lot.lines.push(read)
        if (read.amount < 0) lot.debits -= read.amount
        else lot.credits += read.amount
      }
    } else name("it is no record of a statement")
  }
  if (accounts.size > 1) return "it has several accounts"
  if (accounts.size === 0 && lines.length === 0) return "it has no lot of a statement"
  const isWhole = lots.every(({ isEnded }) => isEnded)
  if (!isEnded || !isWhole) problems.push("it ends before its end")
  const parts = lots.map(daysOfLot)
  const from = parts.flatMap(({ from }) => from ?? []).toSorted()[0]
  const to = parts
    .flatMap(({ to }) => to ?? [])
    .toSorted()
    .at(-1)
  const isReversed = from !== undefined && to !== undefined && from > to
  if (isReversed) problems.push("its days cannot be read")
  const [account = null] = accounts
  return {
    format: "cnab240",
    bank,
    account,
    ...(from === undefined || to === undefined || isReversed ? daysOfLines(lines) : { from, to }),
    opening: parts.flatMap(({ opening }) => opening ?? []).toSorted((a, b) => a.day.localeCompare(b.day))[0] ?? null,
    closing: isWhole ? latestOf(lots.map(({ closing }) => closing)) : null,
    lines,
    unread,
    problems
  }
}

interface Lot {
  opening: Balance | null
  closing: Balance | null
  isEnded: boolean
  records: number
  debits: number
  credits: number
  readonly lines: Array<StatementLine>
}

const newLot = (): Lot => ({
  opening: null,
  closing: null,
  isEnded: false,
  records: 0,
  debits: 0,
  credits: 0,
  lines: []
})

/** Some banks date the opening by the day before: where no line is of its day and the lot goes on, it is the opening of the next. */
const daysOfLot = ({ closing, lines, opening }: Lot) => {
  const { from: first, to: last } = daysOfLines(lines)
  const to = closing?.day ?? last
  const next = first ?? to
  if (opening === null || next === null || opening.day >= next) return { from: opening?.day ?? first, to, opening }
  const from = dayAfter(opening.day, 1)
  return { from, to, opening: { ...opening, day: first ?? from } }
}

/** The records of a file, which may be without line breaks. */
const recordsOf = (text: string): ReadonlyArray<string> => {
  // Some files end with the end-of-file mark of DOS.
  const records = text.replaceAll("\u001a", "").split(/\r\n|\n|\r/)
  const [only = "", ...others] = records.filter((record) => record.trim() !== "")
  if (others.length > 0 || only.length % COLUMNS !== 0) return records
  return Array.from({ length: only.length / COLUMNS }, (_, index) => only.slice(index * COLUMNS, (index + 1) * COLUMNS))
}

const COLUMNS = 240

/** Of the kind of a record, from 0. */
const KIND = 7

/** The text of columns, from 1 as the document counts them. */
type ColumnsOf = (from: number, to: number) => string

const columnsOf =
  (record: string): ColumnsOf =>
  (from, to) =>
    record.slice(from - 1, to)

const lineOf = (at: ColumnsOf, line: number): StatementLine | StatementRemark => {
  const history = at(177, 201)
  const document = at(202, 240)
  const description = cleaned(`${history} ${document}`)
  const endToEndId = endToEndIdIn(document, at(114, 133) + history, `${history}${document}`)
  if (endToEndId === null && isBalance(history)) return "it is a balance, not a movement"
  const cents = centsIn(at(151, 168))
  const day = dayAt(at(143, 150))
  const side = at(169, 169).toUpperCase()
  if (cents === undefined) return "its amount cannot be read"
  if (day === undefined) return "its day cannot be read"
  if (side !== "D" && side !== "C") return "it says neither debit nor credit"
  if (cents === 0) return "it moves nothing"
  return {
    line,
    day,
    amount: side === "D" ? -cents : cents,
    description,
    endToEndId,
    bankId: cleaned(document, 64) || null
  }
}

const balanceAt = (at: ColumnsOf): Balance | undefined => {
  const cents = centsIn(at(151, 168))
  const day = dayAt(at(143, 150))
  if (cents === undefined || day === undefined) return undefined
  return { day, amount: at(169, 169).toUpperCase() === "D" && cents !== 0 ? -cents : cents }
}

/** Cents of digits; blanks are none. */
const centsIn = (text: string): number | undefined => {
  const digits = text.trim()
  if (digits === "") return 0
  if (!/^\d+$/.test(digits)) return undefined
  const cents = Number(digits)
  return Number.isSafeInteger(cents) ? cents : undefined
}

/** `ddmmyyyy`. */
const dayAt = (text: string): string | undefined =>
  /^\d{8}$/.test(text) ? dayOf(`${text.slice(4)}${text.slice(2, 4)}${text.slice(0, 2)}`) : undefined
