/** Masked personal data. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Charge } from "../src/Charge.ts"
import { listOf } from "../src/List.ts"
import { maskDocument, maskEmail, maskOf, maskPhone, maskPixKey, maskText, personal } from "../src/PersonalData.ts"

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

  it.each([
    [maskDocument, "12345", "*****"],
    [maskDocument, "123456", "**34**"],
    [maskDocument, "1234567", "**345**"],
    [maskDocument, "123456789", "***4567**"],
    [maskEmail, "a@b.co", "a***@b.co"],
    [maskEmail, "@b.co", "*****"],
    [maskEmail, "maria", "*****"],
    [maskPhone, "5511912345678", "*********5678"],
    [maskPhone, "+5", "+*"],
    [maskPhone, "+", "*"],
    [maskPhone, "+12345", "+***45"],
    // As long as an account number may be, and longer.
    [maskPixKey, "abcdefghijklmnopqrst", "***defghi***********"],
    [maskPixKey, "abcdefghijklmnopqrstu", "abcdefgh*************"]
  ] as const)("OPR-48: %o of %s is %s", (mask, text, masked) => assert.strictEqual(mask(text), masked))

  it("OPR-158: of a text, hide documents, e-mail addresses, phones, Pix keys and account numbers in any form", () => {
    const domain = "commat;example"
    for (const secret of [
      "52998224725",
      "529.982.247-25",
      "529 982 247 25",
      "11222333000181",
      "12.ABC.345/01DE-35",
      "12ABC34501DE35",
      "maria@example.com",
      "maria%40example.com",
      "maria\\u0040example.com",
      "maria&#64;example.com",
      "maria&commat;example.com",
      "+5511912345678",
      "(11) 91234-5678",
      "123e4567-e89b-12d3-a456-426655440000",
      "12345-6",
      "bWFyaWFAZXhhbXBsZS5jb20yMDI2"
    ]) {
      for (const quoted of [secret, `{"value":"${secret}","ok":false}`, `value=${secret}; no`, `<b>${secret}</b>`]) {
        const masked = maskText(quoted)
        for (const part of secret.split(/[^0-9A-Za-z]+/).filter((part) => part.length > 3 && !domain.includes(part))) {
          assert.notInclude(masked, part, quoted)
        }
        assert.strictEqual(maskText(masked), masked)
      }
    }
  })

  it("OPR-158: of a text, leave words and short numbers", () => {
    const text = '{"error":"invalid signature","status":401,"detail":"cabeçalho ausente"} see /docs, retry in 30 s'
    assert.strictEqual(maskText(text), text)
    assert.strictEqual(
      maskText('{"name":"Maria","email":"maria@example.com"}'),
      '{"name":"Maria","email":"*****@*******.***"}'
    )
  })

  it("OPR-158: of a text that was cut, hide the last word", () => {
    const start = "x ".repeat(500)
    assert.strictEqual(maskText(`${start}"maria.seg`), `${start}"*****.***`)
    assert.strictEqual(maskText(`${start}"maria" `), `${start}"maria" `)
    assert.strictEqual(maskText(`${start}maria`), `${start}*****`)
    // From the length at which a text may have been cut, also of one word.
    const word = "x".repeat(255)
    assert.strictEqual(maskText(word), word)
    assert.strictEqual(maskText(`${word}x`), "*".repeat(256))
  })

  it.prop("OPR-158: a masked text is masked to itself", [Schema.String], ([text]) => {
    assert.strictEqual(maskText(maskText(text)), maskText(text))
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
    // A field that is absent stays so.
    const { emails: _, ...partial } = person
    assert.deepStrictEqual(mask({ data: [{ inner: person }, { inner: partial }, 7] }), {
      data: [
        { inner: { name: "Maria", document: "***982247**", emails: ["m***@example.com"] } },
        { inner: { name: "Maria", document: "***982247**" } },
        7
      ]
    })
  })

  it("has nothing to mask in a schema without annotations", () => {
    const plain = Schema.Struct({ name: Schema.String })
    for (const schema of [plain, Schema.String, Schema.Array(plain), Schema.NullOr(plain), listOf(plain)]) {
      assert.isUndefined(maskOf(schema))
    }
  })

  it("OPR-48: masks the fields of an object without a schema by their names", () => {
    const mask = maskOf(Schema.Unknown.annotate(personal("fields"))) ?? assert.fail("nothing to mask")
    assert.deepStrictEqual(mask({ recipients: ["maria@example.com", "+5511912345678"], names: ["Maria"] }), {
      recipients: ["m***@example.com", "+*********5678"],
      names: ["Maria"]
    })
    assert.deepStrictEqual(mask([{ account: "12345-6" }]), [{ account: "**345**" }])
    for (const value of ["Maria", 7, true, null, undefined]) assert.strictEqual(mask(value), value)
  })

  it("OPR-48: masks both values of a change as the field that it names", () => {
    const mask = maskOf(Schema.Unknown.annotate(personal("change"))) ?? assert.fail("nothing to mask")
    const cases = [
      ["document", "52998224725", "11144477735", "***982247**", "***444777**"],
      ["email", null, "maria@example.com", null, "m***@example.com"],
      ["name", "Maria", "Ana", "Maria", "Ana"],
      ["holder", { phone: "+5511912345678" }, null, { phone: "+*********5678" }, null]
    ] as const
    for (const [field, before, after, maskedBefore, maskedAfter] of cases) {
      assert.deepStrictEqual(mask({ field, before, after, note: "x" }), {
        field,
        before: maskedBefore,
        after: maskedAfter,
        note: "x"
      })
    }
    for (const value of ["52998224725", null, []]) assert.strictEqual(mask(value), value)
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
