import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { documentShape, documentType, punctuated, parseDocument } from "../src/Document.ts"
import { Document } from "../src/DocumentField.ts"
import { codeOf } from "../src/ErrorCode.ts"
import { vectors } from "./vectors.ts"

/** The codes of all failed checks, as the server reads them off the issue. */
const codesOf = (issue: SchemaIssue.Issue): ReadonlyArray<string> => {
  switch (issue._tag) {
    case "Filter":
      return [codeOf(issue.filter.annotations)]
    case "Encoding":
    case "Pointer":
      return codesOf(issue.issue)
    case "Composite":
      return issue.issues.flatMap(codesOf)
    default:
      return [issue._tag]
  }
}

const decode = (input: unknown): string | ReadonlyArray<string> => {
  const result = Schema.decodeUnknownResult(Document)(input, { errors: "all" })
  return Result.isSuccess(result) ? result.success : codesOf(result.failure.issue)
}

const digits = (count: number) => Schema.String.check(Schema.isPattern(new RegExp(`^[0-9]{${count}}$`)))
const CnpjBase = Schema.String.check(Schema.isPattern(/^[0-9A-Z]{12}$/))

/** The one pair of check digits that the base takes, found by trying all hundred. */
const completions = (base: string): ReadonlyArray<string> =>
  Array.from({ length: 100 }, (_, pair) => base + String(pair).padStart(2, "0")).filter(
    (whole) => parseDocument(whole) !== undefined
  )

const Whole = Arbitrary.map(Arbitrary.schema(CnpjBase), (base) => completions(base)[0] ?? "11222333000181")

describe("parseDocument", () => {
  for (const { input, type, value } of vectors.documents.valid) {
    it(`API-11: accepts ${JSON.stringify(input)}: stored without mask, upper-cased`, () => {
      assert.deepStrictEqual(parseDocument(input), { type, value })
    })
  }

  for (const { input, why } of vectors.documents.invalid) {
    it(`API-11: refuses ${JSON.stringify(input)}: ${why}`, () => {
      assert.isUndefined(parseDocument(input))
    })
  }

  it("API-11: text of neither shape has no type and no punctuation", () => {
    for (const text of [
      "",
      "0",
      "00",
      "5299822472",
      "529982247255",
      "1122233300018",
      "112223330001811",
      "x529982247256"
    ]) {
      assert.isUndefined(parseDocument(text), text)
      assert.isUndefined(documentShape(text), text)
      assert.strictEqual(punctuated(text), text)
    }
  })

  it.prop("API-11: every CNPJ base takes exactly one pair of check digits", [CnpjBase], ([base]) => {
    assert.strictEqual(completions(base).length, base === "0".repeat(12) ? 0 : 1)
  })

  it.prop("API-11: every CPF base takes exactly one pair of check digits", [digits(9)], ([base]) => {
    assert.strictEqual(completions(base).length, /^(.)\1*$/.test(base) ? 0 : 1)
  })

  it.prop(
    "check digits detect every change of one character to another class modulo 11, unless both are 0",
    [
      Whole,
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 })),
      Schema.String.check(Schema.isPattern(/^[0-9A-Z]$/))
    ],
    ([whole, at, character]) => {
      const changed = whole.slice(0, at) + character + whole.slice(at + 1)
      const same = (whole.charCodeAt(at) - character.charCodeAt(0)) % 11 === 0
      // Remainders 0 and 1 both make the digit 0: a change that moves both sums between them cannot be seen.
      if (!same && !whole.endsWith("00")) assert.isUndefined(parseDocument(changed), `${whole} -> ${changed}`)
    }
  )

  it.prop(
    "API-11: masks are `.`, `-`, `/` and spaces, wherever they stand",
    [Whole, Schema.Array(Schema.Literals([".", "-", "/", " "]))],
    ([whole, marks]) => {
      const masked = Array.from(whole, (character, index) => character + (marks[index] ?? "")).join("")
      assert.strictEqual(parseDocument(masked.toLowerCase())?.value, whole)
    }
  )
})

describe("Document", () => {
  for (const { input, value, type, masked } of vectors.documents.valid) {
    it(`API-11: decodes ${JSON.stringify(input)} and shows it as ${masked}`, () => {
      const document = Schema.decodeSync(Document)(input)
      assert.strictEqual(document, value)
      assert.strictEqual(documentType(document), type)
      assert.strictEqual(punctuated(document), masked)
      assert.strictEqual(punctuated(masked), masked)
      assert.strictEqual(parseDocument(masked)?.value, value)
    })
  }

  for (const { input, why } of vectors.documents.invalid) {
    it(`API-11: a failing check names INVALID_DOCUMENT, on the text as sent: ${why} (${JSON.stringify(input)})`, () => {
      assert.deepStrictEqual(decode(input), ["INVALID_DOCUMENT"])
    })
  }

  it("API-11: a wrong value of any length is INVALID_DOCUMENT", () => {
    for (const input of ["1", "x".repeat(300), "🙂", "529.982.247-25\n"]) {
      assert.deepStrictEqual(decode(input), ["INVALID_DOCUMENT"], input)
    }
  })

  it("API-10: control characters are VALIDATION_ERROR, and that alone", () => {
    for (const input of ["52998224725\u0000", "529\u0007982", "\ud800"]) {
      assert.deepStrictEqual(decode(input), ["VALIDATION_ERROR"])
    }
  })

  it("refuses values that are not strings", () => {
    for (const input of [52998224725, null, undefined, {}]) assert.deepStrictEqual(decode(input), ["InvalidType"])
  })

  it("encoding keeps the mask", () => {
    assert.strictEqual(Schema.encodeSync(Document)("529.982.247-25"), "529.982.247-25")
    assert.throws(() => Schema.encodeSync(Document)("529.982.247-26"))
  })

  it("without checks, as clients send requests, text that is no document stays as it is", () => {
    const unchecked = Schema.decodeUnknownSync(Document, { disableChecks: true })
    assert.strictEqual(unchecked("later"), "later")
    assert.strictEqual(unchecked("529.982.247-25"), "52998224725")
  })

  it("has no pattern in the document of the interface, which would refuse masks", () => {
    const { schema } = Schema.toJsonSchemaDocument(Document)
    assert.deepInclude(schema, { type: "string", allOf: [{ description: "CPF or CNPJ, with or without mask." }] })
  })

  it.prop("a document decodes from what it encodes to", [Document], ([document]) => {
    assert.strictEqual(Schema.decodeSync(Document)(Schema.encodeSync(Document)(document)), document)
  })
})
