import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { CLOCK_TOLERANCE_MS, idBeside, isUuid, lowestIdAt, makeGenerator } from "../src/Uuid.ts"

const START = Date.UTC(2026, 10, 21)
const HOUR = 3_600_000

const generator = () => {
  let state = 1
  return makeGenerator((target) => {
    for (let i = 0; i < target.length; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      target[i] = state >>> 24
    }
  })
}
const timeIn = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
/** How far the clock moves before each id, in ms. */
const Steps = (by: Schema.Codec<number>) => Schema.Array(by).check(Schema.isMinLength(1), Schema.isMaxLength(200))

describe("an id generator", () => {
  it("API-3: makes UUIDv7s with the time that it returns", () => {
    const next = generator()
    for (let i = 0; i < 1000; i++) {
      const { epochMs, id } = next(START + i)
      assert.isTrue(isUuid(id))
      assert.match(id, /^.{14}7.{4}[89ab]/)
      assert.deepStrictEqual([epochMs, timeIn(id)], [START + i, START + i])
      assert.isTrue(lowestIdAt(epochMs) <= id && id < lowestIdAt(epochMs + 1))
    }
  })

  it("follows a clock that was an hour ahead from the first id after its correction", () => {
    const next = generator()
    next(START + HOUR)
    assert.strictEqual(next(START).epochMs, START)
    assert.strictEqual(next(START + 1).epochMs, START + 1)
  })

  it("counts within a millisecond, and into the next one when the counter is full", () => {
    const next = generator()
    const ids = Array.from({ length: 20_000 }, () => next(START))
    const sorted = ids.map(({ id }) => id).toSorted()
    assert.deepStrictEqual(
      ids.map(({ id }) => id),
      sorted
    )
    assert.isAtMost(ids.at(-1)!.epochMs - START, 20_000 / 2048)
  })

  it.prop("API-3: ids increase strictly while the clock steps back by little", [Steps(between(-5, 20))], ([steps]) => {
    const next = generator()
    let clock = START
    let last = ""
    for (const step of steps) {
      clock += step
      const { epochMs, id } = next(clock)
      assert.isTrue(id > last)
      assert.strictEqual(timeIn(id), epochMs)
      last = id
    }
  })

  it.prop(
    "whatever the clock does, ids are unique and no id is further from it than the tolerance",
    [Steps(between(-2 * HOUR, 2 * HOUR))],
    ([steps]) => {
      const next = generator()
      let clock = START
      const seen = new Set<string>()
      for (const step of steps) {
        clock += step
        // Several in each instant.
        for (let i = 0; i < 3; i++) {
          const { epochMs, id } = next(clock)
          assert.isAtLeast(epochMs, clock)
          assert.isAtMost(epochMs, clock + CLOCK_TOLERANCE_MS)
          assert.strictEqual(timeIn(id), epochMs)
          assert.isFalse(seen.has(id))
          seen.add(id)
        }
      }
    }
  )
})

describe("the id beside an id", () => {
  it("is the next one and the one before, and stays at the ends", () => {
    const id = "0199a0f0-5f3c-7c3e-9d0b-0000000000ff"
    assert.strictEqual(idBeside(id, 1), "0199a0f0-5f3c-7c3e-9d0b-000000000100")
    assert.strictEqual(idBeside(idBeside(id, 1), -1), id)
    const [lowest, highest] = ["0", "f"].map((digit) => "00000000-0000-0000-0000-000000000000".replaceAll("0", digit))
    assert.strictEqual(idBeside(lowest!, -1), lowest)
    assert.strictEqual(idBeside(highest!, 1), highest)
  })
})
