/** Masked personal data. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Charge } from "../src/Charge.ts"
import { listOf } from "../src/List.ts"
import { maskDocument, maskEmail, maskOf, maskPhone, maskPixKey, personal } from "../src/PersonalData.ts"

describe("masks", () => {
  it("OPR-48: show enough to recognise and not enough to know", () => {
    assert.strictEqual(maskDocument("52998224725"), "***982247**")
    assert.strictEqual(maskDocument("11222333000181"), "***223330*****")
    assert.strictEqual(maskDocument("12345-6"), "**345**")
    assert.strictEqual(maskEmail("maria@example.com"), "m***@example.com")
    assert.strictEqual(maskPhone("+5511912345678"), "+*********5678")
    assert.strictEqual(maskPixKey("maria@example.com"), "m***@example.com")
    assert.strictEqual(maskPixKey("+5511912345678"), "+*********5678")
    assert.strictEqual(maskPixKey("52998224725"), "***982247**")
    assert.strictEqual(maskPixKey("123e4567-e89b-12d3-a456-426655440000"), "123e4567****************************")
  })

  const all = { maskDocument, maskEmail, maskPhone, maskPixKey }
  const Text = Schema.NonEmptyString
  for (const [name, mask] of Object.entries(all)) {
    it.prop(`OPR-48: ${name} hides something of every text, and masks a masked text to itself`, [Text], ([text]) => {
      const masked = mask(text)
      assert.include(masked, "*")
      assert.strictEqual(mask(masked), masked)
    })
  }
})

describe("maskOf", () => {
  const Person = Schema.Struct({
    name: Schema.String,
    document: Schema.NullOr(Schema.String.annotate(personal("document"))),
    emails: Schema.Array(Schema.String.annotate(personal("email"))),
    note: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown).annotate(personal("fields")))
  })

  it("OPR-48: masks the annotated fields of a schema, wherever they are, and nothing else", () => {
    const mask = maskOf(listOf(Schema.Struct({ inner: Schema.NullOr(Person) }))) ?? assert.fail("nothing to mask")
    const person = { name: "Maria", document: "52998224725", emails: ["maria@example.com"] }
    const note = { phone: "+5511912345678", nested: [{ document: "52998224725", pix_key: null }], name: "Maria" }
    assert.deepStrictEqual(
      mask({ object: "list", has_more: false, data: [{ inner: { ...person, note } }, { inner: null }] }),
      {
        object: "list",
        has_more: false,
        data: [
          {
            inner: {
              name: "Maria",
              document: "***982247**",
              emails: ["m***@example.com"],
              note: { phone: "+*********5678", nested: [{ document: "***982247**", pix_key: null }], name: "Maria" }
            }
          },
          { inner: null }
        ]
      }
    )
    assert.isUndefined(maskOf(Schema.Struct({ name: Schema.String })))
  })

  it("OPR-48: leaves the value itself as it is", () => {
    const mask = maskOf(Charge) ?? assert.fail("nothing to mask")
    const customer = Object.freeze({ name: "Maria", email: "maria@example.com", document: "52998224725" })
    const charge = Object.freeze({ customer, receiver: null })
    assert.deepStrictEqual(mask(charge), {
      customer: { name: "Maria", email: "m***@example.com", document: "***982247**" },
      receiver: null
    })
    assert.strictEqual(customer.email, "maria@example.com")
  })
})
