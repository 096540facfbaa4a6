/**
 * The states of a dispute, and what a MED does to its charge, without a database: examples. The histories of refunds and MEDs are
 * in `RefundDecision.test.ts`.
 */
import { assert, describe, it } from "@effect/vitest"
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import {
  arrivedWith,
  claimsOn,
  contestedByOthers,
  decideKnownLoss,
  decideLoss,
  decideOpening,
  decideReport,
  decideWin,
  isOpen
} from "../../../src/payments/disputes/DisputeDecision.ts"
import type { StoredDispute } from "../../../src/payments/disputes/DisputeTable.ts"
import { providerRefund } from "../../../src/payments/refunds/RefundDecision.ts"
import { CREATED, lockedCharge, movementsOf, paidCharge } from "../../support/NewCharge.ts"
import { openDispute } from "../../support/NewDispute.ts"

const NOW = CREATED + 60_000
const ids = { next: () => ({ id: "new", epochMs: NOW }) }

const med = (amount: number) =>
  ({ _tag: "med.opened", txid: "", endToEndId: "E1", externalId: "med-1", reason: "fraud", amount }) as const

/** The return of a MED. Without the provider's id, only its loss was reported. */
const returnOf = (disputeId: string, amount: number, providerId: string | null) =>
  providerRefund(
    paidCharge(1000),
    { id: `return-${disputeId}`, epochMs: NOW },
    { amount, pending: 0, isMed: true, disputeId, providerId }
  )

describe("The state of a dispute", () => {
  it("DSP-2: is open until it is won or lost, also while the defense is reviewed", () => {
    const open = DisputeStatus.literals.filter((status) => isOpen(openDispute("a", 300, { status })))
    assert.deepStrictEqual(open, ["open", "under_review"])
  })

  it("DSP-2: a defense resolves nothing, and an outcome says when it came", () => {
    const defended = decideReport(openDispute("a", 300), "defended", NOW, ids)
    assert.deepInclude(defended?.dispute, { status: "under_review", sequence: 2, resolvedAtMs: null })
    const won = decideReport(defended!.dispute, "won", NOW + 1, ids)
    assert.deepInclude(won?.dispute, { status: "won", sequence: 3, resolvedAtMs: NOW + 1 })
    const lost = decideReport(won!.dispute, "lost", NOW + 2, ids)
    assert.deepInclude(lost?.dispute, { status: "lost", sequence: 4, resolvedAtMs: NOW + 2 })
    assert.deepStrictEqual(
      [defended, won, lost].map((change) => change?.outbox?.row.actions),
      [[], ["won"], ["lost"]]
    )
  })

  it("DSP-2: `lost` is final, and a defense is filed once", () => {
    const decided = (status: DisputeStatus) =>
      (["defended", "won", "lost"] as const).filter(
        (report) => decideReport(openDispute("a", 300, { status }), report, NOW, ids) !== undefined
      )
    assert.deepStrictEqual(decided("lost"), [])
    assert.deepStrictEqual(decided("won"), ["lost"])
    assert.deepStrictEqual(decided("under_review"), ["won", "lost"])
  })
})

describe("A MED that opens", () => {
  it("DSP-1: blocks what it contests, and emits both events", () => {
    const opening = decideOpening(lockedCharge({ pending: 200, available: 800 }), [], med(700), ids)
    assert.deepInclude(opening?.dispute, { status: "open", amount: 700, externalId: "med-1", arrivedResolved: false })
    assert.deepInclude(opening?.outbox?.row, { kind: "dispute.pix", actions: ["opened"], status: "open" })
    assert.strictEqual(opening?.step.report, "infraction")
    assert.deepStrictEqual(movementsOf(opening?.step.movements), ["pending > blocked: 200", "available > blocked: 500"])
  })

  it("DSP-7: contests what no other open MED contests, and changes no state of a charge in `infraction`", () => {
    const others = [
      openDispute("a", 300),
      openDispute("b", 200, { status: "under_review" }),
      openDispute("c", 400, { status: "won" })
    ]
    assert.strictEqual(contestedByOthers(others, undefined), 500)
    assert.strictEqual(contestedByOthers(others, "b"), 300)
    const opening = decideOpening(
      lockedCharge({ available: 500, blocked: 500 }, { status: "infraction" }),
      others,
      med(900),
      ids
    )
    assert.strictEqual(opening?.dispute.amount, 500)
    assert.isUndefined(opening?.step.report)
  })

  it("DSP-1, DSP-7: opens no dispute of a boleto, of a charge that was not paid, or where nothing is left", () => {
    const all = { available: 1000 }
    assert.isUndefined(decideOpening(lockedCharge(all, { method: "boleto" }), [], med(700), ids))
    assert.isUndefined(decideOpening(lockedCharge(all, { status: "pending" }), [], med(700), ids))
    assert.isUndefined(decideOpening(lockedCharge({}, { status: "refunded" }), [], med(700), ids))
  })
})

describe("A MED that arrived with its return", () => {
  const arrived = (id: string, amount: number, changes: Partial<StoredDispute> = {}) =>
    openDispute(id, amount, { status: "lost", arrivedResolved: true, ...changes })

  it("DSP-7: is the one of the amount that is nearest to that of the return", () => {
    const all = [arrived("small", 300), arrived("large", 500)]
    for (const disputes of [all, all.toReversed()]) {
      assert.strictEqual(arrivedWith(320, disputes)?.id, "small")
      assert.strictEqual(arrivedWith(300, disputes)?.id, "small")
      assert.strictEqual(arrivedWith(450, disputes)?.id, "large")
      assert.strictEqual(arrivedWith(1000, disputes)?.id, "large")
      assert.strictEqual(arrivedWith(1, disputes)?.id, "small")
    }
  })

  it("DSP-5: is none that the provider has named already, and none that was opened before its return", () => {
    const named = arrived("named", 400, { externalId: "med-1" })
    assert.isUndefined(arrivedWith(400, [named]))
    assert.isUndefined(arrivedWith(400, [openDispute("open", 400)]))
    assert.strictEqual(arrivedWith(400, [named, openDispute("open", 400), arrived("other", 900)])?.id, "other")
  })
})

describe("A MED that is won", () => {
  it("DSP-3: makes the charge `paid` with the last open one, and what others contest stays blocked", () => {
    const [a, b] = [openDispute("a", 300), openDispute("b", 200)]
    const locked = lockedCharge({ available: 500, blocked: 500 }, { status: "infraction" })
    const first = decideWin(locked, a, [a, b])
    assert.isUndefined(first.report)
    assert.deepStrictEqual(movementsOf(first.movements), ["blocked > available: 300"])
    const last = decideWin(locked, a, [a, { ...b, status: "won" }])
    assert.strictEqual(last.report, "dispute_won")
    assert.deepStrictEqual(movementsOf(last.movements), ["blocked > available: 500"])
  })
})

describe("A MED that is lost", () => {
  it("DSP-4: takes what is blocked for it, and a part of the charge may be left", () => {
    const a = openDispute("a", 300)
    const loss = decideLoss(lockedCharge({ available: 700, blocked: 300 }, { status: "infraction" }), a, [a])
    assert.strictEqual(loss?.step.report, "charged_back")
    assert.deepStrictEqual(movementsOf(loss?.step.movements), ["blocked > acquirer: 300"])
    assert.deepInclude(loss, { amount: 300, pending: 0, isEmpty: false })
    const all = openDispute("all", 1000)
    const empty = decideLoss(lockedCharge({ blocked: 1000 }, { status: "infraction" }), all, [all])
    assert.deepStrictEqual(movementsOf(empty?.step.movements), ["blocked > acquirer: 1000"])
    assert.deepInclude(empty, { amount: 1000, pending: 0, isEmpty: true })
  })

  it("DSP-4: after `won` it changes nothing where the money has gone back another way", () => {
    const won = openDispute("a", 300, { status: "won" })
    assert.isUndefined(decideLoss(lockedCharge({}, { status: "refunded" }), won, [won]))
    const left = decideLoss(lockedCharge({ available: 100 }, { status: "charged_back" }), won, [won])
    assert.deepStrictEqual(movementsOf(left?.step.movements), ["available > acquirer: 100"])
    assert.deepInclude(left, { amount: 100, isEmpty: true })
  })

  it("DSP-4: after `won` it makes the charge `charged_back`, also while all of it is in a refund", () => {
    const won = openDispute("a", 300, { status: "won" })
    const loss = decideLoss(lockedCharge({ inTransit: 1000 }), won, [won])
    assert.strictEqual(loss?.step.report, "charged_back")
    assert.deepInclude(loss, { amount: 0, isEmpty: false })
  })

  it("DSP-4: is decided while it is open, also where nothing is left", () => {
    const a = openDispute("a", 300)
    const loss = decideLoss(lockedCharge({}, { status: "charged_back" }), a, [a])
    assert.isUndefined(loss?.step.report)
    assert.deepInclude(loss, { amount: 0, isEmpty: true })
  })

  it("DSP-7: whose return was booked before, it takes no more, and what others contest is blocked again", () => {
    const step = decideKnownLoss(lockedCharge({ available: 500, blocked: 100 }, { status: "infraction" }), 400)
    assert.strictEqual(step.report, "charged_back")
    assert.deepStrictEqual(movementsOf(step.movements), ["available > blocked: 300"])
    const none = decideKnownLoss(lockedCharge({ available: 500, blocked: 100 }, { status: "charged_back" }), 0)
    assert.isUndefined(none.report)
    assert.deepStrictEqual(movementsOf(none.movements), ["blocked > available: 100"])
  })
})

describe("What MEDs claim of a refund that fails", () => {
  const lost = openDispute("lost", 700, { status: "lost" })
  const chargedBack = lockedCharge({ inTransit: 600 }, { status: "charged_back" })

  it("OPR-73: what open ones contest and is not blocked, the oldest first", () => {
    const newestFirst = [
      openDispute("won", 100, { status: "won" }),
      openDispute("b", 500),
      openDispute("a", 400, { status: "under_review" })
    ]
    const claims = claimsOn(lockedCharge({ blocked: 300, inTransit: 700 }), newestFirst, [])
    assert.strictEqual(claims.contested, 600)
    assert.deepStrictEqual(
      claims.open.map(({ id }) => id),
      ["a", "b"]
    )
    assert.strictEqual(claimsOn(lockedCharge({ blocked: 950 }), newestFirst, []).contested, 0)
  })

  it("OPR-73: what lost ones did not find", () => {
    const taken = returnOf("lost", 400, null)
    assert.deepStrictEqual(claimsOn(chargedBack, [lost], [taken]).lost, [{ disputeId: "lost", missing: 300, taken }])
    const nothing = { disputeId: "lost", missing: 700, taken: undefined }
    assert.deepStrictEqual(claimsOn(chargedBack, [lost], [returnOf("other", 400, null)]).lost, [nothing])
  })

  it("OPR-73, DSP-7: nothing, once all of it was found or the provider has reported the return", () => {
    assert.deepStrictEqual(claimsOn(chargedBack, [lost], [returnOf("lost", 700, null)]).lost, [])
    assert.deepStrictEqual(claimsOn(chargedBack, [lost], [returnOf("lost", 400, "D1")]).lost, [])
  })

  it("OPR-73: nothing of a MED that is open or won, of a charge that another has charged back", () => {
    const others = [openDispute("won", 300, { status: "won" }), openDispute("open", 200)]
    const claims = claimsOn(chargedBack, [...others, lost], [])
    assert.deepStrictEqual(
      claims.lost.map(({ disputeId }) => disputeId),
      ["lost"]
    )
  })

  it("DSP-5, DSP-7: nothing of one that arrived with its return, or that ended with the refund of all", () => {
    assert.deepStrictEqual(claimsOn(chargedBack, [{ ...lost, arrivedResolved: true }], []).lost, [])
    assert.deepStrictEqual(claimsOn(lockedCharge({}, { status: "refunded" }), [lost], []).lost, [])
  })
})
