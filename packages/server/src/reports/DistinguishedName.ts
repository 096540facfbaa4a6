/**
 * The common name in a certificate's subject, as a proxy writes it: RFC 4514, and RFC 2253 before it.
 *
 * Guarantees:
 * - Only the value of an attribute CN is a common name: never a part of another value, escaped or quoted.
 * - A text that is not a distinguished name, or names several common names, has none.
 *
 * Why OpenSSL's form `/O=…/CN=…` is not read: it escapes no slash, so that a value can imitate an attribute.
 */

/** Undefined where there is none, or more than one. */
export const commonNameOf = (subject: string): string | undefined => {
  const names: Array<string> = []
  let rest = subject
  while (true) {
    const [type] = ATTRIBUTE.exec(rest) ?? []
    if (type === undefined) return undefined
    const value = valueAt(rest.slice(type.length))
    if (value === undefined) return undefined
    if (COMMON_NAME.test(type)) names.push(value.text)
    if (value.rest === "") return names.length === 1 ? names[0] : undefined
    if (!SEPARATORS.includes(value.rest.charAt(0))) return undefined
    rest = value.rest.slice(1)
  }
}

const ATTRIBUTE = /^ *(?:[a-zA-Z][a-zA-Z0-9-]*|(?:OID\.)?\d+(?:\.\d+)*) *= */
const COMMON_NAME = /^ *(?:CN|commonName|(?:OID\.)?2\.5\.4\.3) *= *$/i
/** Between attributes of one or of several relative names. */
const SEPARATORS = ",;+"
const ESCAPED = /^\\(?:([0-9a-fA-F]{2})|([ "#+,;<=>\\]))/
/** What ends a value, or must be escaped in it. */
const PLAIN = /^[^\\",;+<>\0]+/
const QUOTED = /^[^\\"\0]+/

interface Value {
  readonly text: string
  readonly rest: string
}

const valueAt = (text: string): Value | undefined => {
  // Hexadecimal BER: its type is not known, so it is no common name.
  if (text.startsWith("#")) return undefined
  const isQuoted = text.startsWith('"')
  const parts: Array<Buffer> = []
  let rest = isQuoted ? text.slice(1) : text
  let trailing = 0
  while (true) {
    const [escaped, hex, character] = ESCAPED.exec(rest) ?? []
    if (escaped !== undefined) {
      parts.push(hex === undefined ? Buffer.from(character ?? "") : Buffer.from(hex, "hex"))
      rest = rest.slice(escaped.length)
      trailing = 0
      continue
    }
    const [plain] = (isQuoted ? QUOTED : PLAIN).exec(rest) ?? []
    if (plain === undefined) break
    parts.push(Buffer.from(plain))
    rest = rest.slice(plain.length)
    trailing = isQuoted ? 0 : plain.length - plain.trimEnd().length
  }
  if (isQuoted) {
    if (!rest.startsWith('"')) return undefined
    rest = rest.slice(1).trimStart()
  }
  const bytes = Buffer.concat(parts)
  const value = decoded(bytes.subarray(0, bytes.length - trailing))
  return value === undefined ? undefined : { text: value, rest }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decoded = (bytes: Buffer): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
