/** The pages of a list that a provider answers otherwise than it was asked. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { everyPage } from "../../src/reports/ListPages.ts"

/** What is read of a list of three pages, with one entry each, whose pages are answered with these numbers. */
const readWith = (numbers: ReadonlyArray<number | undefined>, total: number) =>
  Effect.gen(function* () {
    const read: Array<number | undefined> = []
    const problem = yield* everyPage(
      { fromMs: 0, toMs: 1 },
      ({ page }) =>
        Effect.succeed({
          items: [numbers[page]],
          unreadable: [],
          hasMore: page + 1 < numbers.length,
          number: numbers[page],
          total
        }),
      ({ items }) => Effect.sync(() => void read.push(...items))
    )
    return { problem, read }
  })

describe("The pages of a list", () => {
  it.effect.each([
    { numbers: [0, 1, 2], total: 3, problem: undefined },
    { numbers: [1, 2, 3], total: 0, problem: undefined },
    { numbers: [0, 0, 0], total: 3, problem: "page 0 of a list was answered for page 1" },
    { numbers: [0, 2, 1], total: 3, problem: "page 2 of a list was answered for page 1" },
    { numbers: [0], total: 250, problem: "a list of 250 entries has 1" }
  ])("OPR-95: $numbers of $total entries", ({ numbers, problem, total }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* readWith(numbers, total), { problem, read: [...numbers] })
    })
  )

  it.effect("OPR-95: what is on a page whose numbers cannot be read counts, and no page after it is asked for", () =>
    Effect.gen(function* () {
      const problem = "the numbers of page 1 of a list cannot be read"
      assert.deepStrictEqual(yield* readWith([0, undefined, 2], 3), { problem, read: [0, undefined] })
    })
  )
})
