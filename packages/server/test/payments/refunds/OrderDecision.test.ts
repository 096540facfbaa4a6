/** Refunds that operators order, and their ends, without a database: examples. `RefundDecision.test.ts` has the histories. */
import { assert, describe, it } from "@effect/vitest"
import type { ChargeStatus } from "@pix-payments/domain/Charge"
import { decideEnd, decideOrder } from "../../../src/payments/refunds/RefundDecision.ts"
import { lockedCharge, movementsOf } from "../../support/NewCharge.ts"
import { factsOf, ids, ORDER, orderOf, refundOf, returnOf, shown, stepsOf } from "../../support/NewRefund.ts"

describe("A refund that an operator orders", () => {
  it("OPR-20, OPR-71: is of a charge that is paid or in `infraction`, and of no more than no MED has blocked", () => {
    const funds = { pending: 100, available: 500, blocked: 400 }
    const ordered = (status: ChargeStatus, requested?: number) => {
      const decision = decideOrder(lockedCharge(funds, { status }), requested, 500)
      return decision._tag === "Ordered" ? [decision.amount, decision.pending] : decision._tag
    }
    assert.deepStrictEqual(ordered("paid"), [600, 100])
    assert.deepStrictEqual(ordered("infraction"), [600, 100])
    for (const status of ["pending", "refunded", "charged_back"] as const)
      assert.strictEqual(ordered(status), "InvalidState", status)
    assert.deepStrictEqual(ordered("paid", 600), [600, 100])
    assert.deepStrictEqual(ordered("paid", 60), [60, 60])
    assert.strictEqual(ordered("paid", 601), "InvalidState")
    assert.strictEqual(ordered("paid", 0), "InvalidState")
  })

  it("BAL-10, OPR-20: is one at a time", () => {
    const locked = lockedCharge({ available: 400, inTransit: 600 })
    assert.strictEqual(decideOrder(locked, 100, 400)._tag, "Ordered")
    assert.strictEqual(decideOrder({ ...locked, order: orderOf(600) }, 100, 400)._tag, "InvalidState")
  })

  it("BAL-6, OPR-21: takes what is not released first, and says what `available` would need", () => {
    const locked = lockedCharge({ pending: 100, available: 500 })
    const decision = decideOrder(locked, 300, 200)
    assert.deepStrictEqual(decision._tag === "Ordered" && movementsOf(decision.step.movements), [
      "pending > returns_in_transit: 100",
      "available > returns_in_transit: 200"
    ])
    assert.deepStrictEqual(decideOrder(locked, 300, 199), { _tag: "InsufficientBalance", needed: 200 })
  })
})

describe("The end of a refund", () => {
  const order = orderOf(600)
  const chargedBack = lockedCharge({ inTransit: 600 }, { status: "charged_back" }, order)
  const refused = { _tag: "Failed", reason: "the account is closed" } as const
  const failed = { id: ORDER, status: "failed", amount: 600, disputeId: null, providerId: null } as const

  it("CHG-26, BAL-10: one that the provider completes keeps its id of the return", () => {
    const completed = { _tag: "Completed", returnId: "D7" } as const
    const part = decideEnd(
      factsOf(lockedCharge({ available: 400, inTransit: 600 }), [refundOf(order)]),
      order,
      completed,
      ids
    )
    assert.deepInclude(part.refunds[0], { status: "completed", providerId: "D7" })
    assert.deepStrictEqual([part.isEmpty, part.steps[0]?.report], [false, undefined])
    const all = decideEnd(factsOf(lockedCharge({ inTransit: 600 }), [refundOf(order)]), order, completed, ids)
    assert.deepStrictEqual([all.isEmpty, all.steps[0]?.report], [true, "refunded"])
  })

  it("CHG-8, DSP-10: one that the provider had reported as another return, under its id, moves nothing more", () => {
    const other = returnOf("r", 600, { nature: null, providerId: "D7" })
    const facts = factsOf(lockedCharge({ available: 400, inTransit: 600 }), [refundOf(order), other])
    const change = decideEnd(facts, order, { _tag: "Completed", returnId: "D7" }, ids)
    assert.deepStrictEqual(stepsOf(change), [["charge.refund_failed", "returns_in_transit > available: 600"]])
    // A report under the order's own id agrees with the books.
    assert.strictEqual(change.orderEnd, "done")
    assert.deepInclude(change.refunds[0], {
      status: "failed",
      failureReason: "the provider reported it as another return"
    })
  })

  it("OPR-21: one that fails gives the money back where it was, and to no MED", () => {
    const delayed = orderOf(600, 200)
    const change = decideEnd(factsOf(lockedCharge({ inTransit: 600 }), [refundOf(delayed)]), delayed, refused, ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refund_failed", "returns_in_transit > pending: 200", "returns_in_transit > available: 400"]
    ])
    assert.deepStrictEqual(shown(change), [failed])
    assert.deepInclude(change, { orderEnd: "refused", isEmpty: false })
    assert.deepInclude(change.refunds[0], { failureReason: "the account is closed", completedAtMs: null })
  })

  it("OPR-73: one that fails gives a MED that was lost what it did not find, as one return with what it found", () => {
    const taken = returnOf("r", 400, { pending: 300 })
    const claims = { lost: [{ disputeId: "med-of-r", missing: 100, taken }] }
    const change = decideEnd(factsOf(chargedBack, [refundOf(order), taken], claims), order, refused, ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refund_failed", "returns_in_transit > available: 500"],
      ["charge.charged_back", "returns_in_transit > acquirer: 100"]
    ])
    const grown = { id: "r", status: "completed", amount: 500, disputeId: "med-of-r", providerId: null } as const
    assert.deepStrictEqual(shown(change), [failed, grown])
    assert.strictEqual(change.refunds[1]?.pending, 300, "of what it found, as before")
  })

  it("OPR-73: MEDs that were lost take it one after the other, and one that gets nothing has no return", () => {
    const missing = (disputeId: string, cents: number) => ({ disputeId, missing: cents, taken: undefined })
    const claims = { lost: [missing("a", 500), missing("b", 300), missing("c", 200)], contested: 50 }
    const change = decideEnd(factsOf(chargedBack, [refundOf(order)], claims), order, refused, ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refund_failed"],
      ["charge.charged_back", "returns_in_transit > acquirer: 500"],
      ["charge.charged_back", "returns_in_transit > acquirer: 100"]
    ])
    assert.deepStrictEqual(
      change.steps.map(({ sourceId }) => sourceId),
      [ORDER, "a", "b"]
    )
    const made = { id: "new", status: "completed", providerId: null } as const
    assert.deepStrictEqual(shown(change), [
      failed,
      { ...made, amount: 500, disputeId: "a" },
      { ...made, amount: 100, disputeId: "b" }
    ])
    assert.isTrue(change.isEmpty, "DSP-7: what contests the charge is lost")
  })

  it("OPR-73: of what is left, open MEDs block what they contest", () => {
    const change = decideEnd(
      factsOf(lockedCharge({ inTransit: 600 }), [refundOf(order)], { contested: 450 }),
      order,
      refused,
      ids
    )
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refund_failed", "returns_in_transit > blocked: 450", "returns_in_transit > available: 150"]
    ])
  })

  it("BAL-6, OPR-73: of what was not released before the order, too, and what is not blocked is released in its time", () => {
    for (const [pending, contested, left] of [
      [200, 450, "available: 150"],
      [500, 450, "pending: 50"]
    ] as const) {
      const { steps } = decideEnd(
        factsOf(lockedCharge({ inTransit: 600 }), [refundOf({ ...order, pending })], { contested }),
        { ...order, pending },
        refused,
        ids
      )
      assert.include(movementsOf(steps[0]?.movements ?? [])?.join(), `returns_in_transit > ${left}`)
    }
  })

  it("CHG-26: an order whose refund was not stored is a defect", () => {
    const facts = factsOf(chargedBack)
    assert.throws(() => decideEnd(facts, order, refused, ids), `order ${ORDER} has no refund`)
    assert.throws(() => decideEnd(facts, order, { _tag: "Completed" }, ids), `order ${ORDER} has no refund`)
  })
})
