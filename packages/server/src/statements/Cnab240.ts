/**
 * CNAB 240, the statement for reconciliation: records of 240 columns, of which segment E is a line, the header of a lot has the
 * opening and its trailer the closing.
 *
 * A record whose blanks at the end were cut is completed. Rules: OPR-273.
 */
import type { StatementRemark } from "@pix-payments/domain/BankStatement"
import {
  accountOf,
  bankOf,
  type Balance,
  cleaned,
  dayOf,
  endToEndIdIn,
  isBalance,
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
  let bank: string | null = null
  let opening: Balance | null = null
  let closing: Balance | null = null
  let lotSum = { debits: 0, credits: 0 }
  for (const [index, raw] of text.split(/\r\n|\n|\r/).entries()) {
    // Some files end with the end-of-file mark of DOS.
    const record = raw.replaceAll("\u001a", "")
    if (record.trim() === "") continue
    const line = index + 1
    if (line % LINES_OF_A_TURN === 0) yield
    const name = (reason: StatementRemark) => unread.push({ line, reason, text: cleaned(record) })
    if (record.length > COLUMNS && record.slice(COLUMNS).trim() !== "") {
      name(`it has ${record.length} columns instead of ${COLUMNS}`)
      continue
    }
    const at = columnsOf(record.padEnd(COLUMNS))
    const kind = at(8, 8)
    if (kind === "0" || kind === "9") continue
    if (kind === "1") {
      accounts.add(accountOf(at(59, 71)) ?? "")
      bank = bankOf(at(1, 3))
      lotSum = { debits: 0, credits: 0 }
      const read = balanceAt(at)
      if (read === undefined) problems.push(`line ${line}: the opening balance cannot be read`)
      opening ??= read ?? null
    } else if (kind === "5") {
      const read = balanceAt(at)
      if (read === undefined) problems.push(`line ${line}: the closing balance cannot be read`)
      closing = read ?? closing
      const said = { debits: centsIn(at(177, 194)), credits: centsIn(at(195, 212)) }
      for (const side of ["debits", "credits"] as const) {
        if (said[side] === lotSum[side] || said[side] === 0) continue
        problems.push(
          said[side] === undefined
            ? `line ${line}: its ${side} cannot be read`
            : `line ${line}: its ${side} are ${said[side]} cents, and those of the lines ${lotSum[side]} cents`
        )
      }
    } else if (kind === "3" && at(14, 14).toUpperCase() === "E") {
      const read = lineOf(at, line)
      if (typeof read === "string") name(read)
      else {
        lines.push(read)
        if (read.amount < 0) lotSum.debits -= read.amount
        else lotSum.credits += read.amount
      }
    } else name("it is no record of a statement")
  }
  if (accounts.size > 1) return "it has several accounts"
  if (accounts.size === 0 && lines.length === 0) return "it has no lot of a statement"
  const days = lines.map(({ day }) => day).toSorted()
  const [account = null] = accounts
  return {
    format: "cnab240",
    bank,
    account,
    from: opening?.day ?? days[0] ?? null,
    to: closing?.day ?? days.at(-1) ?? null,
    opening,
    closing,
    lines,
    unread,
    problems
  }
}

const COLUMNS = 240

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
  if (isBalance(history)) return "it is a balance, not a movement"
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
    endToEndId: endToEndIdIn(document, at(114, 133) + history, `${history}${document}`),
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
