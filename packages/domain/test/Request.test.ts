import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { failsWith } from "../src/ErrorCode.ts"
import { decodeCreateCharge } from "../src/Charge.ts"
import { decodeCreatePayout } from "../src/Payout.ts"
import { arrayUpTo, decoder, distinctUpTo, type Refusal, refusalOf } from "../src/Request.ts"
import { decodeCreateWebhookEndpoint } from "../src/WebhookEndpoint.ts"

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

const refusal = (decoded: Result.Result<unknown, Refusal>): unknown => {
  if (Result.isSuccess(decoded)) return "accepted"
  const { message: _message, ...refused } = decoded.failure
  return refused
}

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
    assert.throws(() => decoder(Schema.Struct({ inner: Schema.Struct({ list: uncounted }) })))
  })

  it("in an object of the request is counted before its elements, too", () => {
    let read = 0
    const element = Schema.String.check(Schema.makeFilter(() => ++read > 0))
    const decode = decoder(Schema.Struct({ inner: Schema.Struct({ list: Schema.NullOr(arrayUpTo(2, element)) }) }))
    assert.strictEqual(refusal(decode({ inner: { list: ["a", "b"] } })), "accepted")
    assert.deepStrictEqual(refusal(decode({ inner: { list: ["a", "b", "c"] } })), {
      code: "VALIDATION_ERROR",
      details: ["inner.list"]
    })
    assert.strictEqual(read, 2)
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

describe("ERR-3: `message`", () => {
  const messageOf = (decoded: Result.Result<unknown, Refusal>): string | undefined =>
    Result.isFailure(decoded) ? decoded.failure.message : "accepted"

  const customer = { name: "Ana", email: "ana@example.com", document: "52998224725" }

  it.each([
    [
      { amount: 19.9, customer },
      "The request is invalid. amount must be an integer number of cents, as 1990 for R$ 19,90, got 19.9."
    ],
    [
      { amount: "1990", customer },
      "The request is invalid. amount must be an integer number of cents, as 1990 for R$ 19,90, got text of 4 characters."
    ],
    [
      { amount: "🎉", customer },
      "The request is invalid. amount must be an integer number of cents, as 1990 for R$ 19,90, got text of 1 character."
    ],
    [
      { amount: 50, customer },
      "The amount is below the minimum of this operation. amount must be at least 100 cents, got 50."
    ],
    [
      { amount: 1000, customer: { ...customer, document: "52998224726" } },
      "The CPF or CNPJ is invalid. customer.document must be a CPF or CNPJ with right check digits, got text of 11 characters."
    ],
    [
      { amount: 1000 },
      "The request is invalid. customer.name is required; customer.email is required; customer.document is required."
    ],
    [
      { amount: 1000, customer, expires_in: 59, reference: {} },
      "The request is invalid. reference must be text of at most 255 characters or null, got an object; expires_in must be a whole number of seconds from 60 to 604800, got 59."
    ],
    [
      { amount: 1000, customer: { ...customer, document: 52998224725, phone: 5511987654321 } },
      "The request is invalid. customer.document must be a CPF or CNPJ with right check digits, got a long number; customer.phone must be text of at most 32 characters or null, got a long number."
    ],
    [[], "The request body must be a JSON object, got a list of 0."],
    [undefined, "The request body is empty. It must be a JSON object."]
  ])("of a charge: %j", (body, message) => {
    assert.strictEqual(messageOf(decodeCreateCharge(body)), message)
  })

  const somePayout = { amount: 1000, pix_key_type: "email", pix_key: "ana@example.com" }
  const url = "an http or https URL without user info or control characters"

  // Of each field, whatever is wrong with it: what is right, with its range.
  it.each([
    [decodeCreateCharge, { amount: 1e15, customer }, "amount", "at most 999999999999 cents"],
    [
      decodeCreateCharge,
      { amount: 1000, customer, expires_in: "1h" },
      "expires_in",
      "a whole number of seconds from 60 to 604800 or null"
    ],
    [
      decodeCreateCharge,
      { amount: 1000, customer, expires_in: 90.5 },
      "expires_in",
      "a whole number of seconds from 60 to 604800"
    ],
    [
      decodeCreateCharge,
      { amount: 1000, customer, expires_in: 3_600_000 },
      "expires_in",
      "a whole number of seconds from 60 to 604800"
    ],
    [decodeCreateCharge, { amount: 1000, customer, method: 7 }, "method", "pix or null"],
    [
      decodeCreateCharge,
      { amount: 1000, customer, description: [] },
      "description",
      "text of at most 140 characters or null"
    ],
    [decodeCreateCharge, { amount: 1000, customer, webhook_url: {} }, "webhook_url", `${url} or null`],
    [
      decodeCreateCharge,
      { amount: 1000, customer, webhook_url: "x".repeat(2049) },
      "webhook_url",
      "text of at most 2048 characters"
    ],
    [
      decodeCreateCharge,
      { amount: 1000, customer, webhook_secret: 7 },
      "webhook_secret",
      "text of at most 255 characters or null"
    ],
    [
      decodeCreateCharge,
      { amount: 1000, customer: { ...customer, name: 7 } },
      "customer.name",
      "text of 1 to 200 characters"
    ],
    [
      decodeCreateCharge,
      { amount: 1000, customer: { ...customer, email: 7 } },
      "customer.email",
      "a valid e-mail address"
    ],
    [
      decodeCreateCharge,
      { amount: 1000, customer: { ...customer, email: "x".repeat(255) } },
      "customer.email",
      "text of at most 254 characters"
    ],
    [decodeCreatePayout, { ...somePayout, pix_key: 7 }, "pix_key", "text of 1 to 255 characters"],
    [
      decodeCreatePayout,
      { ...somePayout, recipient_document: 7 },
      "recipient_document",
      "a CPF or CNPJ with right check digits or null"
    ],
    [decodeCreateWebhookEndpoint, { url: 7, events: ["charge.pix.paid"] }, "url", url],
    [
      decodeCreateWebhookEndpoint,
      { url: "https://a.example", events: [7] },
      "events.0",
      "an event of the catalog, as charge.pix.paid"
    ],
    [
      decodeCreateWebhookEndpoint,
      { url: "https://a.example", events: ["paid"] },
      "events.0",
      "an event of the catalog, as charge.pix.paid"
    ],
    [decodeCreateWebhookEndpoint, { url: "https://a.example", events: [] }, "events", "a list of 1 to 64"]
  ])("%#: %o %o: %s must be %s", (decode, body, field, right) => {
    assert.include(messageOf(decode(body)), ` ${field} must be ${right}, got `)
  })

  it("says a reason once", () => {
    const message = messageOf(decodeCreateCharge({ amount: 1000, customer, expires_in: 90.5 }))
    assert.strictEqual(message?.split("expires_in").length, 2)
  })

  it("of a payout names the form of its key", () => {
    const body = { amount: 1000, pix_key_type: "phone", pix_key: "11987654321" }
    assert.strictEqual(
      messageOf(decodeCreatePayout(body)),
      "The request is invalid. pix_key must be a phone number as +5511987654321, got text of 11 characters."
    )
    assert.strictEqual(
      messageOf(decodeCreatePayout({ ...body, pix_key_type: "evp" })),
      "The request is invalid. pix_key_type must be cpf or cnpj or email or phone or random, got text of 3 characters."
    )
  })

  it("repeats no text that was sent", () => {
    const secret = "p4ss"
    const message = messageOf(
      decodeCreateWebhookEndpoint({ url: secret, events: [secret], description: secret, secret })
    )
    assert.notInclude(message, secret)
    assert.include(message, "secret must be text of 8 to 255 characters, got text of 4 characters")
  })

  it("names eight fields at most", () => {
    const violations = Array.from({ length: 130_900 }, (_, index) => ({
      code: "VALIDATION_ERROR" as const,
      path: ["list", index]
    }))
    assert.match(refusalOf(violations, {}).message ?? "", /^.{0,300}list\.7 is required; and 130892 more\.$/)
  })
})
