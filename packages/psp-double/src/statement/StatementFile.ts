/**
 * A bank's statement file, as correct or as broken as banks write it.
 *
 * Guarantees: each booked line of the days is in the file once, or twice where the dialect repeats it. The rest is the dialect's.
 */
import { formatInstant } from "@pix-payments/domain/Instant"
import type { BookedLine } from "./BookedLines.ts"

export interface Dialect {
  readonly format: "ofx1" | "ofx2" | "cnab240"
  readonly encoding: "windows-1252" | "utf-8"
  /** Of values, in OFX 1. */
  readonly endTags: boolean
  /** `1.234,56` instead of `1234.56`. */
  readonly comma: boolean
  /** Debits have no sign, and the type says it. */
  readonly unsigned: boolean
  /** All lines of a day have the same id. */
  readonly sharedIds: boolean
  /** A line is in the file twice. */
  readonly repeats: boolean
  /** Balances are among the lines. */
  readonly balances: boolean
  /** Cents by which the totals are wrong. */
  readonly wrongBy: number
  /** Text in front of the first tag, and empty lines. */
  readonly noise: boolean
}

export const tidy: Dialect = {
  format: "ofx1",
  encoding: "windows-1252",
  endTags: true,
  comma: false,
  unsigned: false,
  sharedIds: false,
  repeats: false,
  balances: false,
  wrongBy: 0,
  noise: false
}

export interface StatementOf {
  readonly bank: string
  readonly branch: string
  readonly account: string
  /** `yyyy-mm-dd`, both inclusive. */
  readonly from: string
  readonly to: string
  /** Cents before the first line of the bank. */
  readonly openingCents: number
  readonly lines: ReadonlyArray<BookedLine>
}

/** A day in Brasília, three hours behind UTC. */
export const bankDay = (atMs: number): string => formatInstant(atMs - 3 * 3_600_000).slice(0, 10)

export const statementFile = (of: StatementOf, dialect: Dialect): Uint8Array => {
  const before = of.lines.filter(({ atMs }) => bankDay(atMs) < of.from)
  const lines = of.lines.filter(({ atMs }) => bankDay(atMs) >= of.from && bankDay(atMs) <= of.to)
  const opening = of.openingCents + sumOf(before)
  const written = { ...of, opening, closing: opening + sumOf(lines) + dialect.wrongBy, lines }
  const text = dialect.format === "cnab240" ? cnab(written, dialect) : ofx(written, dialect)
  return encoded(text, dialect)
}

interface Written extends StatementOf {
  readonly opening: number
  readonly closing: number
}

const sumOf = (lines: ReadonlyArray<BookedLine>): number => lines.reduce((sum, { cents }) => sum + cents, 0)

const encoded = (text: string, { encoding }: Dialect): Uint8Array =>
  // The texts have no character beyond Latin-1, in which Windows-1252 is the same.
  Buffer.from(text, encoding === "utf-8" ? "utf8" : "latin1")

const amountOf = (cents: number, comma: boolean): string => {
  const text = `${Math.floor(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, "0")}`
  const grouped = text.replace(".", ",").replace(/\B(?=(\d{3})+,)/g, ".")
  return `${cents < 0 ? "-" : ""}${comma ? grouped : text}`
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const ofx = ({ account, bank, branch, closing, from, lines, opening, to }: Written, dialect: Dialect): string => {
  const { balances, comma, endTags, format, noise, repeats, sharedIds, unsigned } = dialect
  const value = (tag: string, text: string) =>
    `<${tag}>${escaped(text)}${format === "ofx2" || endTags ? `</${tag}>` : ""}\r\n`
  const compact = (day: string) => day.replaceAll("-", "")
  const transaction = (day: string, cents: number, id: string, memo: string) =>
    `<STMTTRN>\r\n${value("TRNTYPE", cents < 0 ? "DEBIT" : "CREDIT")}${value("DTPOSTED", `${compact(day)}120000[-3:BRT]`)}${value(
      "TRNAMT",
      amountOf(unsigned ? Math.abs(cents) : cents, comma)
    )}${value("FITID", id)}${value("MEMO", memo)}</STMTTRN>\r\n`
  const booked = lines.map(({ atMs, cents, endToEndId, text }, index) => {
    const day = bankDay(atMs)
    return transaction(day, cents, sharedIds ? compact(day) : `${compact(day)}${index}`, `${text} ${endToEndId}`.trim())
  })
  const all = [
    ...(balances ? [transaction(from, opening, "0", "SALDO ANTERIOR")] : []),
    ...booked,
    ...(repeats && booked.length > 0 ? [booked[0]!] : []),
    ...(balances ? [transaction(to, closing, "0", "SALDO DO DIA")] : [])
  ]
  const header =
    format === "ofx2"
      ? `<?xml version="1.0" encoding="UTF-8"?>\r\n<?OFX OFXHEADER="200" VERSION="220"?>\r\n`
      : `OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nENCODING:USASCII\r\nCHARSET:1252\r\n\r\n`
  return `${noise ? "\r\n\r\n" : ""}${header}<OFX>\r\n<BANKMSGSRSV1><STMTTRNRS><STMTRS>\r\n${value("CURDEF", "BRL")}<BANKACCTFROM>\r\n${value(
    "BANKID",
    bank
  )}${value("BRANCHID", branch)}${value("ACCTID", account)}${value("ACCTTYPE", "CHECKING")}</BANKACCTFROM>\r\n<BANKTRANLIST>\r\n${value(
    "DTSTART",
    compact(from)
  )}${value("DTEND", compact(to))}${all.join(noise ? "\r\n\r\n" : "")}</BANKTRANLIST>\r\n<LEDGERBAL>\r\n${value(
    "BALAMT",
    amountOf(closing, comma)
  )}${value("DTASOF", compact(to))}</LEDGERBAL>\r\n</STMTRS></STMTTRNRS></BANKMSGSRSV1>\r\n</OFX>\r\n`
}

const cnab = ({ account, bank, branch, closing, from, lines, opening, to }: Written, dialect: Dialect): string => {
  const field = (text: string, width: number) => text.slice(0, width).padEnd(width)
  const digits = (number: number | string, width: number) => String(number).padStart(width, "0").slice(-width)
  const dayField = (day: string) => day.split("-").toReversed().join("")
  const money = (cents: number) => `${digits(Math.abs(cents), 18)}${cents < 0 ? "D" : "C"}`
  const holder = `2${digits("11222333000181", 14)}${field("", 20)}${digits(branch, 5)} ${digits(account.replace(/\D/g, "").slice(0, -1), 12)}${account.slice(-1)} ${field("LOJA EXEMPLO LTDA", 30)}`
  const record = (parts: string) => field(parts, 240)
  const segment = (day: string, cents: number, history: string, document: string, index: number) =>
    record(
      `${bank}00013${digits(index, 5)}E   ${holder}${field("", 6)}${field("DPV", 3)}00${field("", 20)}N${dayField(day)}${dayField(day)}${money(cents)}${field("213", 3)}${field("0", 4)}${field(history, 25)}${field(document, 39)}`
    )
  const booked = lines.map(({ atMs, cents, endToEndId, text }, index) =>
    segment(bankDay(atMs), cents, text, endToEndId, index + 1)
  )
  const debits = -sumOf(lines.filter(({ cents }) => cents < 0))
  const credits = sumOf(lines.filter(({ cents }) => cents > 0)) + dialect.wrongBy
  const records = [
    record(`${bank}00000${field("", 9)}${holder}`),
    record(`${bank}00011E0440033 ${holder}${field("", 40)}${dayField(from)}${money(opening)}FBRL00001`),
    ...(dialect.balances ? [segment(from, opening, "SALDO ANTERIOR", "", 0)] : []),
    ...booked,
    record(
      `${bank}00015${field("", 9)}${holder.slice(0, 55)}${field("", 16)}${digits(0, 54)}${dayField(to)}${money(closing)}F${digits(booked.length + 2, 6)}${digits(debits, 18)}${digits(credits, 18)}`
    ),
    record(`${bank}99999${field("", 9)}000001${digits(booked.length + 4, 6)}`)
  ]
  return `${records.map((each) => (dialect.noise ? each.trimEnd() : each)).join("\r\n")}\r\n${dialect.noise ? "\u001a" : ""}`
}
