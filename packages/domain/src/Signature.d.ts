/**
 * The signature of a webhook delivery: `X-Webhook-Signature: sha256=<hex>`, HMAC-SHA256 of the raw body.
 *
 * Guarantees: sign and verify are one code, on both sides of the wire. The comparison takes the same time for every
 * wrong signature. Only WebCrypto is used and nothing is imported: this module goes into the client as it is, and runs
 * wherever `crypto.subtle` is.
 *
 * Source: payments-api-v1.md "Webhook signature"; decisions.md "Finer points" (HMAC keys are UTF-8 bytes).
 */
export declare const SIGNATURE_HEADER = "X-Webhook-Signature";
export type SignatureRefusal = "missing-header" | "malformed-header" | "unknown-scheme" | "wrong-length" | "not-hex" | "mismatch" | "white-space-in-secret" | "empty-secret" | "no-secret";
export type SignatureVerdict = {
    readonly _tag: "Valid";
} | {
    readonly _tag: "Refused";
    readonly reason: SignatureRefusal;
};
/** The header's value for these bytes. */
export declare const sign: (secret: string, body: Uint8Array) => Promise<string>;
/**
 * Whether one of the secrets made this header for exactly these bytes. Several secrets are for the time in which one
 * replaces another; an empty one never passes, for anyone can sign with it. Several signatures may stand in one header,
 * with commas between them, as equal headers are joined: one that holds is enough.
 */
export declare const verify: (delivery: {
    readonly body: Uint8Array;
    readonly header: string | undefined;
    readonly secrets: ReadonlyArray<string>;
}) => Promise<SignatureVerdict>;
