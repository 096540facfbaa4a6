/**
 * The signatures of a webhook delivery: SIG-1 to SIG-3, and that of Standard Webhooks (ADD-2), which also covers the
 * time of the attempt.
 *
 * Guarantees
 * - Server and client sign and verify with the same code.
 * - A comparison takes the same time for every wrong signature.
 * - It imports nothing and uses WebCrypto only: the client ships this module, and it runs wherever `crypto.subtle`
 *   exists.
 */

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
  | "too-old"
  | "in-the-future"

export type SignatureVerdict =
  | { readonly _tag: "Valid" }
  | { readonly _tag: "Refused"; readonly reason: SignatureRefusal }

/** The value of `X-Webhook-Signature` for a body. */
export const sign = async (secret: string, body: Uint8Array): Promise<string> => {
  // WebCrypto refuses an empty key. HMAC pads keys with zeros, so one zero byte is the same key.
  const mac = await hmac(utf8(secret || "\0"), body)
  return `sha256=${Array.from(mac, (byte) => (byte + 256).toString(16).slice(1)).join("")}`
}

/** Whether one of the secrets signed exactly these bytes; see `refusalOf`. */
export const verify = async (delivery: Signed): Promise<SignatureVerdict> => {
  const reason = await refusalOf(delivery)
  return reason === undefined ? { _tag: "Valid" } : { _tag: "Refused", reason }
}

/** A body, its signature header, and the secrets to verify it with. */
export interface Signed {
  readonly body: Uint8Array
  readonly header: string | undefined
  readonly secrets: ReadonlyArray<string>
}

/**
 * Why none of the secrets signed exactly these bytes, or `undefined` if one did. Pass several secrets while one replaces
 * another. An empty secret never verifies, because anyone can sign with it. The header may have several signatures,
 * joined by commas as HTTP joins equal headers: one valid signature is enough.
 */
export const refusalOf = async ({ body, header = "", secrets }: Signed): Promise<SignatureRefusal | undefined> => {
  if (!secrets.length) return "no-secret"
  if (!secrets.join("")) return "empty-secret"
  const signatures = header.split(/,\s*/)
  const faults = signatures.map(faultOf)
  if (faults.every(Boolean)) return faults[0]
  if (await anyMatches(secrets, signatures, (secret) => sign(secret, body))) return undefined
  // White space may be part of a secret, but mostly it is a line break that was read from a file.
  return secrets.some((secret) => secret !== secret.trim()) ? "white-space-in-secret" : "mismatch"
}

/** The value of the Standard Webhooks header `webhook-signature` for a body sent at a time in epoch seconds. */
export const signAttempt = async (secret: string, id: string, timestamp: string, body: Uint8Array): Promise<string> => {
  const mac = await hmac(attemptKey(secret), new Uint8Array([...utf8(`${id}.${timestamp}.`), ...body]))
  return `v1,${btoa(String.fromCharCode(...mac))}`
}

/**
 * The HMAC key of an attempt's signature. A secret `whsec_<base64>` is the decoded bytes, as in Standard Webhooks; any
 * other secret, also `whsec_` without valid base64, is its UTF-8 bytes. An empty secret is one zero byte.
 */
export const attemptKey = (secret: string): Uint8Array<ArrayBuffer> => {
  if (secret.startsWith("whsec_")) {
    try {
      const key = Uint8Array.from(atob(secret.slice(6)), (character) => character.charCodeAt(0))
      if (key.length) return key
    } catch {
      // Not base64.
    }
  }
  return utf8(secret || "\0")
}

/**
 * Why an attempt was not signed with one of the secrets within `toleranceMs` of `nowMs`, or `undefined` if it was. It
 * detects replays, which `X-Webhook-Signature` cannot: that one is equal in every attempt.
 *
 * @param read returns a header by its lower-case name: `webhook-id`, `webhook-timestamp`, `webhook-signature`
 */
export const attemptRefusalOf = async (
  { body, secrets }: Omit<Signed, "header">,
  read: (name: string) => string | undefined,
  nowMs: number,
  toleranceMs: number
): Promise<SignatureRefusal | undefined> => {
  const id = read("webhook-id")
  const timestamp = read("webhook-timestamp")
  const header = read("webhook-signature")
  if (!id || !timestamp || !header) return "missing-header"
  const isOurs = await anyMatches(secrets, header.split(" "), (secret) => signAttempt(secret, id, timestamp, body))
  if (!isOurs) return "mismatch"
  const ageMs = nowMs - +timestamp * 1000
  // Negated so that NaN, as a time or as a tolerance, is refused.
  if (!(ageMs <= toleranceMs)) return "too-old"
  return ageMs >= -toleranceMs ? undefined : "in-the-future"
}

/** Why this is no signature for any secret, or `undefined`. */
const faultOf = (signature: string): SignatureRefusal | undefined => {
  if (!signature) return "missing-header"
  const [scheme, hex] = signature.split(/=(.*)/)
  if (!scheme || hex === undefined) return "malformed-header"
  if (scheme !== "sha256") return "unknown-scheme"
  if (hex.length !== 64) return "wrong-length"
  return /[^0-9a-f]/.test(hex) ? "not-hex" : undefined
}

/** Whether one of the signatures is that of one of the secrets. Empty secrets are skipped. */
const anyMatches = async (
  secrets: ReadonlyArray<string>,
  signatures: ReadonlyArray<string>,
  make: (secret: string) => Promise<string>
): Promise<boolean> => {
  let found = false
  for (const secret of secrets.filter(Boolean)) {
    const expected = await make(secret)
    for (const signature of signatures) {
      // Constant time for texts of equal length.
      let difference = expected.length ^ signature.length
      for (let index = expected.length; index--;) {
        difference |= expected.charCodeAt(index) ^ signature.charCodeAt(index)
      }
      found ||= !difference
    }
  }
  return found
}

/** The text's UTF-8 bytes. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

const hmac = async (key: Uint8Array<ArrayBuffer>, content: Uint8Array): Promise<Uint8Array> => {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  // The cast: WebCrypto itself refuses shared memory, which the type of a body does not exclude.
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, content as Uint8Array<ArrayBuffer>))
}
