/** What tells two requests of operators apart. */
import { assert, describe, it } from "@effect/vitest"
import { fingerprint } from "../../src/operators/Fingerprint.ts"

describe("A fingerprint", () => {
  it("OPR-202: is equal whatever the order of fields, and of nothing else", () => {
    assert.strictEqual(
      fingerprint({ a: 1, b: [1, { c: null, d: "x" }] }),
      fingerprint({ b: [1, { d: "x", c: null }], a: 1 })
    )
    const all = [
      {},
      [],
      null,
      "",
      0,
      [[]],
      [{}],
      { a: [] },
      { a: {} },
      [1, 2],
      [12],
      ["1,2"],
      { a: 1 },
      [["a", 1]],
      '{"a":1}'
    ]
    assert.strictEqual(new Set(all.map(fingerprint)).size, all.length)
  })

  it("OPR-202: is made of a body of any depth", () => {
    const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`) as unknown
    assert.match(fingerprint(deep), /^[0-9a-f]{64}$/)
  })
})
