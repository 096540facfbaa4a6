/** What is said of a body that is no JSON object, and of each kind of field. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  arrayUpTo,
  cut,
  decoder,
  distinctUpTo,
  parseBody,
  type Refusal,
  refusalOf,
  type Violation,
  violationsOf
} from "../src/Request.ts"

const refusalIn = (decoded: Result.Result<unknown, Refusal>): Refusal =>
  Result.isFailure(decoded) ? decoded.failure : assert.fail("accepted")
const messageOf = (decoded: Result.Result<unknown, Refusal>): string =>
  refusalIn(decoded).message ?? assert.fail("no message")

describe("parseBody", () => {
  const decode = decoder(Schema.Struct({ a: Schema.Number }))

  it("ERR-5: gives the JSON of a text, and nothing of an empty one", () => {
    assert.deepStrictEqual(parseBody('{"a":1}'), { a: 1 })
    assert.isNull(parseBody("null"))
    assert.isUndefined(parseBody(""))
    assert.deepStrictEqual(decode(parseBody('{"a":1}')), Result.succeed({ a: 1 }))
  })

  const form = "The request body is a form. It must be JSON, sent as application/json."
  const early = "The request body is JSON that ends too early."
  const cases: ReadonlyArray<readonly [text: string, message: string]> = [
    ["", "The request body is empty. It must be a JSON object."],
    ["null", "The request body must be a JSON object, got null."],
    ["[1, 2]", "The request body must be a JSON object, got a list of 2."],
    ['"52998224725"', "The request body must be a JSON object, got text of 11 characters."],
    ["a=1", form],
    ["amount=1990&customer%5Bname%5D=Ana", form],
    ["customer[name]=Ana", form],
    ["customer%5Bname%5D=Ana", form],
    ["pix.key-type=cpf", form],
    ['--boundary\r\nContent-Disposition: form-data; name="amount"\r\n\r\n1990', form],
    ['{"a":', early],
    ['{"a":"x', early],
    // A value may look like a form.
    ['{"b":"x=1', early],
    ['{"b":"--', early],
    ["[", early],
    ['{"a":1', early],
    ["[1.", early],
    ['{"a":1.}', "The request body is not JSON, at line 1 column 8."],
    ["end of JSON", "The request body is not JSON."],
    ['{"a":1,}', "The request body is not JSON, at line 1 column 8."],
    ['{"b":"x=1",}', "The request body is not JSON, at line 1 column 12."],
    ['{"b":"--",}', "The request body is not JSON, at line 1 column 11."],
    [`${"\n".repeat(11)}${" ".repeat(33)}{x`, "The request body is not JSON, at line 12 column 35."],
    ["maria", "The request body is not JSON."],
    [" a=1", "The request body is not JSON."],
    // A place that the text itself names is none.
    ["x(line 9 column 9)", "The request body is not JSON."]
  ]
  for (const [text, message] of cases) {
    it(`ERR-5: says which, and where the JSON breaks: ${JSON.stringify(text)}`, () => {
      assert.deepStrictEqual(refusalIn(decode(parseBody(text))), {
        code: "VALIDATION_ERROR",
        details: undefined,
        message
      })
    })
  }
})

/** What a value of a schema must be, as the reasons say it; the fields that are required. */
const found = (schema: Schema.ConstraintDecoder<unknown>, body: unknown): ReadonlyArray<unknown> => {
  const exit = Schema.decodeUnknownExit(schema, { errors: "all" })(body)
  return Exit.isSuccess(exit)
    ? []
    : violationsOf(exit.cause, body).map(({ expected, path }) => `${path.join(".")}: ${expected ?? "required"}`)
}

describe("ERR-3: a field must be", () => {
  const { String: Text, Number: AnyNumber } = Schema
  const cases: ReadonlyArray<readonly [schema: Schema.ConstraintDecoder<unknown>, value: unknown, words: string]> = [
    [Text, 7, "text"],
    [AnyNumber, "7", "a number"],
    [Schema.Boolean, 7, "true or false"],
    [Schema.Null, 7, "null"],
    [Schema.Literal("pix"), 7, "pix"],
    [Schema.Literals(["pix", "boleto"]), "x", "pix or boleto"],
    [Schema.Array(Text), "x", "a list"],
    [Schema.Struct({ name: Text }), "x", "an object"],
    [Schema.Union([Text, Schema.Boolean]), 7, "text or true or false"],
    [Schema.NullOr(AnyNumber), "x", "a number or null"],
    [Schema.BigInt, 7, "another value"],
    [Text.annotate({ expected: "a name" }), 7, "a name"],
    [Text.check(Schema.isNonEmpty({ expected: "a name" })), 7, "a name"],
    [Text.check(Schema.isNonEmpty({ expected: "a name" })), "", "a name"],
    // A check without words.
    [Text.check(Schema.makeFilter(() => false)), "x", "another value"],
    // A number of a query is text there.
    [Schema.NumberFromString, 7, "a number"],
    [Schema.NumberFromString.check(Schema.isInt({ expected: "a whole number" })), "1.5", "a whole number"]
  ]
  for (const [schema, value, words] of cases) {
    it(`${words}, if ${JSON.stringify(value)} is sent`, () => {
      assert.deepStrictEqual(found(Schema.Struct({ f: schema }), { f: value }), [`f: ${words}`])
    })
  }

  it("ERR-3: present, as null is the same as nothing where null is not allowed", () => {
    const schema = Schema.Struct({ name: Schema.String, inner: Schema.Struct({ email: Schema.String }) })
    assert.deepStrictEqual(found(schema, {}), ["name: required", "inner: required"])
    assert.deepStrictEqual(found(schema, { name: null, inner: { email: null } }), [
      "name: required",
      "inner.email: required"
    ])
    assert.deepStrictEqual(found(schema, { name: undefined, inner: null }), ["name: text", "inner: required"])
  })

  it("ERR-3: each field of the member that a body chose, of several", () => {
    const schema = Schema.Union([
      Schema.Struct({ kind: Schema.Literal("a"), name: Schema.String, age: Schema.Number }),
      Schema.Struct({ kind: Schema.Literal("b"), email: Schema.String })
    ])
    assert.deepStrictEqual(found(schema, { kind: "a", name: 7 }), ["name: text", "age: required"])
  })

  it("nothing, where a decode failed by a defect", () => {
    assert.deepStrictEqual(violationsOf(Cause.die("a defect"), {}), [])
  })
})

describe("the decoder of a request", () => {
  it("ERR-3: says how long a list is, whichever way its length is wrong", () => {
    for (const list of [arrayUpTo, distinctUpTo]) {
      const decode = decoder(Schema.Struct({ list: list(3, Schema.String) }))
      for (const length of [0, 4]) {
        const sent = Array.from({ length }, (_, index) => `x${index}`)
        assert.strictEqual(
          messageOf(decode({ list: sent })),
          `The request is invalid. list must be a list of 1 to 3, got a list of ${length}.`
        )
      }
      assert.strictEqual(messageOf(decode({})), "The request is invalid. list is required.")
    }
  })

  it("counts a list that may be null in either order, and takes other fields that may be null", () => {
    const list = arrayUpTo(2, Schema.String)
    for (const nullable of [Schema.Union([Schema.Null, list]), Schema.NullOr(list)]) {
      const decode = decoder(
        Schema.Struct({
          list: nullable,
          name: Schema.NullOr(Schema.String),
          inner: Schema.NullOr(Schema.Struct({ name: Schema.String }))
        })
      )
      for (const body of [
        { list: null, name: null, inner: null },
        { list: ["a", "b"], name: "n", inner: { name: "n" } }
      ]) {
        assert.deepStrictEqual(decode(body), Result.succeed(body))
      }
      const tooLong = refusalIn(decode({ list: ["a", "b", "c"], name: 7, inner: { name: 7 } }))
      assert.deepStrictEqual(tooLong.details, ["list", "name", "inner.name"])
    }
  })

  it("takes no list that it cannot count: one without a maximum, or in an object that may be null", () => {
    const counted = Schema.Struct({ list: arrayUpTo(2, Schema.String) })
    for (const schema of [
      Schema.Struct({ list: Schema.Array(Schema.String) }),
      Schema.Struct({ list: Schema.NullOr(Schema.Array(Schema.String)) }),
      Schema.Struct({ inner: Schema.NullOr(counted) })
    ]) {
      assert.throws(() => decoder(schema), /arrayUpTo or distinctUpTo/)
    }
  })

  const rule: Violation = { code: "INVALID_DOCUMENT", path: ["document"], expected: "another one" }

  it("ERR-3: reports what rules of several fields find along with single fields", () => {
    const decode = decoder(Schema.Struct({ name: Schema.String }), (body) => (body["document"] === "x" ? [rule] : []))
    assert.deepStrictEqual(decode({ name: "n" }), Result.succeed({ name: "n" }))
    assert.deepStrictEqual(refusalIn(decode({ name: "n", document: "x" })), {
      code: "INVALID_DOCUMENT",
      details: ["document"],
      message: "The CPF or CNPJ is invalid. document must be another one, got text of 1 character."
    })
    assert.deepStrictEqual(refusalIn(decode({ document: "x" })).details, ["name"])
  })

  it("ERR-2: of several codes the first in the order is answered, with its own fields only", () => {
    const low: Violation = { code: "AMOUNT_BELOW_MINIMUM", path: ["amount"], expected: "more" }
    for (const violations of [
      [rule, low],
      [low, rule]
    ]) {
      const { code, details, message } = refusalOf(violations, { amount: 1, document: "x" })
      assert.deepStrictEqual([code, details], ["AMOUNT_BELOW_MINIMUM", ["amount"]])
      assert.strictEqual(message, "The amount is below the minimum of this operation. amount must be more, got 1.")
    }
  })

  it("ERR-3: says what is wrong with up to eight fields, and how many others there are", () => {
    const messageOfMany = (count: number) =>
      refusalOf(
        Array.from({ length: count }, (_, index): Violation => ({ code: "VALIDATION_ERROR", path: [`f${index}`] })),
        {}
      ).message
    assert.match(messageOfMany(8) ?? "", /; f7 is required\.$/)
    assert.match(messageOfMany(9) ?? "", /; f7 is required; and 1 more\.$/)
  })
})

it("END-2: an entry that fits is as it was sent; a longer one is cut, well formed", () => {
  for (const text of ["", "paid", "\ud800", `${"x".repeat(254)}\ud800`]) assert.strictEqual(cut(text), text)
  assert.strictEqual(cut(`${"x".repeat(254)}🍕`), `${"x".repeat(254)}\ufffd`)
})
