/**
 * The signature of a webhook delivery: `X-Webhook-Signature: sha256=<hex>`, HMAC-SHA256 of the raw body.
 *
 * Guarantees: both sides of the wire have one rule of what is signed, and with which key. The comparison takes the same
 * time for every wrong signature. Beside the contract's signature, which covers the body alone, an attempt carries one
 * that covers its time too, as Standard Webhooks have it. Only WebCrypto is used and nothing is imported: this module goes
 * into the client as it is, and runs wherever `crypto.subtle` is.
 *
 * Source: payments-api-v1.md "Webhook signature"; decisions.md "Finer points" (HMAC keys are UTF-8 bytes).
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

/** The header's value for these bytes. */
export const sign = async (secret: string, body: Uint8Array): Promise<string> => {
  // WebCrypto takes no empty key. HMAC pads keys with zeros, so one zero byte is the same key.
  const mac = await hmac(utf8(secret || "\0"), body)
  return `sha256=${Array.from(mac, (byte) => (byte + 256).toString(16).slice(1)).join("")}`
}

/** Whether one of the secrets made this header for exactly these bytes; see `refusalOf`. */
export const verify = async (delivery: Signed): Promise<SignatureVerdict> => {
  const reason = await refusalOf(delivery)
  return reason === undefined ? { _tag: "Valid" } : { _tag: "Refused", reason }
}

/** A body, and what is said of it. */
export interface Signed {
  readonly body: Uint8Array
  readonly header: string | undefined
  readonly secrets: ReadonlyArray<string>
}

/**
 * Why none of the secrets made this header for exactly these bytes, or `undefined` where one did. Several secrets are for
 * the time in which one replaces another; an empty one never passes, for anyone can sign with it. Several signatures may
 * stand in one header, with commas between them, as equal headers are joined: one that holds is enough.
 */
export const refusalOf = async ({ body, header = "", secrets }: Signed): Promise<SignatureRefusal | undefined> => {
  if (!secrets.length) return "no-secret"
  if (!secrets.join("")) return "empty-secret"
  const signatures = header.split(/,\s*/)
  const faults = signatures.map(faultOf)
  if (faults.every(Boolean)) return faults[0]
  if (await holds(secrets, signatures, (secret) => sign(secret, body))) return undefined
  // A secret may begin or end so, but one that came with a line break from a file is what mostly happens.
  return secrets.some((secret) => secret !== secret.trim()) ? "white-space-in-secret" : "mismatch"
}

/** The header `webhook-signature` of Standard Webhooks for these bytes, sent at this time in epoch seconds. */
export const signAttempt = async (secret: string, id: string, timestamp: string, body: Uint8Array): Promise<string> => {
  const mac = await hmac(attemptKey(secret), new Uint8Array([...utf8(`${id}.${timestamp}.`), ...body]))
  return `v1,${btoa(String.fromCharCode(...mac))}`
}

/**
 * The HMAC key of an attempt's signature: a secret of that ecosystem is `whsec_` and base64, and any other its UTF-8
 * bytes, one that only begins so among them, or has nothing behind it; an empty one is the zero byte that HMAC makes of
 * it.
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
 * Why an attempt was not made with one of the secrets at most `toleranceMs` before or after `nowMs`, or `undefined`.
 * Unlike the contract's signature, which is the same in every repeat, this one cannot be kept and sent again later.
 *
 * @param read gives a header by its name in lower case: `webhook-id`, `webhook-timestamp`, `webhook-signature`
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
  const isOurs = await holds(secrets, header.split(" "), (secret) => signAttempt(secret, id, timestamp, body))
  if (!isOurs) return "mismatch"
  const ageMs = nowMs - +timestamp * 1000
  // Asked so that neither a time nor a tolerance that is no number lets an attempt through.
  if (!(ageMs <= toleranceMs)) return "too-old"
  return ageMs >= -toleranceMs ? undefined : "in-the-future"
}

/** Why this can be no signature of ours, whatever the secret. */
const faultOf = (signature: string): SignatureRefusal | undefined => {
  if (!signature) return "missing-header"
  const [scheme, hex] = signature.split(/=(.*)/)
  if (!scheme || hex === undefined) return "malformed-header"
  if (scheme !== "sha256") return "unknown-scheme"
  if (hex.length !== 64) return "wrong-length"
  return /[^0-9a-f]/.test(hex) ? "not-hex" : undefined
}

/** Whether one of the signatures is what one of the secrets makes; an empty one makes none. */
const holds = async (
  secrets: ReadonlyArray<string>,
  signatures: ReadonlyArray<string>,
  make: (secret: string) => Promise<string>
): Promise<boolean> => {
  let found = false
  for (const secret of secrets.filter(Boolean)) {
    const expected = await make(secret)
    for (const signature of signatures) {
      // In the same time wherever texts of one length differ.
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
  // WebCrypto takes no shared memory, and says so itself; the type of a body does not tell.
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, content as Uint8Array<ArrayBuffer>))
}
