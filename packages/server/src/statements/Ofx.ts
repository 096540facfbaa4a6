/**
 * OFX as banks write it: 1.x with missing end tags, and 2.x.
 *
 * A value is the text between a tag and the next one, which reads both. Rules: OPR-273.
 */
import type { StatementRemark } from "@pix-payments/domain/BankStatement"
import {
  accountOf,
  bankOf,
  type Balance,
  centsOf,
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
export function* readOfx(text: string): Generator<void, Statement | string> {
  const { accounts, balance, bank, currencies, hasCard, range, transactions } = yield* elementsOf(text)
  if (hasCard) return "it is the statement of a card"
  if (currencies.some((each) => each !== "BRL")) return "it is not in reais"
  if (accounts.size > 1) return "it has several accounts"
  const hasSigns = transactions.some(
    ({ fields }) => isDebit(fields["TRNAMT"] ?? "") && !isBalance(descriptionOf(fields))
  )
  const lines: Array<StatementLine> = []
  const unread: Array<UnreadLine> = []
  for (const [index, transaction] of transactions.entries()) {
    if (index % LINES_OF_A_TURN === 0) yield
    const read = lineOf(transaction, hasSigns)
    if ("reason" in read) unread.push(read)
    else lines.push(read)
  }
  const [account = null] = accounts
  const repeated = repeatedIn(lines)
  const days = lines.map(({ day }) => day).toSorted()
  const [from, to] = [dayOf(range.from), dayOf(range.to)]
  const problems: Array<StatementRemark> = []
  if (from === undefined || to === undefined) problems.push("its days cannot be read")
  if (balance.BALAMT !== undefined && balanceOf(balance) === null) problems.push("its closing balance cannot be read")
  return {
    format: "ofx",
    bank,
    account,
    from: from ?? days[0] ?? null,
    to: to ?? days.at(-1) ?? null,
    opening: null,
    closing: balanceOf(balance),
    lines: lines.filter((line) => !repeated.has(line)),
    unread: [
      ...unread,
      ...[...repeated].map(([{ description, line }, first]) => ({
        line,
        reason: `it repeats line ${first.line}: the same id, day, amount and text` as const,
        text: description
      }))
    ],
    problems
  }
}

interface Transaction {
  readonly line: number
  readonly fields: Record<string, string>
}

const descriptionOf = ({ MEMO = "", NAME = "" }: Transaction["fields"]): string =>
  cleaned([NAME, MEMO].filter((each) => each !== "").join(" "))

const lineOf = ({ fields, line }: Transaction, hasSigns: boolean): StatementLine | UnreadLine => {
  const { CHECKNUM = "", DTPOSTED = "", FITID = "", MEMO = "", NAME = "", TRNAMT = "", TRNTYPE = "" } = fields
  const description = descriptionOf(fields)
  const problem = (reason: StatementRemark): UnreadLine => ({
    line,
    reason,
    text: cleaned(`${DTPOSTED} ${TRNAMT} ${description}`)
  })
  if (isBalance(description)) return problem("it is a balance, not a movement")
  const amount = centsOf(TRNAMT)
  const day = dayOf(DTPOSTED)
  if (amount === undefined) return problem("its amount cannot be read")
  if (day === undefined) return problem("its day cannot be read")
  if (amount === 0) return problem("it moves nothing")
  const type = TRNTYPE.toUpperCase()
  if (!hasSigns && !TRNAMT.includes("+") && !outgoing.has(type) && !incoming.has(type))
    return problem("its amount has no sign, and its type does not say which way it went")
  return {
    line,
    day,
    // Where no amount has a sign, the type says which way.
    amount: !hasSigns && outgoing.has(type) ? -amount : amount,
    description,
    endToEndId: endToEndIdIn(MEMO, NAME, FITID, CHECKNUM, fields["REFNUM"] ?? ""),
    bankId: cleaned(FITID, 64) || null
  }
}

/** `-0.00` is no sign of how a file writes debits. */
const isDebit = (amount: string): boolean => /^\s*-/.test(amount) && /[1-9]/.test(amount)

/** The types that say which way money went. Interest, a transfer, and what a bank calls its own may be either. */
const outgoing = new Set(["DEBIT", "PAYMENT", "REPEATPMT", "FEE", "SRVCHG", "CHECK", "DIRECTDEBIT"])
const incoming = new Set(["CREDIT", "DEP", "DIRECTDEP", "DIV"])

/** Lines that a file has twice, with the first of each. An id that also names another line of the file says nothing. */
const repeatedIn = (lines: ReadonlyArray<StatementLine>): ReadonlyMap<StatementLine, StatementLine> => {
  const byId = Map.groupBy(
    lines.filter(({ bankId }) => bankId !== null),
    ({ bankId }) => bankId
  )
  const contentOf = ({ amount, day, description }: StatementLine) => `${day} ${amount} ${description}`
  const isTrusted = [...byId.values()].every((same) => new Set(same.map(contentOf)).size === 1)
  if (!isTrusted) return new Map()
  return new Map([...byId.values()].flatMap(([first, ...others]) => others.map((line) => [line, first!] as const)))
}

const balanceOf = ({ BALAMT = "", DTASOF = "" }: Record<string, string | undefined>): Balance | null => {
  const amount = centsOf(BALAMT)
  const day = dayOf(DTASOF)
  return amount === undefined || day === undefined ? null : { day, amount }
}

/** The parts of the file that matter, in one pass over its tags. */
function* elementsOf(text: string) {
  const transactions: Array<Transaction> = []
  const accounts = new Set<string>()
  const currencies: Array<string> = []
  const balance: Record<string, string> = {}
  const range = { from: "", to: "" }
  let bank: string | null = null
  let hasCard = false
  let current: Transaction | undefined
  let inBalance = false
  let line = 1
  let counted = 0
  for (const match of text.matchAll(/<(\/?)([A-Za-z][\w.]*)\s*>([^<]*)/g)) {
    const [, slash, name = "", raw = ""] = match
    const tag = name.toUpperCase()
    const value = unescaped(raw).trim()
    for (; counted < match.index; counted++) if (text.charCodeAt(counted) === LINE_FEED) line++
    if (tag === "STMTTRN") {
      current = slash === "" ? { line, fields: {} } : undefined
      if (current !== undefined) {
        transactions.push(current)
        if (transactions.length % LINES_OF_A_TURN === 0) yield
      }
    } else if (tag === "BANKTRANLIST" || tag === "STMTRS") current = undefined
    else if (tag === "LEDGERBAL" || tag === "AVAILBAL") {
      current = undefined
      inBalance = tag === "LEDGERBAL" && slash === ""
    } else if (tag.startsWith("CCSTMT")) hasCard = true
    else if (slash !== "" || value === "") continue
    else if (current !== undefined) current.fields[tag] ??= value
    else if (inBalance) balance[tag] ??= value
    else if (tag === "BANKID") bank ??= bankOf(value)
    else if (tag === "ACCTID") accounts.add(accountOf(value) ?? "")
    else if (tag === "CURDEF") currencies.push(value.toUpperCase())
    else if (tag === "DTSTART") range.from = value
    else if (tag === "DTEND") range.to = value
  }
  return { transactions, accounts, bank, currencies, balance, range, hasCard }
}

const LINE_FEED = 10

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

const unescaped = (text: string): string =>
  text.replace(/&(#\d{1,6}|[a-z]+);/gi, (whole, name: string) =>
    name.startsWith("#") ? pointOf(Number(name.slice(1))) : (entities[name.toLowerCase()] ?? whole)
  )

const pointOf = (point: number): string => (point <= 0x10ffff ? String.fromCodePoint(point) : "")
