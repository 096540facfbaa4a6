/**
 * The txid: the acquirer's identifier of a charge, `[a-zA-Z0-9]{26,35}` in API Pix 2.9.0.
 *
 * Guarantees
 * - The charge's id determines the txid, and the txid the id: no charge is emitted under two txids (CHG-4).
 */
import * as Schema from "effect/Schema"

export const Txid = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z0-9]{26,35}$/u, { expected: "26 to 35 letters or digits" })
).pipe(Schema.brand("Txid"))
export type Txid = typeof Txid.Type

/** The 32 hexadecimal digits of a UUID. Throws if the text is no UUID. */
export const txidFromId = (id: string): Txid => {
  if (!uuid.test(id)) throw new TypeError("a txid is made from a UUID")
  return Txid.make(id.replaceAll("-", "").toLowerCase())
}

/** The UUID of a txid, or `undefined` if the txid is not one of `txidFromId`. */
export const idFromTxid = (txid: string): string | undefined => {
  const parts = digits.exec(txid)
  return parts === null ? undefined : parts.slice(1).join("-").toLowerCase()
}

/** Whether a txid has the form of ours: the digits of a UUID of version 7. Another installation may have made it. */
export const hasFormOfOurs = (txid: string): boolean => ours.test(txid)

const ours = /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/i
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const digits = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i
