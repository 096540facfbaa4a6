/** What a person reads of a long list that changes. */
import { assert, it } from "@effect/vitest"
import { differenceOf } from "../src/operator/ApprovalChange.ts"

const many = Array.from({ length: 1000 }, (_, n) => `shop-${n}@example.com`)

it("OPR-240: of a long list it is what is added and removed", () => {
  const changed = many.with(500, "ana@example.com")
  assert.deepStrictEqual(differenceOf(many, changed), {
    removed: ["shop-500@example.com"],
    added: ["ana@example.com"],
    count: 1000
  })
  assert.deepStrictEqual(differenceOf([], many)?.added, many)
  assert.deepStrictEqual(differenceOf(many, many.slice(1)), { removed: many.slice(0, 1), added: [], count: 999 })
})

it("OPR-240: a short list, and one that no list was before, are shown as they are", () => {
  assert.isUndefined(differenceOf(["a"], ["a", "b"]))
  assert.isUndefined(differenceOf(null, many))
  assert.isUndefined(differenceOf(many, null))
  assert.isUndefined(differenceOf(undefined, many))
})
