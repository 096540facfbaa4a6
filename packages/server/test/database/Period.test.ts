/** Months and quarters, their bounds, and which partitions are missing or expired. */
import { makeGenerator } from "@pix-payments/domain/Uuid"
import { assert, describe, it } from "@effect/vitest"
import { randomFillSync } from "node:crypto"
import { boundOf, periodAfter, periodName, periodOf, PERIODS_AHEAD, timeOf } from "../../src/database/Period.ts"
import { coveredUntil, missingPeriods } from "../../src/schema/partitions/Partitions.ts"
import { expired } from "../../src/schema/partitions/Retention.ts"

const at = (text: string) => Date.parse(text)
const bound = (text: string) => boundOf(at(text))

describe("Periods", () => {
  it.each(["month", "quarter"] as const)(
    "an id is between the bounds of the %s in which it was generated, to the millisecond",
    (period) => {
      const generate = makeGenerator((target) => randomFillSync(target))
      for (const text of ["1970-01-01T00:00:00.000Z", "2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00.000Z"]) {
        const start = periodOf(period, at(text))
        const { id } = generate(at(text))
        assert.isTrue(boundOf(start) <= id && id < boundOf(periodAfter(period, start, 1)), text)
        assert.strictEqual(timeOf(id), at(text))
      }
    }
  )

  it("are counted over the end of a year and of February", () => {
    assert.strictEqual(periodAfter("month", at("2026-11-30T12:00:00Z"), 3), at("2027-02-01T00:00:00Z"))
    assert.strictEqual(periodAfter("month", at("2027-01-31T23:59:59Z"), 1), at("2027-02-01T00:00:00Z"))
    assert.strictEqual(periodAfter("quarter", at("2026-11-30T12:00:00Z"), 1), at("2027-01-01T00:00:00Z"))
    assert.strictEqual(periodOf("quarter", at("2027-09-30T23:59:59.999Z")), at("2027-07-01T00:00:00Z"))
  })

  it("have names in the order of time", () => {
    assert.strictEqual(periodName("month", at("2027-02-01T00:00:00Z")), "2027_02")
    const starts = ["2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z", "2027-04-01T00:00:00Z", "2027-07-01T00:00:00Z"]
    const names = starts.map((text) => periodName("quarter", at(text)))
    assert.deepStrictEqual(names, ["2026_q4", "2027_q1", "2027_q2", "2027_q3"])
  })
})

describe("Partitions", () => {
  const known = [
    { name: "first", from: null, before: bound("2027-01-01T00:00:00Z") },
    { name: "january", from: bound("2027-01-01T00:00:00Z"), before: bound("2027-02-01T00:00:00Z") },
    { name: "march", from: bound("2027-03-01T00:00:00Z"), before: bound("2027-04-01T00:00:00Z") }
  ]
  const now = at("2026-12-15T00:00:00Z")

  it("are missing for periods from this one on that none covers", () => {
    assert.deepStrictEqual(missingPeriods("month", known, now), [at("2027-02-01T00:00:00Z")])
    assert.lengthOf(missingPeriods("month", [], now), PERIODS_AHEAD.month + 1)
    // A clock that is years behind: the first partition has no lower bound.
    assert.deepStrictEqual(missingPeriods("month", known, 0), [])
    // The quarter of the first months is covered in part, which is enough: another partition would overlap.
    assert.deepStrictEqual(missingPeriods("quarter", known, now), [])
    assert.deepStrictEqual(missingPeriods("quarter", [], now), [at("2026-10-01T00:00:00Z"), at("2027-01-01T00:00:00Z")])
  })

  it("reach to the first gap", () => {
    assert.strictEqual(coveredUntil("month", known, now), at("2027-02-01T00:00:00Z"))
    assert.strictEqual(coveredUntil("month", [], now), at("2026-12-01T00:00:00Z"))
  })

  it("are expired once their last possible row is", () => {
    const names = (limit: string) => expired(known, at(limit)).map(({ name }) => name)
    assert.deepStrictEqual(names("2026-12-31T23:59:59.999Z"), [])
    assert.deepStrictEqual(names("2027-01-01T00:00:00Z"), ["first"])
    assert.deepStrictEqual(names("2027-03-31T00:00:00Z"), ["first", "january"])
  })
})
