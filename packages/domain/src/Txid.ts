/**
 * The transaction identifier under which the acquirer knows a charge.
 *
 * Guarantees: it is derived from the charge's id and from nothing else, and leads back to it. A charge can thus never
 * be emitted under two txids, whoever retries.
 *
 * Source: API Pix 2.9.0 (`[a-zA-Z0-9]{26,35}`); decisions.md "Charges".
 */
import * as Schema from "effect/Schema"

export const Txid = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z0-9]{26,35}$/u, { expected: "26 to 35 letters or digits" })
).pipe(Schema.brand("Txid"))
export type Txid = typeof Txid.Type

/** The 32 hexadecimal digits of a UUID. Throws on what is no UUID: ids are ours. */
export const txidFromId = (id: string): Txid => {
  if (!uuid.test(id)) throw new TypeError("a txid is made from a UUID")
  return Txid.make(id.replaceAll("-", "").toLowerCase())
}

/** The UUID from which the txid was made, or `undefined` when it was not made here. */
export const idFromTxid = (txid: string): string | undefined => {
  const parts = digits.exec(txid)
  return parts === null ? undefined : parts.slice(1).join("-").toLowerCase()
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const digits = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i
