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
})
