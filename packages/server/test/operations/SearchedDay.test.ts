/** The day of a search. */
import { assert, describe, it } from "@effect/vitest"
import { formatInstant } from "@pix-payments/domain/Instant"
import { searchedDay } from "../../src/operations/SearchedDay.ts"

/** 1 January 2027, 23:30 of the day before in Brazil. */
const NOW = Date.parse("2027-01-01T02:30:00Z")

const spanOf = (text: string, timeZone = "America/Sao_Paulo") => {
  const day = searchedDay(text, NOW, timeZone)
  return day && [day.rest, formatInstant(day.createdAfterMs + 1), formatInstant(day.createdBeforeMs)]
}

describe("The day of a search", () => {
  it("OPR-125: is one of the installation's zone, and without a year the last one", () => {
    const span = ["352,21", "2026-12-31T03:00:00.000Z", "2027-01-01T03:00:00.000Z"]
    for (const day of ["31/12", "31/12/2026", "31/12/26", "hoje", "Today"]) {
      assert.deepStrictEqual(spanOf(`352,21 ${day}`), span, day)
    }
    assert.deepStrictEqual(spanOf("R$ 97 ontem"), ["R$ 97", "2026-12-30T03:00:00.000Z", "2026-12-31T03:00:00.000Z"])
    assert.deepStrictEqual(spanOf("97 1/1")?.[1], "2026-01-01T03:00:00.000Z")
    assert.deepStrictEqual(spanOf("97 1/1", "Asia/Tokyo")?.[1], "2026-12-31T15:00:00.000Z")
  })

  it("OPR-125: has 23 or 25 hours where the clocks of the zone change", () => {
    assert.deepStrictEqual(spanOf("97 29/03/2026", "Europe/Berlin")?.slice(1), [
      "2026-03-28T23:00:00.000Z",
      "2026-03-29T22:00:00.000Z"
    ])
  })

  it("OPR-125: is none that no calendar has, and no text alone", () => {
    for (const text of ["97 31/02", "97 0/1", "97 99/99/9999", "97", "25/11", "97 25-11"]) {
      assert.isUndefined(spanOf(text), text)
    }
  })
})
