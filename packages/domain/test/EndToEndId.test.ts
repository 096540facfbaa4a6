import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { EndToEndId, makeEndToEndId, SUFFIX_BYTES, suffixFromBytes } from "../src/EndToEndId.ts"

const accepts = (value: unknown): boolean => Result.isSuccess(Schema.decodeUnknownResult(EndToEndId)(value))

const Bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))).check(
  Schema.isMinLength(SUFFIX_BYTES),
  Schema.isMaxLength(SUFFIX_BYTES)
)
const Instant = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_102_444_799_999 }))

describe("EndToEndId", () => {
  it("E or D, ISPB of digits or letters, twelve digits, eleven letters or digits of either case", () => {
    for (const id of [
      "E12345678202611211200abcDEF01234",
      "D12345678202611211200abcDEF01234",
      "E1A2B3C4D202611211200ABCDEFGHIJK"
    ]) {
      assert.isTrue(accepts(id), id)
    }
  })

  it("exactly 32 alphanumerics", () => {
    for (const id of [
      "",
      "E12345678202611211200abcDEF0123",
      "E12345678202611211200abcDEF012345",
      "X12345678202611211200abcDEF01234",
      "e12345678202611211200abcDEF01234",
      "E1234567a202611211200abcDEF01234",
      "E1234567820261121120Xabc0EF01234",
      "E12345678202611211200abcDEF0123-",
      "E12345678202611211200abcDEF01234\n"
    ]) {
      assert.isFalse(accepts(id), id)
    }
  })

  it("does not validate the time", () => {
    assert.isTrue(accepts("E12345678202699999999abcDEF01234"))
  })
})

describe("makeEndToEndId", () => {
  it("E + ISPB + yyyyMMddHHmm in UTC + suffix", () => {
    assert.strictEqual(
      makeEndToEndId({ ispb: "12345678", atMs: Date.UTC(2026, 10, 21, 3, 4, 59, 999), suffix: "abcDEF01234" }),
      "E12345678202611210304abcDEF01234"
    )
  })

  it("throws on a malformed part", () => {
    const atMs = Date.UTC(2026, 0, 1)
    assert.throws(() => makeEndToEndId({ ispb: "1234567", atMs, suffix: "abcDEF01234" }))
    assert.throws(() => makeEndToEndId({ ispb: "12345678", atMs, suffix: "abcDEF0123" }))
    assert.throws(() => makeEndToEndId({ ispb: "12345678", atMs, suffix: "abcDEF0123_" }))
  })

  it.prop("any instant and any bytes make an identifier", [Instant, Bytes], ([atMs, bytes]) => {
    const id = makeEndToEndId({ ispb: "00000000", atMs, suffix: suffixFromBytes(Uint8Array.from(bytes)) })
    assert.isTrue(accepts(id))
    const minute = id.slice(9, 21).replace(/^(....)(..)(..)(..)(..)$/, "$1-$2-$3T$4:$5:00Z")
    assert.strictEqual(Date.parse(minute), atMs - (atMs % 60_000))
  })
})

describe("suffixFromBytes", () => {
  it("is pure and uses every character of the alphabet and every byte", () => {
    const first = new Uint8Array(SUFFIX_BYTES)
    assert.strictEqual(suffixFromBytes(first), "00000000000")
    const seen = new Set<string>()
    for (let byte = 0; byte < 62; byte++) seen.add(suffixFromBytes(new Uint8Array(SUFFIX_BYTES).fill(byte)).charAt(0))
    assert.isAbove(seen.size, 30)
    for (let at = 0; at < SUFFIX_BYTES; at++) {
      const changed = new Uint8Array(SUFFIX_BYTES)
      changed[at] = 61
      assert.notStrictEqual(suffixFromBytes(changed), suffixFromBytes(first), `byte ${at}`)
    }
  })

  it("refuses too few bytes, which would make a guessable suffix", () => {
    assert.throws(() => suffixFromBytes(new Uint8Array(SUFFIX_BYTES - 1)), RangeError)
  })
})
