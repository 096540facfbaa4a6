/**
 * Statements as OFX: 1.02 (SGML in Windows-1252) and 2.2 (XML in UTF-8).
 *
 * Guarantees:
 * - `FITID` is the id of the transfer. `MEMO` is unique: it ends in the end-to-end id, or in the id where there is none.
 * - `DTPOSTED` is noon of the day: programs that convert it to another zone keep the day. `MEMO` has the true time in the installation's zone.
 * - Lines are those that moved the balance, and `LEDGERBAL` is the balance after the last one.
 */
import * as DateTime from "effect/DateTime"
import { describe, type Format, reais, type StatementFacts, type StatementLine } from "./Format.ts"

export const ofx1: Format = {
  ...formatWith(
    `OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

`.replaceAll("\n", "\r\n")
  ),
  contentType: "application/x-ofx; charset=windows-1252",
  encode: (text) => toWindows1252(text)
}

export const ofx2: Format = formatWith(
  `<?xml version="1.0" encoding="UTF-8" standalone="no"?>\r\n<?OFX OFXHEADER="200" VERSION="220" SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>\r\n`
)

function formatWith(header: string): Format {
  return {
    contentType: "application/x-ofx; charset=utf-8",
    extension: "ofx",
    isComplete: false,
    begin: (facts) => header + lines(opening(facts)),
    line: (line) => lines(transaction(line)),
    end: ({ closing }, { to }) =>
      lines([
        "</BANKTRANLIST>",
        `<LEDGERBAL><BALAMT>${reais(closing)}</BALAMT><DTASOF>${noon(to)}</DTASOF></LEDGERBAL>`,
        "</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
      ])
  }
}

const opening = ({ bank, from, madeAtMs, to }: StatementFacts): ReadonlyArray<string> => [
  "<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>",
  `<DTSERVER>${instant(madeAtMs)}</DTSERVER><LANGUAGE>POR</LANGUAGE></SONRS></SIGNONMSGSRSV1>`,
  "<BANKMSGSRSV1><STMTTRNRS><TRNUID>1</TRNUID><STATUS><CODE>0</CODE><SEVERITY>INFO</SEVERITY></STATUS>",
  "<STMTRS><CURDEF>BRL</CURDEF><BANKACCTFROM>",
  `<BANKID>${escaped(bank.code)}</BANKID>`,
  ...(bank.branch === "" ? [] : [`<BRANCHID>${escaped(bank.branch)}</BRANCHID>`]),
  `<ACCTID>${escaped(bank.number)}</ACCTID><ACCTTYPE>CHECKING</ACCTTYPE></BANKACCTFROM>`,
  `<BANKTRANLIST><DTSTART>${noon(from)}</DTSTART><DTEND>${noon(to)}</DTEND>`
]

const transaction = (of: StatementLine): ReadonlyArray<string> => {
  const { transaction: line } = of
  return [
    `<STMTTRN><TRNTYPE>${line.net < 0 ? "DEBIT" : "CREDIT"}</TRNTYPE>`,
    `<DTPOSTED>${noon(line.day)}</DTPOSTED><TRNAMT>${reais(line.net)}</TRNAMT>`,
    `<FITID>${line.id}</FITID><MEMO>${escaped(memoOf(of))}</MEMO></STMTTRN>`
  ]
}

/** Unique, and the same in each export: a payout of an account has its end-to-end id later than its line. */
const memoOf = ({ at, transaction: line }: StatementLine): string => {
  const endToEndId = line.type === "payout" && line.balance_after !== null ? null : line.end_to_end_id
  const end = [at, endToEndId, line.id.slice(-8)].filter(Boolean).join(" ")
  return `${describe(line)
    .replace(/\s+/g, " ")
    .slice(0, 254 - end.length)} ${end}`
}

const noon = (day: string): string => `${day.replaceAll("-", "")}120000[-3:BRT]`

const instant = (ms: number): string =>
  `${DateTime.formatIso(DateTime.makeUnsafe(ms)).replace(/[-:T]/g, "").slice(0, 14)}[0:GMT]`

const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    // XML has none of these.
    .replace(/[\p{Cc}\uFFFE\uFFFF]/gu, " ")

const lines = (all: ReadonlyArray<string>): string => all.map((line) => `${line}\r\n`).join("")

/** Characters of Windows-1252 that have another code than in Unicode. */
const codes = new Map(
  [..."€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"].map((character, index) => [
    character,
    [
      0x80, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8e, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96,
      0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c, 0x9e, 0x9f
    ][index]!
  ])
)

/** Letters that it lacks lose their accents; other characters become `?`. */
const toWindows1252 = (text: string): Uint8Array =>
  Uint8Array.from([...text.normalize("NFC")].flatMap((character) => codeOf(character) ?? foldedCode(character)))

const foldedCode = (character: string): number => codeOf(character.normalize("NFD").slice(0, 1)) ?? 0x3f

const codeOf = (character: string): number | undefined => {
  const code = character.codePointAt(0)!
  return code < 0x80 || (code >= 0xa0 && code <= 0xff) ? code : codes.get(character)
}
