/**
 * OFX as banks write it: 1.x with missing end tags, and 2.x.
 *
 * A value is the text between a tag and the next one, which reads both. Banks leave out the end tags of values, never `</OFX>`: a file
 * without it was cut off. Rules: OPR-273.
 */
import type { StatementRemark } from "@pix-payments/domain/BankStatement"
import {
  accountOf,
  bankOf,
  type Balance,
  centsOf,
  cleaned,
  dayOf,
  daysOfLines,
  endToEndIdIn,
  isBalance,
  isOnlyBalance,
  isReal,
  latestOf,
  LINES_OF_A_TURN,
  type Statement,
  type StatementLine,
  type UnreadLine
} from "./StatementParts.ts"

/** The statement, or why the file is none. */
export function* readOfx(text: string): Generator<void, Statement | string> {
  const { balances, cut, hasCard, hasStatement, isEnded, said, transactions } = yield* elementsOf(withoutCdata(text))
  if (hasCard) return "it is the statement of a card"
  if (!hasStatement) return "it has no statement"
  if (!said("CURDEF").every(isReal)) return "it is not in reais"
  const isOne = (tag: string) => new Set(said(tag).map(accountOf)).size <= 1
  if (!["BRANCHID", "ACCTID", "ACCTTYPE"].every(isOne)) return "it has several accounts"
  const signs = signsOf(transactions)
  const lines: Array<StatementLine> = []
  const unread: Array<UnreadLine> = []
  for (const [index, transaction] of transactions.entries()) {
    if (index % LINES_OF_A_TURN === 0) yield
    const read = transaction === cut ? unreadOf(transaction, "the file ends within it") : lineOf(transaction, signs)
    if ("reason" in read) unread.push(read)
    else lines.push(read)
  }
  const repeated = repeatedIn(lines)
  const days = rangeOf(said("DTSTART"), said("DTEND"))
  const closings = isEnded ? balances.map(balanceOf) : []
  const problems: Array<StatementRemark> = []
  if (!isEnded) problems.push("it ends before its end")
  else if (days === undefined) problems.push("its days cannot be read")
  if (closings.includes(null)) problems.push("its closing balance cannot be read")
  return {
    format: "ofx",
    bank:
      said("BANKID")
        .map(bankOf)
        .find((each) => each !== null) ?? null,
    account: accountOf(said("ACCTID")[0] ?? ""),
    ...(isEnded && days !== undefined ? days : daysOfLines(lines)),
    opening: null,
    closing: latestOf(closings),
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

type Fields = Record<string, string>

interface Transaction {
  readonly line: number
  readonly fields: Fields
}

const descriptionOf = ({ MEMO = "", NAME = "" }: Fields): string =>
  cleaned([NAME, MEMO].filter((each) => each !== "").join(" "))

const idOf = ({ CHECKNUM = "", FITID = "", MEMO = "", NAME = "", REFNUM = "" }: Fields): string | null =>
  endToEndIdIn(MEMO, NAME, FITID, CHECKNUM, REFNUM)

const isMovement = (fields: Fields): boolean =>
  !(isBalance(descriptionOf(fields)) || isOnlyBalance(fields["MEMO"] ?? "")) || idOf(fields) !== null

const unreadOf = ({ fields, line }: Transaction, reason: StatementRemark): UnreadLine => ({
  line,
  reason,
  text: cleaned(`${fields["DTPOSTED"] ?? ""} ${fields["TRNAMT"] ?? ""} ${descriptionOf(fields)}`)
})

const lineOf = (transaction: Transaction, signs: Signs): StatementLine | UnreadLine => {
  const { fields, line } = transaction
  if (!isMovement(fields)) return unreadOf(transaction, "it is a balance, not a movement")
  const cents = centsOf(fields["TRNAMT"] ?? "")
  const day = dayOf(fields["DTPOSTED"] ?? "")
  if (cents === undefined) return unreadOf(transaction, "its amount cannot be read")
  if (day === undefined) return unreadOf(transaction, "its day cannot be read")
  if (cents === 0) return unreadOf(transaction, "it moves nothing")
  const amount = signed(cents, fields, signs)
  if (typeof amount === "string") return unreadOf(transaction, amount)
  return {
    line,
    day,
    amount,
    description: descriptionOf(fields),
    endToEndId: idOf(fields),
    bankId: cleaned(fields["FITID"] ?? "", 64) || null
  }
}

/** How a file writes debits. */
interface Signs {
  readonly hasMinus: boolean
  readonly hasUnsignedDebit: boolean
}

const signsOf = (transactions: ReadonlyArray<Transaction>): Signs => {
  // A sign of nothing, as `-0.00`, says nothing.
  const movements = transactions.filter(({ fields }) => isMovement(fields) && /[1-9]/.test(fields["TRNAMT"] ?? ""))
  return {
    hasMinus: movements.some(({ fields }) => fields["TRNAMT"]?.startsWith("-")),
    hasUnsignedDebit: movements.some(
      ({ fields }) => !/^[+-]/.test(fields["TRNAMT"] ?? "") && debits.has(typeOf(fields))
    )
  }
}

/** The amount with the sign that the file says, or why it says none. */
const signed = (cents: number, fields: Fields, { hasMinus, hasUnsignedDebit }: Signs): number | StatementRemark => {
  const type = typeOf(fields)
  if (/^[+-]/.test(fields["TRNAMT"] ?? "")) return cents
  if (debits.has(type)) return hasMinus ? "it is a debit without a minus sign, in a file that has minus signs" : -cents
  const isLikeDebit = hasUnsignedDebit && mostlyDebits.has(type)
  if (isLikeDebit && !hasMinus) return -cents
  if (credits.has(type) || (hasMinus && !isLikeDebit)) return cents
  return "its amount has no sign, and its type does not say which way it went"
}

const typeOf = ({ TRNTYPE = "" }: Fields): string => TRNTYPE.toUpperCase()

/** The types that say which way money went. Interest, a transfer, and what a bank calls its own may be either. */
const debits = new Set(["DEBIT", "OUT"])
const credits = new Set(["CREDIT", "IN", "DEP", "DIRECTDEP", "DIV"])
/** Banks write some of these for money that came in, too. */
const mostlyDebits = new Set(["PAYMENT", "REPEATPMT", "FEE", "SRVCHG", "CHECK", "DIRECTDEBIT"])

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

/** From the first day to the last one, of all lists of the file. */
const rangeOf = (starts: ReadonlyArray<string>, ends: ReadonlyArray<string>) => {
  const daysOf = (texts: ReadonlyArray<string>) => [...new Set(texts)].map(dayOf)
  const [froms, tos] = [daysOf(starts), daysOf(ends)]
  if (froms.includes(undefined) || tos.includes(undefined)) return undefined
  const [from, to] = [froms.toSorted()[0], tos.toSorted().at(-1)]
  return from !== undefined && to !== undefined && from <= to ? { from, to } : undefined
}

const balanceOf = ({ BALAMT = "", DTASOF = "" }: Fields): Balance | null => {
  const amount = centsOf(BALAMT)
  const day = dayOf(DTASOF)
  return amount === undefined || day === undefined ? null : { day, amount }
}

/** The parts of the file that matter, in one pass over its tags. */
function* elementsOf(text: string) {
  const transactions: Array<Transaction> = []
  const balances: Array<Fields> = []
  const others: Record<string, Array<string>> = {}
  let [hasCard, hasStatement, isEnded] = [false, false, false]
  /** The transaction or balance that values are of. */
  let current: Fields | undefined
  let line = 1
  let counted = 0
  let tags = 0
  for (const match of text.matchAll(/<(\/?)([A-Za-z][\w.]*)\s*>([^]*?)(?=<[/!A-Za-z]|$)/g)) {
    if (++tags % LINES_OF_A_TURN === 0) yield
    const [, slash, name = "", raw = ""] = match
    const tag = name.toUpperCase()
    const value = unescaped(raw).trim()
    for (; counted < match.index; counted++) if (text.charCodeAt(counted) === LINE_FEED) line++
    if (tag === "OFX") isEnded = slash !== ""
    else if (tag === "BANKTRANLIST" || tag === "STMTRS") {
      current = undefined
      hasStatement = true
    } else if (tag === "STMTTRN" || tag === "LEDGERBAL" || tag === "AVAILBAL") {
      current = slash === "" ? {} : undefined
      if (current === undefined) continue
      if (tag === "LEDGERBAL") balances.push(current)
      if (tag !== "STMTTRN") continue
      hasStatement = true
      transactions.push({ line, fields: current })
    } else if (tag.startsWith("CCSTMT")) hasCard = true
    else if (slash !== "" || value === "") continue
    else if (current !== undefined) current[tag] ??= value
    else (others[tag] ??= []).push(value)
  }
  return {
    transactions,
    balances: balances.filter(({ BALAMT }) => BALAMT !== undefined),
    said: (tag: string): ReadonlyArray<string> => others[tag] ?? [],
    hasCard,
    hasStatement,
    isEnded,
    /** The transaction within which the file ends. */
    cut: isEnded ? undefined : transactions.find(({ fields }) => fields === current)
  }
}

/** With the text of CDATA sections as any other. */
const withoutCdata = (text: string): string => {
  const [before = "", ...sections] = text.split("<![CDATA[")
  return [
    before,
    ...sections.flatMap((section) => {
      const [inside = "", ...after] = section.split("]]>")
      return [inside.replaceAll("&", "&amp;").replaceAll("<", "&lt;"), after.join("]]>")]
    })
  ].join("")
}

const LINE_FEED = 10

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " }

const unescaped = (text: string): string =>
  text.replace(/&(#\d{1,6}|[a-z]+);/gi, (whole, name: string) =>
    name.startsWith("#") ? pointOf(Number(name.slice(1))) : (entities[name.toLowerCase()] ?? whole)
  )

const pointOf = (point: number): string => (point <= 0x10ffff ? String.fromCodePoint(point) : "")
