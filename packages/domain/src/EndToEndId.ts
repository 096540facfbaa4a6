/**
 * The end-to-end id: the settlement identifier of a Pix (`E…`) and of its return (`D…`).
 *
 * Guarantees
 * - It has 32 characters: the letter, the ISPB of the sender (`[0-9A-Z]{8}` in API Pix 2.9.0), the minute in UTC, and
 *   11 case-sensitive letters or digits.
 *
 * Why the time is not validated: PSPs differ in it.
 */
import * as DateTime from "effect/DateTime"
import * as Schema from "effect/Schema"

export const EndToEndId = Schema.String.check(
  Schema.isPattern(/^[ED][0-9A-Z]{8}[0-9]{12}[A-Za-z0-9]{11}$/u, { expected: "an EndToEndId" })
).pipe(Schema.brand("EndToEndId"))
export type EndToEndId = typeof EndToEndId.Type

/** `E` + ISPB + `yyyyMMddHHmm` in UTC + suffix. Throws on a malformed part. */
export const makeEndToEndId = (parts: {
  readonly ispb: string
  /** The instant of the order, in epoch milliseconds. */
  readonly atMs: number
  /** 11 letters or digits, see `suffixFromBytes`. */
  readonly suffix: string
}): EndToEndId => {
  const minute = DateTime.formatIso(DateTime.makeUnsafe(parts.atMs)).slice(0, 16).replace(/[-T:]/g, "")
  return EndToEndId.make(`E${parts.ispb}${minute}${parts.suffix}`)
}

/** The number of random bytes that `suffixFromBytes` needs. */
export const SUFFIX_BYTES = 22

/** 11 letters or digits from `SUFFIX_BYTES` random bytes. Two bytes per character make the bias negligible. */
export const suffixFromBytes = (bytes: Uint8Array): string => {
  if (bytes.length < SUFFIX_BYTES) throw new RangeError(`a suffix takes ${SUFFIX_BYTES} bytes, got ${bytes.length}`)
  let suffix = ""
  for (let index = 0; index < SUFFIX_BYTES; index += 2) {
    suffix += ALPHABET.charAt(((bytes[index] ?? 0) * 256 + (bytes[index + 1] ?? 0)) % ALPHABET.length)
  }
  return suffix
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
