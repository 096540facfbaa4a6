import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  Charge,
  type ChargeReport,
  ChargeStatus,
  chargeStatusAt,
  chargeTransition,
  chargeTransitions,
  CreateCharge,
  decodeCreateCharge
} from "../src/Charge.ts"

describe("the transitions of a charge", () => {
  it("CHG-7: are those of the contract", () => {
    const stored = chargeTransitions.flatMap(({ from, to }) => from.map((state) => `${state} to ${to}`))
    assert.sameMembers(
      [...new Set(stored)],
      [
        "processing to pending",
        "processing to failed",
        "pending to paid",
        "pending to canceled",
        "pending to failed",
        "expired to paid",
        "paid to refunded",
        "paid to infraction",
        "paid to charged_back",
        "infraction to paid",
        "infraction to charged_back",
        "infraction to refunded"
      ]
    )
  })

  it("CHG-7, CHG-8: a report changes nothing in a state that has no transition for it", () => {
    const reports = new Set(chargeTransitions.map(({ report }) => report))
    const changes = (report: ChargeReport) =>
      ChargeStatus.literals.filter((status) => chargeTransition(report, status) !== undefined)
    assert.deepStrictEqual(Object.fromEntries([...reports].map((report) => [report, changes(report)])), {
      emitted: ["processing"],
      refused: ["processing"],
      paid: ["pending", "expired"],
      failed: ["pending"],
      canceled: ["pending"],
      refunded: ["paid", "infraction"],
      infraction: ["paid"],
      charged_back: ["paid", "infraction"],
      dispute_won: ["infraction"]
    })
  })

  it("CHG-2, CHG-3, DSP-3: emit their events, and `paid` once in a charge's life", () => {
    const events = chargeTransitions.map(({ events, report }) => [report, events])
    assert.deepStrictEqual(Object.fromEntries(events), {
      emitted: ["created", "emitted"],
      refused: ["failed"],
      paid: ["paid"],
      failed: ["failed"],
      canceled: ["canceled"],
      refunded: ["refunded"],
      infraction: ["infraction"],
      charged_back: ["charged_back"],
      dispute_won: []
    })
  })
})

describe("the status of a charge", () => {
  it("CHG-23: is one of nine", () => {
    assert.sameMembers(
      [...ChargeStatus.literals],
      ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]
    )
  })

  it("CHG-5: is `expired` from the instant of expiry, and only if it was `pending`", () => {
    assert.strictEqual(chargeStatusAt("pending", 1000, 999), "pending")
    assert.strictEqual(chargeStatusAt("pending", 1000, 1000), "expired")
    assert.strictEqual(chargeStatusAt("pending", null, 1000), "pending")
    for (const status of ChargeStatus.literals.filter((literal) => literal !== "pending")) {
      assert.strictEqual(chargeStatusAt(status, 0, 1000), status)
    }
  })
})

describe("The body of a charge", () => {
  const customer = { name: "Ana", email: "ana@example.com", document: "52998224725" }

  /** The code and the details of a refusal. */
  const refused = (more: object) => {
    const decoded = decodeCreateCharge({ amount: 1000, customer, ...more })
    return Result.isSuccess(decoded) ? "accepted" : [decoded.failure.code, decoded.failure.details]
  }

  it("CHG-10: the amount is 100 to 999999999999", () => {
    for (const amount of [100, 999_999_999_999]) assert.strictEqual(refused({ amount }), "accepted")
    for (const amount of [99, 0, -100])
      assert.deepStrictEqual(refused({ amount }), ["AMOUNT_BELOW_MINIMUM", ["amount"]])
    for (const amount of [1_000_000_000_000, 100.5, Number.NaN, "100", null]) {
      assert.deepStrictEqual(refused({ amount }), ["VALIDATION_ERROR", ["amount"]])
    }
  })

  it("CHG-11: the method is `pix` or absent, and any other text is `METHOD_NOT_SUPPORTED`", () => {
    for (const more of [{}, { method: "pix" }, { method: null }]) assert.strictEqual(refused(more), "accepted")
    for (const method of ["card", "boleto", "PIX", "pix ", ""]) {
      assert.deepStrictEqual(refused({ method }), ["METHOD_NOT_SUPPORTED", ["method"]])
    }
    assert.deepStrictEqual(refused({ method: 1 }), ["VALIDATION_ERROR", ["method"]])
  })

  it("CHG-11: the document of the interface lists `pix` alone", () => {
    const { method } = Schema.toJsonSchemaDocument(CreateCharge).definitions["CreateCharge"]!["properties"] as {
      readonly method: { readonly anyOf: ReadonlyArray<{ readonly allOf: ReadonlyArray<object> }> }
    }
    assert.deepInclude(method.anyOf[0]?.allOf[0], { enum: ["pix"] })
  })

  it("CHG-14: `expires_in` is 60 to 604800 seconds", () => {
    for (const expires_in of [60, 604_800, null]) assert.strictEqual(refused({ expires_in }), "accepted")
    for (const expires_in of [59, 604_801, 60.5]) {
      assert.deepStrictEqual(refused({ expires_in }), ["VALIDATION_ERROR", ["expires_in"]])
    }
  })
})

it("API-12: a charge has a status that a later release adds, and no other kind of value", () => {
  const { status } = Charge.fields
  assert.isTrue(Schema.is(status)("paid"))
  assert.isTrue(Schema.is(status)("later"))
  assert.isFalse(Schema.is(status)(null))
})
