/**
 * The transaction identifier under which the acquirer knows a charge.
 *
 * Guarantees: it is derived from the charge's id and from nothing else, and leads back to it. A charge can thus never
 * be emitted under two txids, whoever retries.
 *
 * Source: API Pix 2.9.0 (`[a-zA-Z0-9]{26,35}`); decisions.md "Charges".
 */
import * as Schema from "effect/Schema";
export declare const Txid: Schema.brand<Schema.String, "Txid">;
export type Txid = typeof Txid.Type;
/** The 32 hexadecimal digits of a UUID. Throws on what is no UUID: ids are ours. */
export declare const txidFromId: (id: string) => Txid;
/** The UUID from which the txid was made, or `undefined` when it was not made here. */
export declare const idFromTxid: (txid: string) => string | undefined;
