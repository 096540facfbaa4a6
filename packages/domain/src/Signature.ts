/**
 * The signature of a webhook delivery: `X-Webhook-Signature: sha256=<hex>`, HMAC-SHA256 of the raw body.
 *
 * Guarantees: sign and verify are one code, on both sides of the wire. The comparison takes the same time for every
 * wrong signature. Only WebCrypto is used and nothing is imported: this module goes into the client as it is, and runs
 * wherever `crypto.subtle` is.
 *
 * Source: payments-api-v1.md "Webhook signature"; decisions.md "Finer points" (HMAC keys are UTF-8 bytes).
 */

export const SIGNATURE_HEADER = "X-Webhook-Signature"

export type SignatureRefusal =
  | "missing-header"
  | "malformed-header"
  | "unknown-scheme"
  | "wrong-length"
  | "not-hex"
  | "mismatch"
  | "white-space-in-secret"
  | "empty-secret"
  | "no-secret"

export type SignatureVerdict =
  | { readonly _tag: "Valid" }
  | { readonly _tag: "Refused"; readonly reason: SignatureRefusal }

/** The header's value for these bytes. */
export const sign = async (secret: string, body: Uint8Array): Promise<string> => {
  const mac = await crypto.subtle.sign("HMAC", await hmacKey(secret, "sign"), bytes(body))
  return `${SCHEME}=${Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, "0")).join("")}`
}

/**
 * Whether one of the secrets made this header for exactly these bytes. Several secrets are for the time in which one
 * replaces another; an empty one never passes, for anyone can sign with it. Several signatures may stand in one header,
 * with commas between them, as equal headers are joined: one that holds is enough.
 */
export const verify = async (delivery: {
  readonly body: Uint8Array
  readonly header: string | undefined
  readonly secrets: ReadonlyArray<string>
}): Promise<SignatureVerdict> => {
  if (delivery.secrets.length === 0) return refused("no-secret")
  const secrets = delivery.secrets.filter((secret) => secret !== "")
  if (secrets.length === 0) return refused("empty-secret")
  // Bounded, since each is worth an HMAC of the body and anyone can send a header.
  const parsed = (delivery.header ?? "").split(",", MAX_SIGNATURES).map((part) => parseSignature(part.trim()))
  for (const signature of parsed) {
    if (typeof signature === "string") continue
    for (const secret of secrets) {
      const key = await hmacKey(secret, "verify")
      // `subtle.verify` compares in constant time.
      if (await crypto.subtle.verify("HMAC", key, signature, bytes(delivery.body))) return { _tag: "Valid" }
    }
  }
  const malformed = parsed.find((signature) => typeof signature === "string")
  if (malformed !== undefined && parsed.every((signature) => typeof signature === "string")) return refused(malformed)
  // A secret may begin or end so, but one that came with a line break from a file is what mostly happens.
  return refused(secrets.some((secret) => secret !== secret.trim()) ? "white-space-in-secret" : "mismatch")
}

const SCHEME = "sha256"
const HEX_DIGITS = 64
const MAX_SIGNATURES = 8

const parseSignature = (text: string): SignatureRefusal | Uint8Array<ArrayBuffer> => {
  if (text === "") return "missing-header"
  const equals = text.indexOf("=")
  if (equals < 1) return "malformed-header"
  if (text.slice(0, equals) !== SCHEME) return "unknown-scheme"
  const hex = text.slice(equals + 1)
  if (hex.length !== HEX_DIGITS) return "wrong-length"
  if (!/^[0-9a-f]+$/.test(hex)) return "not-hex"
  return Uint8Array.from({ length: HEX_DIGITS / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16)
  )
}

const hmacKey = (secret: string, usage: "sign" | "verify"): Promise<CryptoKey> => {
  // WebCrypto takes no empty key. HMAC pads keys with zeros, so one zero byte is the same key.
  const key = secret === "" ? new Uint8Array(1) : new TextEncoder().encode(secret)
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [usage])
}

// WebCrypto takes no shared memory, and says so itself; the type of a body does not tell.
const bytes = (body: Uint8Array): Uint8Array<ArrayBuffer> => body as Uint8Array<ArrayBuffer>

const refused = (reason: SignatureRefusal): SignatureVerdict => ({ _tag: "Refused", reason })
