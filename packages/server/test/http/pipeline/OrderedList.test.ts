import { assert, describe, it } from "@effect/vitest"
import { OrderedList } from "../../../src/http/pipeline/OrderedList.ts"

describe("OrderedList", () => {
  it("gives its items in the order in which they were added, without those that were removed", () => {
    const list = new OrderedList<string>()
    const [, b, , d] = ["a", "b", "c", "d"].map((item) => list.add(item))
    list.remove(b!)
    list.remove(d!)
    list.remove(d!)
    list.add("e")
    assert.deepStrictEqual([...list], ["a", "c", "e"])
    assert.strictEqual(list.size, 3)
  })

  it("lets the item that is visited be removed", () => {
    const list = new OrderedList<number>()
    const entries = new Map([1, 2, 3].map((item) => [item, list.add(item)]))
    const seen: Array<number> = []
    for (const item of list) {
      seen.push(item)
      list.remove(entries.get(item)!)
    }
    assert.deepStrictEqual(seen, [1, 2, 3])
    assert.deepStrictEqual([...list], [])
    assert.strictEqual(list.size, 0)
  })

  it("keeps nothing alive by an entry that was removed", () => {
    const list = new OrderedList<string>()
    const entry = list.add("a")
    list.add("b")
    list.remove(entry)
    assert.deepStrictEqual(entry, { item: undefined, before: undefined, after: undefined })
  })
})
