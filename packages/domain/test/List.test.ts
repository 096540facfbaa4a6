import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Limit, listOf, listQuery, pageOf } from "../src/List.ts"

const numbers = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, at) => at)

describe("A page", () => {
  it("LIST-5: has up to `limit` items, and `has_more` where one more was read", () => {
    for (const limit of [1, 2, 20, 100]) {
      for (let count = 0; count <= limit + 1; count++) {
        const { data, has_more, object } = pageOf(numbers(count), limit)
        assert.strictEqual(object, "list")
        assert.deepStrictEqual(data, numbers(Math.min(count, limit)))
        assert.strictEqual(has_more, count === limit + 1, `${count} of ${limit}`)
      }
    }
  })

  it("LIST-1: is a list of its kind of item", () => {
    const isPage = Schema.is(listOf(Schema.Int))
    assert.isTrue(isPage(pageOf([1, 2, 3], 2)))
    assert.isTrue(isPage(pageOf([], 2)))
    assert.isFalse(isPage({ object: "list", data: ["1"], has_more: false }))
    assert.isFalse(isPage({ object: "page", data: [1], has_more: false }))
    assert.isFalse(isPage({ object: "list", data: [1] }))
  })
})

describe("The query of a list", () => {
  const isQuery = Schema.is(Schema.Struct(listQuery))

  it("LIST-3: `limit` is a whole number from 1 to 100", () => {
    for (const limit of [1, 20, 100]) assert.isTrue(Schema.is(Limit)(limit), String(limit))
    for (const limit of [0, -1, 101, 1.5, Number.NaN, "20"]) assert.isFalse(Schema.is(Limit)(limit), String(limit))
  })

  it("LIST-4: `starting_after` is an id", () => {
    assert.isTrue(isQuery({}))
    assert.isTrue(isQuery({ limit: 5, starting_after: "0199a1b2-0000-7000-8000-000000000001" }))
    for (const starting_after of ["", "1", "0199a1b2-0000-7000-8000-00000000000", 1]) {
      assert.isFalse(isQuery({ starting_after }), String(starting_after))
    }
  })
})
