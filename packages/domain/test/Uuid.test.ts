import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  CLOCK_TOLERANCE_MS,
  idBeside,
  isShortId,
  isUuid,
  lowestIdAt,
  makeGenerator,
  NIL_UUID,
  shortIdOf
} from "../src/Uuid.ts"

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

  it("does not follow a clock that steps back by the tolerance, and follows one that steps back by more", () => {
    const next = generator()
    next(START)
    assert.strictEqual(next(START - CLOCK_TOLERANCE_MS).epochMs, START)
    assert.strictEqual(next(START - CLOCK_TOLERANCE_MS - 1).epochMs, START - CLOCK_TOLERANCE_MS - 1)
  })

  it("takes all bits that are not time, version or variant from the random bytes, but the first of the counter", () => {
    const idOf = (byte: number) => makeGenerator((target) => target.fill(byte))(START).id
    assert.strictEqual(idOf(0), lowestIdAt(START))
    assert.strictEqual(idOf(0xff), `${lowestIdAt(START).slice(0, 13)}-77ff-bfff-ffffffffffff`)
  })

  it("draws random bytes for 256 ids at once, and uses none twice", () => {
    let draws = 0
    const next = makeGenerator((target) => {
      draws++
      // The 256 groups of eight bytes of a draw differ, and so do the draws.
      for (let at = 0; at < target.length; at++) target[at] = at % 8 === 5 ? draws : at >> 3
    })
    const nodes = Array.from({ length: 512 }, (_, index) => next(START + index).id.slice(-12))
    assert.strictEqual(draws, 2)
    assert.strictEqual(new Set(nodes).size, 512)
    next(START)
    assert.strictEqual(draws, 3)
  })

  it("has room for 2,049 ids in a millisecond, whatever the random bytes", () => {
    const next = makeGenerator((target) => target.fill(0xff))
    const times = Array.from({ length: 2050 }, () => next(START).epochMs - START)
    assert.deepStrictEqual([times[2048], times[2049]], [0, 1])
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
    assert.strictEqual(idBeside("00000000-0000-0000-0000-000000000001", -1), NIL_UUID)
    assert.strictEqual(idBeside("ffffffff-ffff-ffff-ffff-fffffffffffe", 1), highest)
  })
})

describe("a short id", () => {
  it("OPR-125: is eight digits of the id", () => {
    assert.strictEqual(shortIdOf("0199a0f0-5f3c-7c3e-9d0b-0000000000ff"), "a0f05f3c")
    const next = generator()
    const short = Array.from({ length: 100 }, (_, index) => shortIdOf(next(START + index * 1000).id))
    // In the order of creation, each of its second.
    assert.deepStrictEqual(short, short.toSorted())
    assert.strictEqual(new Set(short).size, 100)
    for (const id of short) assert.isTrue(isShortId(id), id)
  })

  it("OPR-125: is looked for in either case, and no other text is", () => {
    for (const text of ["a0f05f3c", "A0F05F3C", "01234567"]) assert.isTrue(isShortId(text), text)
    for (const text of ["", "a", "a0f05f3", "a0f05f3cc", "xa0f05f3c", "a0f05f3c ", "a0f05f3g", "a0f0-5f3"]) {
      assert.isFalse(isShortId(text), text)
    }
  })
})
