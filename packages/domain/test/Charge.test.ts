import { assert, describe, it } from "@effect/vitest"
import { type ChargeReport, ChargeStatus, chargeStatusAt, chargeTransition, chargeTransitions } from "../src/Charge.ts"

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
