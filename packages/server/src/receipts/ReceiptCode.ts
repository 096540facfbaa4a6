/**
 * The code of a receipt: which resource it is of, and a MAC of it.
 *
 * Guarantees:
 * - A code without the installation's key is found with a chance of 2^-128. A wrong one costs no query.
 * - It has 44 characters of base64url, and is the same for each receipt of a resource.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

export const receiptKinds = ["charge", "payout", "refund"] as const
export type ReceiptKind = (typeof receiptKinds)[number]

export interface ReceiptOf {
  readonly kind: ReceiptKind
  readonly id: string
}

export const codeOf = ({ id, kind }: ReceiptOf, key: Buffer): string => {
  const named = Buffer.concat([Buffer.from([receiptKinds.indexOf(kind)]), Buffer.from(id.replaceAll("-", ""), "hex")])
  return Buffer.concat([named, macOf(named, key)]).toString("base64url")
}

/** What a code names; undefined for a code that this installation did not make. */
export const namedBy = (code: string, key: Buffer): ReceiptOf | undefined => {
  if (!/^[\w-]{44}$/.test(code)) return undefined
  const bytes = Buffer.from(code, "base64url")
  const named = bytes.subarray(0, NAMED)
  const kind = receiptKinds[named[0]!]
  if (kind === undefined || !timingSafeEqual(bytes.subarray(NAMED), macOf(named, key))) return undefined
  return { kind, id: named.toString("hex", 1).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") }
}

const macOf = (named: Buffer, key: Buffer): Buffer => createHmac("sha256", key).update(named).digest().subarray(0, 16)

/** A byte of the kind and the bytes of the id. */
const NAMED = 17
