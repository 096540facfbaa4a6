/** Returns that the provider reports, without a database: examples. `RefundDecision.test.ts` has the histories. */
import { assert, describe, it } from "@effect/vitest"
import type { ChargeStatus } from "@pix-payments/domain/Charge"
import type { ContestedMoney } from "../../../src/payments/refunds/DisputedMoney.ts"
import {
  decideReturn,
  type RefundChange,
  type ReportedReturn,
  unnamedReturns
} from "../../../src/payments/refunds/RefundDecision.ts"
import type { StoredRefund } from "../../../src/payments/refunds/RefundStore.ts"
import { CREATED, lockedCharge } from "../../support/NewCharge.ts"
import {
  factsOf,
  ids,
  NOW,
  openMed,
  ORDER,
  orderOf,
  refundOf,
  returnOf,
  shown,
  stepsOf
} from "../../support/NewRefund.ts"

const report = (amount: number | undefined, changes: Partial<ReportedReturn> = {}): ReportedReturn => ({
  as: "refunded",
  isMed: false,
  amount,
  externalId: "D1",
  atMs: NOW,
  ...changes
})
const medReport = (amount: number | undefined, changes: Partial<ReportedReturn> = {}) =>
  report(amount, { as: "charged_back", isMed: true, ...changes })

const changesNothing = (change: RefundChange) =>
  change.steps.length === 0 && change.refunds.length === 0 && change.orderEnd === undefined && !change.isApplied

describe("A return that the provider reports", () => {
  it("CHG-7: is of paid charges only", () => {
    const unpaid = ["processing", "pending", "canceled", "failed"] as const
    for (const status of unpaid) {
      const change = decideReturn(factsOf(lockedCharge({}, { status })), report(300), ids)
      assert.isTrue(changesNothing(change), status)
      assert.strictEqual(change.unmatched, 0, status)
    }
    for (const status of ["paid", "infraction", "refunded", "charged_back"] satisfies ReadonlyArray<ChargeStatus>)
      assert.isTrue(
        decideReturn(factsOf(lockedCharge({ available: 300 }, { status })), report(300), ids).isApplied,
        status
      )
  })

  it("BAL-11: of more than is left gives back what is left, and the rest is unmatched", () => {
    const change = decideReturn(factsOf(lockedCharge({ available: 400, blocked: 100 })), report(700), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refunded", "blocked > acquirer: 100", "available > acquirer: 400"]
    ])
    assert.deepInclude(change, { isApplied: true, unmatched: 200, isEmpty: true, arrivedLost: 0 })
    const late = decideReturn(factsOf(lockedCharge({}, { status: "refunded" })), report(700), ids)
    assert.isTrue(changesNothing(late))
    assert.strictEqual(late.unmatched, 700)
  })

  it("BAL-11: of no amount is of all that is left, and nothing of it is unmatched", () => {
    const change = decideReturn(factsOf(lockedCharge({ pending: 300, available: 400 })), report(undefined), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refunded", "pending > acquirer: 300", "available > acquirer: 400"]
    ])
    assert.deepInclude(change, { unmatched: 0, isEmpty: true })
    const late = decideReturn(factsOf(lockedCharge({}, { status: "refunded" })), report(undefined), ids)
    assert.strictEqual(late.unmatched, 0)
  })

  it("OPR-70: is a refund of the provider, under its id where it gives one, else under ours", () => {
    const made = (externalId: string | undefined) =>
      shown(decideReturn(factsOf(lockedCharge({ available: 1000 })), report(300, { externalId }), ids))
    const refund = { id: "new", status: "completed", amount: 300, disputeId: null } as const
    assert.deepStrictEqual(made("D1"), [{ ...refund, providerId: "D1" }])
    assert.deepStrictEqual(made(undefined), [{ ...refund, providerId: "new" }])
    const completedAt = (atMs: number | undefined) =>
      decideReturn(factsOf(lockedCharge({ available: 1000 })), report(300, { atMs }), ids).refunds[0]?.completedAtMs
    assert.deepStrictEqual([completedAt(NOW - 5000), completedAt(undefined)], [NOW - 5000, NOW])
  })
})

describe("A return of the open refund", () => {
  const order = orderOf(600)
  const locked = lockedCharge({ available: 400, inTransit: 600 }, {}, order)

  it("OPR-72: ends it, whether the provider names it with hyphens or without", () => {
    for (const externalId of [ORDER, "01900000000070008000000000000001"]) {
      const change = decideReturn(factsOf(locked, [refundOf(order)]), report(600, { externalId }), ids)
      assert.strictEqual(change.orderEnd, "done")
      assert.deepStrictEqual(stepsOf(change), [["charge.refunded", "returns_in_transit > acquirer: 600"]])
      assert.deepInclude(change.refunds[0], { id: ORDER, status: "completed", completedAtMs: NOW })
    }
  })

  it("DSP-10: is applied once", () => {
    const after = lockedCharge({ available: 400 })
    for (const externalId of [ORDER, "01900000000070008000000000000001"]) {
      const completed = refundOf(order, { status: "completed" })
      assert.isTrue(changesNothing(decideReturn(factsOf(after, [completed]), report(600, { externalId }), ids)))
    }
    const named = refundOf(order, { status: "completed", providerId: "D1" })
    assert.isTrue(changesNothing(decideReturn(factsOf(after, [named]), report(400), ids)))
    const other = decideReturn(factsOf(after, [named]), report(400, { externalId: "D2" }), ids)
    assert.deepStrictEqual(stepsOf(other), [["charge.refunded", "available > acquirer: 400"]])
    // Refunds without an id of the provider are none that it reports without one.
    const nameless = report(400, { externalId: undefined })
    assert.isTrue(decideReturn(factsOf(after, [refundOf(order, { status: "completed" })]), nameless, ids).isApplied)
  })

  it("BAL-16: after its refusal, takes what the charge still has", () => {
    const failed = refundOf(order, { status: "failed" })
    const change = decideReturn(
      factsOf(lockedCharge({ available: 500 }), [failed]),
      report(600, { externalId: ORDER }),
      ids
    )
    assert.deepStrictEqual(stepsOf(change), [["charge.refunded", "available > acquirer: 500"]])
    assert.strictEqual(change.unmatched, 100)
  })
})

describe("A return while another refund is open", () => {
  const order = orderOf(600)
  const refunds = [refundOf(order)]

  it("BAL-9: leaves the refund alone, as far as other money of the charge is enough", () => {
    const locked = lockedCharge({ available: 300, blocked: 100, inTransit: 600 }, {}, order)
    const change = decideReturn(factsOf(locked, refunds, { open: [openMed("a", 100)] }), report(400), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refunded", "blocked > acquirer: 100", "available > acquirer: 300"]
    ])
    assert.deepInclude(change, { orderEnd: undefined, unmatched: 0, isEmpty: false })
  })

  it("BAL-9: of more than that makes the refund fail, and takes its money", () => {
    const locked = lockedCharge({ available: 400, inTransit: 600 }, {}, order)
    const change = decideReturn(factsOf(locked, refunds), report(700), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refund_failed", "returns_in_transit > available: 600"],
      ["charge.refunded", "available > acquirer: 700"]
    ])
    assert.deepInclude(change, { orderEnd: "refused", unmatched: 0, isEmpty: false })
    assert.deepInclude(change.after.funds, { available: 300, inTransit: 0 })
    assert.deepStrictEqual(
      shown(change).map(({ amount, status }) => [status, amount]),
      [
        ["failed", 600],
        ["completed", 700]
      ]
    )
  })

  it("DSP-7: of a MED whose loss was reported needs no money that the loss has taken", () => {
    const locked = lockedCharge({ available: 100, inTransit: 600 }, { status: "charged_back" }, order)
    for (const amount of [300, 400, undefined]) {
      const change = decideReturn(factsOf(locked, [returnOf("r", 300), ...refunds]), medReport(amount), ids)
      assert.isUndefined(change.orderEnd)
      assert.deepInclude(change.refunds[0], { id: "r", amount: amount ?? 300, providerId: "D1" })
    }
  })
})

describe("The return of a MED whose loss was reported before", () => {
  const lostBefore = (amount: number, changes: Partial<StoredRefund> = {}) => returnOf("r", amount, changes)

  it("DSP-7: is the same money, which gets the provider's id: a copy under another of its names is known then", () => {
    const locked = lockedCharge({ available: 700 }, { status: "charged_back" })
    for (const amount of [300, undefined]) {
      const change = decideReturn(factsOf(locked, [lostBefore(300)]), medReport(amount), ids)
      assert.deepStrictEqual(stepsOf(change), [["charge.charged_back"]])
      assert.deepInclude(change, { isApplied: true, unmatched: 0, isEmpty: false, arrivedLost: 0 })
      assert.deepInclude(change.refunds[0], { id: "r", amount: 300, providerId: "D1" })
    }
  })

  it("DSP-7: of less gives the rest back, of more takes the rest", () => {
    const locked = lockedCharge({ available: 700 }, { status: "charged_back" })
    const less = decideReturn(factsOf(locked, [lostBefore(300, { pending: 300 })]), medReport(200), ids)
    assert.deepStrictEqual(stepsOf(less), [["charge.charged_back", "acquirer > available: 100"]])
    assert.deepInclude(less.refunds[0], { amount: 200, pending: 200 })
    assert.isTrue(less.isApplied)
    const more = decideReturn(factsOf(locked, [lostBefore(300, { pending: 300 })]), medReport(450), ids)
    assert.deepStrictEqual(stepsOf(more), [["charge.charged_back", "available > acquirer: 150"]])
    assert.deepInclude(more.refunds[0], { amount: 450, pending: 300 })
    assert.isFalse(more.isEmpty)
  })

  it("BAL-6, DSP-7: of less leaves what other MEDs contest blocked, first of what is not released", () => {
    const locked = lockedCharge({ pending: 60, available: 500, blocked: 40 }, { status: "charged_back" })
    const change = decideReturn(factsOf(locked, [lostBefore(400)], { open: [openMed("b", 140)] }), medReport(150), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.charged_back", "acquirer > available: 250", "pending > blocked: 60", "available > blocked: 40"]
    ])
  })

  it("DSP-7: is another return, where the provider has reported that of the loss", () => {
    const reported = lostBefore(300, { providerId: "D7" })
    const locked = lockedCharge({ available: 700 }, { status: "charged_back" })
    const change = decideReturn(factsOf(locked, [reported]), medReport(300), ids)
    assert.deepStrictEqual(stepsOf(change), [["charge.charged_back", "available > acquirer: 300"]])
    assert.strictEqual(change.refunds[0]?.id, "new")
  })

  it("DSP-7, BAL-11: of more than is left empties the charge, which ends its MEDs", () => {
    const locked = lockedCharge({ available: 100, blocked: 600 }, { status: "charged_back" })
    const change = decideReturn(factsOf(locked, [lostBefore(300)], { open: [openMed("b", 600)] }), medReport(1200), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.charged_back", "blocked > acquirer: 600", "available > acquirer: 100"]
    ])
    assert.deepInclude(change, { isApplied: true, unmatched: 200, isEmpty: true })
  })

  it("OPR-73: that took nothing, because all was in a refund, is found once that refund fails", () => {
    const order = orderOf(1000)
    const claims = { lost: [{ disputeId: "med-1", missing: 1000, taken: undefined }] }
    const locked = lockedCharge({ inTransit: 1000 }, { status: "charged_back" }, order)
    const change = decideReturn(factsOf(locked, [refundOf(order)], claims), medReport(1000), ids)
    assert.deepInclude(change, { orderEnd: "refused", unmatched: 0 })
    assert.strictEqual(change.after.charge.refundedAmount, 1000)
    const last = new Map(shown(change).map((refund) => [refund.id, refund]))
    const found = { id: "new", status: "completed", amount: 1000, disputeId: "med-1", providerId: "D1" } as const
    assert.deepStrictEqual(last.get("new"), found)
    assert.strictEqual(last.get(ORDER)?.status, "failed")
  })

  it("DSP-7, OPR-73: one that a refund which it makes fail leaves nothing for ends the other MEDs", () => {
    const order = orderOf(700)
    const claims = { lost: [{ disputeId: "med-1", missing: 700, taken: undefined }], open: [openMed("b", 700)] }
    const locked = lockedCharge({ inTransit: 700 }, { status: "charged_back", refundedAmount: 300 }, order)
    const change = decideReturn(factsOf(locked, [refundOf(order)], claims), report(700), ids)
    assert.deepInclude(change, { isApplied: true, orderEnd: "refused", unmatched: 700, isEmpty: true })
  })

  it("OPR-73: that took a part has the rest from a refund that it makes fail", () => {
    const order = orderOf(700)
    const taken = lostBefore(300)
    const claims = { lost: [{ disputeId: "med-of-r", missing: 700, taken }] }
    const locked = lockedCharge({ inTransit: 700 }, { status: "charged_back", refundedAmount: 300 }, order)
    const change = decideReturn(factsOf(locked, [taken, refundOf(order)], claims), medReport(1000), ids)
    assert.deepInclude(change, { orderEnd: "refused", unmatched: 0, isEmpty: true })
    assert.strictEqual(change.after.charge.refundedAmount, 1000)
    assert.deepInclude(shown(change).at(-1), { id: "r", amount: 1000, providerId: "D1" })
  })

  it("DSP-7: of more than the MED contested is still of that MED, where it makes a refund fail", () => {
    const order = orderOf(700)
    const locked = lockedCharge({ inTransit: 700 }, { status: "charged_back", refundedAmount: 300 }, order)
    const change = decideReturn(factsOf(locked, [lostBefore(300), refundOf(order)]), medReport(500), ids)
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.refund_failed", "returns_in_transit > available: 700"],
      ["charge.charged_back", "available > acquirer: 200"]
    ])
    assert.deepInclude(shown(change).at(-1), { id: "r", amount: 500, disputeId: "med-of-r", providerId: "D1" })
  })
})

describe("The return of a MED of which nothing was known", () => {
  const all = lockedCharge({ available: 1000 })

  it("DSP-5: is the first news of a MED that is lost, of a Pix", () => {
    assert.strictEqual(decideReturn(factsOf(all), medReport(300), ids).arrivedLost, 300)
    assert.strictEqual(decideReturn(factsOf(all), report(300), ids).arrivedLost, 0)
    const boleto = lockedCharge({ available: 1000 }, { method: "boleto" })
    assert.strictEqual(decideReturn(factsOf(boleto), medReport(300), ids).arrivedLost, 0)
  })

  it("DSP-7: is no news of another MED while one is open, and takes nothing of what others contest", () => {
    const locked = lockedCharge({ available: 300, blocked: 700 }, { status: "infraction" })
    const open = [openMed("a", 300), openMed("b", 400)]
    const change = decideReturn(factsOf(locked, [], { open }), medReport(500), ids)
    // Of `b`, the largest. 300 stay blocked for `a`.
    assert.deepStrictEqual(stepsOf(change), [
      ["charge.charged_back", "blocked > acquirer: 400", "available > acquirer: 100"]
    ])
    assert.deepInclude(change, { arrivedLost: 0, isEmpty: false })
    assert.isNull(change.refunds[0]?.disputeId, "the provider has to decide the MED yet")
  })

  it("BAL-10, DSP-5: of a part makes the charge `charged_back`, unless the provider calls it a refund of no open MED", () => {
    const reportOf = (reported: ReportedReturn, open: ContestedMoney["open"] = []) =>
      decideReturn(factsOf(all, [], { open }), reported, ids).steps[0]?.report
    assert.strictEqual(reportOf(medReport(300)), "charged_back")
    assert.isUndefined(reportOf(medReport(300, { as: "refunded" })))
    assert.strictEqual(reportOf(medReport(300, { as: "refunded" }), [openMed("a", 300)]), "charged_back")
    assert.isUndefined(reportOf(report(300), [openMed("a", 300)]), "a refund in part changes no state")
    assert.strictEqual(reportOf(report(1000)), "refunded")
    assert.strictEqual(reportOf(medReport(1000, { as: "refunded" })), "refunded")
  })

  it("BAL-10: of all of the charge is of the MED that ends with it", () => {
    const locked = lockedCharge({ blocked: 1000 }, { status: "infraction" })
    const change = decideReturn(factsOf(locked, [], { open: [openMed("a", 1000)] }), medReport(1000), ids)
    assert.strictEqual(change.refunds[0]?.disputeId, "a")
    assert.deepInclude(change, { arrivedLost: 0, isEmpty: true })
    assert.strictEqual(change.steps[0]?.report, "charged_back")
  })

  it("DSP-7: waits for the MED that is lost next, unless one has it or only a loss was reported", () => {
    const waiting = returnOf("waiting", 300, { disputeId: null, providerId: "D1" })
    const others = [
      returnOf("named", 300, { providerId: "D2" }),
      returnOf("unreported", 300, { disputeId: null }),
      returnOf("refund", 300, { disputeId: null, providerId: "D3", nature: null })
    ]
    assert.deepStrictEqual(unnamedReturns([...others, waiting]), [{ ...waiting, atMs: CREATED }])
    assert.deepInclude(unnamedReturns([{ ...waiting, completedAtMs: NOW }])[0], { atMs: NOW })
    assert.deepInclude(unnamedReturns([{ ...waiting, completedAtMs: null }])[0], { atMs: CREATED })
  })
})
