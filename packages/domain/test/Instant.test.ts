import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { formatInstant, InstantInput, parseInstant } from "../src/Instant.ts"

const noon = Date.UTC(2026, 10, 21, 12)

describe("formatInstant", () => {
  it.each([
    [0, "1970-01-01T00:00:00.000Z"],
    [-1, "1969-12-31T23:59:59.999Z"],
    [noon + 9, "2026-11-21T12:00:00.009Z"],
    [noon + 10, "2026-11-21T12:00:00.010Z"],
    [noon + 99, "2026-11-21T12:00:00.099Z"],
    [noon + 100, "2026-11-21T12:00:00.100Z"],
    [Date.UTC(2026, 0, 2, 9, 9, 9), "2026-01-02T09:09:09.000Z"],
    [Date.UTC(2026, 9, 10, 10, 10, 10), "2026-10-10T10:10:10.000Z"]
  ])("API-2: writes %d as %s", (epochMs, text) => assert.strictEqual(formatInstant(epochMs), text))

  it("API-2: writes the days of many years, each as the first time", () => {
    const days = Array.from({ length: 3000 }, (_, index) => index * 86_400_000 * 11)
    for (const day of [...days, ...days]) {
      assert.strictEqual(Date.parse(formatInstant(day + 1)), day + 1)
    }
  })

  it.prop(
    "API-2: a written instant is read as itself",
    [Schema.Int.check(Schema.isBetween({ minimum: Date.UTC(1000, 0), maximum: Date.UTC(9999, 0) }))],
    ([epochMs]) => assert.strictEqual(parseInstant(formatInstant(epochMs)), epochMs)
  )
})

describe("parseInstant", () => {
  it("API-2: accepts the years 0000 to 9999 in UTC, and nothing beyond", () => {
    for (const text of ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2026-11-21T12:00:00.000Z"]) {
      assert.strictEqual(formatInstant(parseInstant(text) ?? Number.NaN), text)
    }
    for (const text of ["9999-12-31T23:59:59-23:59", "9999-12-31T23:59:00-00:01", "0000-01-01T00:00:00+00:01"]) {
      assert.isUndefined(parseInstant(text), text)
    }
  })

  it("an instant without an offset is read in a zone, and is none without a zone", () => {
    const local = "2026-11-21T09:00:00.5"
    assert.strictEqual(parseInstant(local, "America/Sao_Paulo"), Date.parse("2026-11-21T12:00:00.500Z"))
    assert.isUndefined(parseInstant(local))
    // It was summer time then.
    assert.strictEqual(parseInstant("2018-12-21T09:00:00", "America/Sao_Paulo"), Date.parse("2018-12-21T11:00:00Z"))
    assert.strictEqual(parseInstant(`${local}+01:00`, "America/Sao_Paulo"), Date.parse("2026-11-21T08:00:00.500Z"))
    for (const text of ["ontem", "2026-11-21", "2026-02-30T09:00:00", ""]) {
      assert.isUndefined(parseInstant(text, "America/Sao_Paulo"), text)
    }
  })

  it.each([
    "2026-11-21T12:00Z",
    "2026-11-21t12:00:00z",
    "2026-11-21T12:00:00,0Z",
    "2026-11-21T12:00:00-00:00",
    "2026-11-22T11:00:00+23:00",
    "2026-11-22T11:59:00+23:59",
    "2026-11-21T12:59:00+00:59",
    "2026-11-21T09:00:00-0300"
  ])("API-2: %s is noon in UTC", (text) => assert.strictEqual(parseInstant(text), noon))

  it.each([
    "2026-13-01T00:00:00Z",
    "2026-11-31T00:00:00Z",
    "2026-11-21T25:00:00Z",
    "2026-11-21T12:60:00Z",
    "2026-11-22T12:00:00+24:00",
    "2026-11-22T12:00:00+23:60",
    "2026-11-22T12:00:00-00:60",
    "2026-11-21T12:00:00+3:00",
    "2026-11-21 12:00:00Z"
  ])("API-2: %s is no instant", (text) => assert.isUndefined(parseInstant(text)))

  it.each([
    [".1Z", 100],
    [".12Z", 120],
    [".123Z", 123],
    [".1230Z", 123],
    [".123000000Z", 123],
    [".123000001Z", 123.5],
    [".1239Z", 123.5],
    [".0001Z", 0.5],
    [".9999Z", 999.5]
  ])("LIST-6: a fraction of %s is never rounded to a millisecond", (fraction, ms) => {
    assert.strictEqual(parseInstant(`2026-11-21T12:00:00${fraction}`), noon + ms)
  })
})

describe("InstantInput", () => {
  const decode = Schema.decodeUnknownResult(InstantInput)

  it("API-2: takes the text of an instant as it is, and needs Z or an offset", () => {
    for (const text of ["2026-11-21T12:00:00Z", "2026-11-21T09:00-03:00"]) {
      assert.deepStrictEqual(decode(text), Result.succeed(text))
    }
    for (const wrong of ["2026-11-21T12:00:00", "2026-11-21", "", noon]) {
      assert.isTrue(Result.isFailure(decode(wrong)), String(wrong))
    }
  })

  it("is text in the format `date-time` for JSON Schema", () => {
    const { schema } = Schema.toJsonSchemaDocument(InstantInput)
    assert.strictEqual(schema["type"], "string")
    assert.include(JSON.stringify(schema), '"format":"date-time"')
  })
})
