/**
 * The BR Code: the text of a Pix QR code ("copia e cola"), EMV tag-length-value with a checksum (CHG-16).
 *
 * Guarantees
 * - A code that is built meets every limit of the Manual do BR Code. It is ASCII, so lengths in characters and bytes
 *   are equal.
 * - A code that is parsed has a valid structure and checksum.
 * - Parsing a built code returns its input.
 *
 * Why the parser ignores limits on contents: codes of real PSPs exceed them (bacen/pix-api#189).
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { foldToAscii } from "./AsciiText.ts"
import { formatReais, MAX_CENTS } from "./Cents.ts"
import { documentType } from "./Document.ts"

export type BrCodeReason =
  // when building
  | "account-missing"
  | "account-ambiguous"
  | "account-not-ascii"
  | "account-too-long"
  | "additional-info-on-dynamic"
  | "name-empty"
  | "city-empty"
  | "txid-malformed"
  | "postal-code-malformed"
  // when parsing
  | "structure"
  | "checksum"
  | "field-missing"
  | "not-pix"
  // in both cases
  | "amount"

export class BrCodeError extends Data.TaggedError("BrCodeError")<{
  readonly reason: BrCodeReason
  readonly message: string
}> {}

/** Either `payloadUrl` (dynamic: the payer's bank fetches the charge from it) or `pixKey` (static). */
export interface BrCodeInput {
  readonly payloadUrl?: string
  readonly pixKey?: string
  /** Cents. Without an amount, the payer chooses it. */
  readonly amount?: number
  readonly merchantName: string
  readonly merchantCity: string
  /** Static codes only. The payload of a dynamic code has its txid. */
  readonly txid?: string
  readonly singleUse: boolean
  readonly postalCode?: string
  /** Text for the payer. Static codes only. */
  readonly additionalInfo?: string
}

/** One element. Templates have children as well. */
export interface Tlv {
  readonly id: string
  readonly value: string
  readonly children?: ReadonlyArray<Tlv>
}

export interface BrCode {
  /** Without scheme. */
  readonly payloadUrl?: string
  readonly pixKey?: string
  readonly additionalInfo?: string
  /** The URL of a Pix Automático recurrence, without scheme. */
  readonly recurrenceUrl?: string
  /** Cents. */
  readonly amount?: number
  readonly merchantName: string
  readonly merchantCity: string
  readonly postalCode?: string
  /** Absent when the code says `***`. */
  readonly txid?: string
  readonly singleUse: boolean
  readonly tlv: ReadonlyArray<Tlv>
}

/** Builds the text of a code. Name and city are folded to ASCII and truncated to 25 and 15 characters. */
export const buildBrCode = (input: BrCodeInput): Result.Result<string, BrCodeError> => {
  const account = accountTemplate(input)
  if (Result.isFailure(account)) return Result.fail(account.failure)
  const { amount } = input
  if (amount !== undefined && !(Number.isInteger(amount) && amount > 0 && amount <= MAX_CENTS)) {
    return refuse("amount", `an amount is 1 to ${MAX_CENTS} cents`)
  }
  const name = foldToAscii(input.merchantName).slice(0, MAX_NAME).trimEnd()
  if (name === "") return refuse("name-empty", "nothing of the name is left in ASCII")
  const city = foldToAscii(input.merchantCity).slice(0, 15).trimEnd()
  if (city === "") return refuse("city-empty", "nothing of the city is left in ASCII")
  const postalCode = input.postalCode?.replaceAll("-", "")
  if (postalCode !== undefined && !/^[0-9]{8}$/.test(postalCode)) {
    return refuse("postal-code-malformed", "a postal code is 8 digits")
  }
  const txid = input.payloadUrl === undefined ? input.txid : undefined
  if (txid !== undefined && !/^[a-zA-Z0-9]{1,25}$/.test(txid)) {
    return refuse("txid-malformed", "the txid of a static code is 1 to 25 letters or digits")
  }
  const body =
    "000201" +
    (input.singleUse ? "010212" : "") +
    tlv("26", account.success) +
    "520400005303986" +
    (amount === undefined ? "" : tlv("54", formatReais(amount))) +
    "5802BR" +
    tlv("59", name) +
    tlv("60", city) +
    (postalCode === undefined ? "" : tlv("61", postalCode)) +
    tlv("62", tlv("05", txid ?? NO_TXID)) +
    "6304"
  return Result.succeed(body + hex4(crc16(body)))
}

/** Parses a code. Structure and checksum must be valid; contents may exceed their lengths. */
export const parseBrCode = (text: string): Result.Result<BrCode, BrCodeError> => {
  const root = parseTlv(text)
  const [first, last] = [root?.[0], root?.at(-1)]
  if (
    root === undefined ||
    first?.id !== "00" ||
    first.value !== "01" ||
    last?.id !== "63" ||
    last.value.length !== 4
  ) {
    return refuse("structure", "the text is not a sequence of EMV elements from 00 to 63")
  }
  const checksum = hex4(crc16(text.slice(0, -4)))
  if (text.slice(-4).toUpperCase() !== checksum) return refuse("checksum", `the checksum is not ${checksum}`)

  const elements: Array<Tlv> = []
  for (const element of root) {
    if (!isTemplate(element.id)) {
      elements.push(element)
      continue
    }
    const children = parseTlv(element.value)
    if (children === undefined) return refuse("structure", `template ${element.id} is not a sequence of EMV elements`)
    elements.push({ ...element, children })
  }

  const merchantName = find(elements, "59")
  const merchantCity = find(elements, "60")
  if (merchantName === undefined || merchantCity === undefined) {
    return refuse("field-missing", "merchant name or city is missing")
  }
  if (find(elements, "53") !== "986" || find(elements, "58") !== "BR") {
    return refuse("not-pix", "currency and country are not those of Brazil")
  }
  const account = elements.find(({ id, children }) => id >= "26" && id <= "51" && isPix(children))?.children
  if (account === undefined) return refuse("not-pix", "no account template is of br.gov.bcb.pix")
  const recurrence = elements.find(({ id, children }) => id >= "80" && isPix(children))?.children

  const written = find(elements, "54")
  const amount = written === undefined ? undefined : parseReais(written)
  if (written !== undefined && amount === undefined) return refuse("amount", `"${written}" is not an amount`)

  const txid = find(elements.find(({ id }) => id === "62")?.children, "05")
  return Result.succeed({
    ...optional("payloadUrl", find(account, "25")),
    ...optional("pixKey", find(account, "01")),
    ...optional("additionalInfo", find(account, "02")),
    ...optional("recurrenceUrl", find(recurrence, "25")),
    ...optional("amount", amount),
    merchantName,
    merchantCity,
    ...optional("postalCode", find(elements, "61")),
    ...optional("txid", txid === NO_TXID ? undefined : txid),
    singleUse: find(elements, "01") === "12",
    tlv: elements
  })
}

/**
 * CRC-16/CCITT-FALSE of the text's UTF-8 bytes: polynomial 0x1021, from 0xFFFF, nothing reflected. `before` is the CRC of a
 * text that precedes it.
 */
export const crc16 = (text: string, before = 0xffff): number => {
  let crc = before
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0x7f) return crc16Bytes(new TextEncoder().encode(text), before)
    crc = step(crc, code)
  }
  return crc
}

/**
 * The merchant name that payers see (CHG-17): the account's name in ASCII. If no letter or digit of it is left, `PIX` and
 * a part of its document, which identifies the account without revealing the whole document.
 */
export const merchantNameOf = (account: { readonly name: string; readonly document: string }): string => {
  const name = foldToAscii(account.name).slice(0, MAX_NAME).trimEnd()
  if (/[A-Za-z0-9]/.test(name)) return name
  const { document } = account
  return `PIX ${documentType(document) === "cpf" ? document.slice(3, 9) : document.slice(0, 8)}`
}

const GUI = "br.gov.bcb.pix"
const NO_TXID = "***"
const ACCOUNT_LIMIT = 99
const MAX_NAME = 25

const refuse = (reason: BrCodeReason, message: string) => Result.fail(new BrCodeError({ reason, message }))

const accountTemplate = (input: BrCodeInput): Result.Result<string, BrCodeError> => {
  const { payloadUrl, pixKey } = input
  if (payloadUrl !== undefined && pixKey !== undefined) {
    return refuse("account-ambiguous", "a code has either a payload URL or a key")
  }
  const target = payloadUrl?.replace(/^https?:\/\//i, "") ?? pixKey
  if (target === undefined || target === "") return refuse("account-missing", "a code needs a payload URL or a key")
  if (!/^[!-~]+$/.test(target)) return refuse("account-not-ascii", "URL and key are visible ASCII")
  const info = input.additionalInfo === undefined ? "" : foldToAscii(input.additionalInfo)
  if (payloadUrl !== undefined && info !== "") {
    return refuse("additional-info-on-dynamic", "a dynamic code has no additional information")
  }
  const template =
    tlv("00", GUI) + tlv(payloadUrl === undefined ? "01" : "25", target) + (info === "" ? "" : tlv("02", info))
  // Also where a part has a length of more than two digits.
  return template.length > ACCOUNT_LIMIT ? tooLong : Result.succeed(template)
}

const tooLong = refuse("account-too-long", `the account template takes ${ACCOUNT_LIMIT} characters`)

/** An element as text. */
export const tlv = (id: string, value: string): string => id + String(value.length).padStart(2, "0") + value

/** The elements, or `undefined` if the text is not a sequence of elements with distinct ids. */
const parseTlv = (text: string): ReadonlyArray<Tlv> | undefined => {
  const elements: Array<Tlv> = []
  const seen = new Set<string>()
  let at = 0
  while (at < text.length) {
    const head = text.slice(at, at + 4)
    if (!/^[0-9]{4}$/.test(head)) return undefined
    const id = head.slice(0, 2)
    const end = at + 4 + Number(head.slice(2))
    if (end > text.length || seen.has(id)) return undefined
    seen.add(id)
    elements.push({ id, value: text.slice(at + 4, end) })
    at = end
  }
  return elements
}

const isTemplate = (id: string): boolean => (id >= "26" && id <= "51") || id === "62" || id === "64" || id >= "80"

const isPix = (children: ReadonlyArray<Tlv> | undefined): boolean => find(children, "00")?.toLowerCase() === GUI

const find = (elements: ReadonlyArray<Tlv> | undefined, id: string): string | undefined =>
  elements?.find((element) => element.id === id)?.value

const parseReais = (text: string): number | undefined => {
  const [, reais, cents] = /^([0-9]{1,13})(?:\.([0-9]{0,2}))?$/.exec(text) ?? []
  return reais === undefined ? undefined : Number(reais) * 100 + Number((cents ?? "").padEnd(2, "0"))
}

const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V })

/** A checksum as text. */
export const hex4 = (value: number): string => value.toString(16).toUpperCase().padStart(4, "0")

const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

const step = (crc: number, byte: number): number => ((crc << 8) & 0xffff) ^ (crcTable[(crc >> 8) ^ byte] ?? 0)

const crc16Bytes = (bytes: Uint8Array, before: number): number => bytes.reduce(step, before)
