import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { Customer, CustomerInput, Email } from "../src/Customer.ts"
import { maskOf } from "../src/PersonalData.ts"

const isEmail = Schema.is(Email)

describe("CHG-12: an e-mail address", () => {
  const longest = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}`

  it.each([
    "ana@example.com",
    "Ana.Souza+loja@sub.example.com.br",
    "!#$%&'*+/=?^_`{|}~-@a.co",
    "a@1.2",
    "a@x-y.com",
    longest
  ])("is %s", (email) => assert.isTrue(isEmail(email)))

  it.each([
    "",
    "ana",
    "@example.com",
    "ana@",
    "ana@example",
    "ana@example.",
    "ana@.com",
    "ana@-example.com",
    "ana@example-.com",
    "ana@exa_mple.com",
    "ana@example..com",
    "ana souza@example.com",
    "ana@@example.com",
    " ana@example.com",
    "ana@example.com ",
    "ana@example.com\n",
    "ana\u0000@example.com",
    "ana\tsouza@example.com",
    "anã@example.com",
    "ana@exämple.com",
    "\ud800@example.com",
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(64)}.com`,
    `${longest}d`
  ])("is not %j", (email) => assert.isFalse(isEmail(email)))

  it("has its format in the document of the interface", () => {
    assert.include(JSON.stringify(Schema.toJsonSchemaDocument(Email).schema), '"format":"email"')
  })
})

describe("CHG-12: a customer", () => {
  const ana = { name: "Ana", email: "ana@example.com", document: "529.982.247-25" }
  const decode = Schema.decodeUnknownExit(CustomerInput)
  const accepts = (customer: unknown): boolean => decode(customer)._tag === "Success"

  it("needs name, e-mail and document, and may have a phone", () => {
    for (const more of [{}, { phone: null }, { phone: "" }, { phone: "x".repeat(32) }]) {
      assert.isTrue(accepts({ ...ana, ...more }), JSON.stringify(more))
    }
    for (const name of ["name", "email", "document"] as const) {
      const { [name]: _left, ...others } = ana
      assert.isFalse(accepts(others), `without ${name}`)
      assert.isFalse(accepts({ ...ana, [name]: null }), `${name} is null`)
    }
    assert.isFalse(accepts({ ...ana, phone: "x".repeat(33) }))
  })

  it("has a name of 1 to 200 characters", () => {
    for (const name of ["A", "🍕".repeat(200)]) assert.isTrue(accepts({ ...ana, name }))
    for (const name of ["", "A".repeat(201), "A\u0000"]) assert.isFalse(accepts({ ...ana, name }))
  })

  it("API-11: is decoded with its document without mask", () => {
    assert.strictEqual(Schema.decodeUnknownSync(CustomerInput)(ana).document, "52998224725")
  })

  it("OPR-48: is shown with its e-mail address and its document masked", () => {
    const shown = { ...ana, document: "52998224725" }
    assert.deepStrictEqual(maskOf(Customer)?.(shown), {
      name: "Ana",
      email: "a***@example.com",
      document: "***982247**"
    })
  })
})
