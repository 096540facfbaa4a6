import { assert, describe, it } from "@effect/vitest"
import { formatInstant, parseInstant } from "../src/Instant.ts"

describe("parseInstant", () => {
  it("API-2: accepts the years 0000 to 9999 in UTC, and nothing beyond", () => {
    for (const text of ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2026-11-21T12:00:00.000Z"]) {
      assert.strictEqual(formatInstant(parseInstant(text) ?? Number.NaN), text)
    }
    for (const text of ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+00:01"]) {
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
})
