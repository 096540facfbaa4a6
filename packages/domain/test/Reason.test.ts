/** What the message of a refused request says of a field. */
import { assert, describe, it } from "@effect/vitest"
import { counted, got, reasonOf } from "../src/Reason.ts"

describe("reasonOf", () => {
  it("ERR-3: says what a field must be, and what kind of value was sent", () => {
    assert.strictEqual(reasonOf("amount", "an integer", "x"), "amount must be an integer, got text of 1 character")
    assert.strictEqual(reasonOf("amount", "an integer", undefined), "amount must be an integer")
    assert.strictEqual(reasonOf("amount", undefined, undefined), "amount is required")
    assert.strictEqual(reasonOf("amount", undefined, "x"), "amount is required")
  })
})

describe("got", () => {
  const cases: ReadonlyArray<readonly [value: unknown, words: string]> = [
    [undefined, ""],
    ["", ", got text of 0 characters"],
    ["maria", ", got text of 5 characters"],
    ["🎉", ", got text of 1 character"],
    [[], ", got a list of 0"],
    [["52998224725"], ", got a list of 1"],
    [{ document: "52998224725" }, ", got an object"],
    [new Map(), ", got an object"],
    [() => "52998224725", ", got an object"],
    [null, ", got null"],
    [true, ", got true"],
    [19.9, ", got 19.9"],
    [-1, ", got -1"],
    [99_999_999, ", got 99999999"],
    [100_000_000, ", got a long number"],
    [5_511_987_654_321, ", got a long number"],
    [-52_998_224_725, ", got a long number"],
    [529_982_247.25, ", got a long number"],
    [1n, ", got a BigInt"],
    [52_998_224_725n, ", got a BigInt"]
  ]
  for (const [value, words] of cases) {
    it(`ERR-3: repeats no text, and no number as long as a CPF: ${typeof value}${words}`, () => {
      assert.strictEqual(got(value), words)
    })
  }
})

it("one thing is singular, none and several are plural", () => {
  assert.deepStrictEqual(
    [0, 1, 2].map((count) => counted(count, "day")),
    ["0 days", "1 day", "2 days"]
  )
})
