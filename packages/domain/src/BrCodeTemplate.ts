/**
 * A BR code as the template that it shares with the other codes of its receiver, and the id in its address.
 *
 * Guarantees:
 * - A code that is split is joined to the same text. Any other code is not split.
 * - Only codes whose other elements are those of the receiver are split: a text of the charge would make a template for each.
 *
 * Why: docs/decisions/0042-br-code-templates.md.
 */
import { crc16, hex4, parseBrCode, type Tlv, tlv } from "./BrCode.ts"
import { formatReais } from "./Cents.ts"
import * as Result from "effect/Result"

export interface SplitBrCode {
  /** Without the id, the amount and the checksum. */
  readonly template: string
  /** The longest part of the path of its address. */
  readonly id: string
}

/** Splits the code of a charge of this amount in cents. */
export const splitBrCode = (code: string, amount: number): SplitBrCode | undefined => {
  const { payloadUrl, tlv: elements } = Result.getOrUndefined(parseBrCode(code)) ?? {}
  if (payloadUrl === undefined || elements === undefined || !elements.every(isOfReceiver(amount))) return undefined
  const id = payloadUrl
    .split("/")
    .slice(1)
    .reduce((longest, part) => (part.length > longest.length ? part : longest), "")
  if (id === "") return undefined
  const written = amountOf(amount)
  const template = code
    .slice(0, -CHECKSUM)
    .replace(`/${id}`, `/${ID}`)
    .replace(CURRENCY + written, CURRENCY + AMOUNT)
  return joinBrCode(template, id, amount) === code ? { template, id } : undefined
}

/** The code of a charge of this amount in cents. */
export const joinBrCode = (template: string, id: string, amount: number): string => {
  const text = template.replace(ID, () => id).replace(AMOUNT, () => amountOf(amount))
  return text + hex4(crc16(text))
}

const ID = "{id}"
const AMOUNT = "{amount}"
const CURRENCY = "5303986"
const CHECKSUM = 4

const amountOf = (amount: number): string => tlv("54", formatReais(amount))

/** Elements whose value is the same in all codes of a receiver, and those that the template leaves out. */
const isOfReceiver =
  (amount: number) =>
  ({ children, id, value }: Tlv): boolean => {
    if (id === "54") return value === formatReais(amount)
    if (id === "62") return children?.every((child) => child.id === "05" && child.value === "***") === true
    return (
      constantElements.has(id) ||
      (id >= "26" && id <= "51" && children?.every(({ id }) => id === "00" || id === "25") === true)
    )
  }

/** Format, use, category, currency, country, name, city, postal code, checksum. */
const constantElements = new Set(["00", "01", "52", "53", "58", "59", "60", "61", "63"])
