import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { failsWith } from "../src/ErrorCode.ts"
import { arrayUpTo, decoder, distinctUpTo, refusalOf } from "../src/Request.ts"

/** A decoder of `{ name, list }` that counts how many elements of the list it reads. */
const counting = (list: (element: Schema.String) => Schema.ConstraintDecoder<unknown>) => {
  const read = { count: 0 }
  const element = Schema.String.check(
    Schema.makeFilter((value) => {
      read.count++
      return value.startsWith("known")
    }, failsWith("INVALID_WEBHOOK_EVENT"))
  )
  return { read, decode: decoder(Schema.Struct({ name: Schema.String, list: list(element) })) }
}

const refusal = (decoded: Result.Result<unknown, unknown>): unknown =>
  Result.isFailure(decoded) ? decoded.failure : "accepted"

const distinct = (count: number) => Array.from({ length: count }, (_, index) => `known ${index}`)

describe("An array in a request", () => {
  it("is refused by its length before an element is decoded", () => {
    for (const list of [arrayUpTo, distinctUpTo]) {
      const { decode, read } = counting((element) => list(64, element))
      const long = [...distinct(130_900)]
      assert.deepStrictEqual(refusal(decode({ name: "n", list: long })), {
        code: "VALIDATION_ERROR",
        details: ["list"]
      })
      // What else is wrong is found with it.
      assert.deepStrictEqual(refusal(decode({ name: 1, list: long })), {
        code: "VALIDATION_ERROR",
        details: ["name", "list"]
      })
      assert.strictEqual(read.count, 0)
      assert.strictEqual(refusal(decode({ name: "n", list: distinct(64) })), "accepted")
      assert.deepStrictEqual(refusal(decode({ name: "n", list: distinct(65) })), {
        code: "VALIDATION_ERROR",
        details: ["list"]
      })
      assert.strictEqual(read.count, 64)
      for (const empty of [[], null, undefined, "known", { length: 1 }]) {
        assert.deepStrictEqual(refusal(decode({ name: "n", list: empty })), {
          code: "VALIDATION_ERROR",
          details: ["list"]
        })
      }
    }
  })

  it("of distinct elements accepts up to 1,000 with repeats", () => {
    const { decode, read } = counting((element) => distinctUpTo(64, element))
    const repeated = (count: number) => Array.from({ length: count }, (_, index) => `known ${index % 64}`)
    assert.strictEqual(refusal(decode({ name: "n", list: repeated(1000) })), "accepted")
    assert.strictEqual(read.count, 1000)
    assert.deepStrictEqual(refusal(decode({ name: "n", list: repeated(1001) })), {
      code: "VALIDATION_ERROR",
      details: ["list"]
    })
    assert.strictEqual(read.count, 1000)
  })

  it("without a maximum is a mistake in the schema", () => {
    const uncounted = Schema.Array(Schema.String)
    assert.throws(() => decoder(Schema.Struct({ list: uncounted })))
    assert.throws(() => decoder(Schema.Struct({ list: Schema.optionalKey(Schema.NullOr(uncounted)) })))
    assert.throws(() => decoder(Schema.Struct({ inner: Schema.Struct({ list: arrayUpTo(1, Schema.String) }) })))
  })
})

describe("`details`", () => {
  it("ERR-4: has at most 100 entries", () => {
    const violations = Array.from({ length: 130_900 }, (_, index) => ({
      code: "VALIDATION_ERROR" as const,
      path: ["list", index]
    }))
    const { details } = refusalOf(violations, {})
    assert.deepStrictEqual(
      details,
      Array.from({ length: 100 }, (_, index) => `list.${index}`)
    )
  })

  it("END-2: names an unknown event by at most 255 characters, well formed", () => {
    const { decode } = counting((element) => distinctUpTo(64, element))
    const list = ["🍕".repeat(1000), "x".repeat(255)]
    assert.deepStrictEqual(refusal(decode({ name: "n", list })), {
      code: "INVALID_WEBHOOK_EVENT",
      details: ["🍕".repeat(127) + "\ufffd", "x".repeat(255)]
    })
  })
})
