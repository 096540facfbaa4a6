/** The decisions of refunds and disputes, without a database: histories of one charge, compared with `RefundModel`. */
import { assert, describe, it } from "@effect/vitest"
import { noFunds } from "@pix-payments/domain/ChargeMoney"
import { returnOfLoss } from "@pix-payments/domain/Dispute"
import * as Schema from "effect/Schema"
import { providerIdOf } from "../../../src/providers/Acquirer.ts"
import type { ChargeOrder } from "../../../src/providers/OrderStore.ts"
import { afterStep, type ChargeStep, type LockedCharge } from "../../../src/payments/charges/ChargeDecision.ts"
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
import { contestedCharge, newDispute } from "../../../src/payments/disputes/DisputeResource.ts"
import type { StoredDispute } from "../../../src/payments/disputes/DisputeTable.ts"
import {
  decideEnd,
  decideOrder,
  decideReturn,
  orderedRefund,
  providerRefund,
  type RefundChange,
  type ReportedReturn,
  unnamedReturns
} from "../../../src/payments/refunds/RefundDecision.ts"
import type { StoredRefund } from "../../../src/payments/refunds/RefundStore.ts"
import { paidCharge } from "../../support/NewCharge.ts"
import * as Model from "../../support/RefundModel.ts"

const NOW = 1_000_000
const HOUR_MS = 3_600_000
let count = 0
const ids = { next: () => ({ id: `id-${String((count += 1)).padStart(9, "0")}`, epochMs: NOW }) }

/** One charge, as the service would have it after its steps. */
class History {
  readonly model: Model.RefundModel
  readonly refunds = new Map<string, StoredRefund>()
  readonly returns: Array<ReportedReturn> = []
  disputes: Array<StoredDispute> = []
  locked: LockedCharge

  readonly amount: number
  /** The provider's clock, in hours. */
  now = 100

  constructor(amount: number, isDelayed: boolean) {
    this.amount = amount
    this.model = Model.newModel(amount, isDelayed)
    this.locked = {
      charge: paidCharge(amount),
      funds: { ...noFunds, [isDelayed ? "pending" : "available"]: amount },
      order: undefined
    }
  }

  order(requested: number | undefined) {
    const refusal = Model.order(this.model, requested)
    const decision = decideOrder(this.locked, requested, this.locked.funds.available)
    if (decision._tag !== "Ordered") {
      assert.strictEqual(decision._tag, refusal === "state" ? "InvalidState" : "InsufficientBalance")
      return
    }
    assert.isUndefined(refusal)
    const { amount, pending, step } = decision
    const { accountId, id: chargeId } = this.locked.charge
    const unset = { exceptionId: null, disputeId: null, connectionId: null, endToEndId: null }
    const order: ChargeOrder = {
      ...unset,
      id: ids.next().id,
      kind: "refund",
      chargeId,
      accountId,
      amount,
      pending,
      attempts: 1,
      acceptedAtMs: null
    }
    this.refunds.set(order.id, orderedRefund(this.locked.charge, order, null, NOW))
    this.locked = { ...afterStep(this.locked, step), order }
  }

  end(isCompleted: boolean, isReported: boolean) {
    const { order } = this.locked
    if (order === undefined) return
    if (isCompleted) Model.complete(this.model)
    else Model.fail(this.model)
    const outcome = isCompleted ? ({ _tag: "Completed" } as const) : ({ _tag: "Failed", reason: "closed" } as const)
    const report = { as: "refunded", isMed: false, amount: order.amount, atMs: undefined } as const
    this.apply(
      isCompleted && isReported
        ? decideReturn(this.facts, { ...report, externalId: providerIdOf(order.id) }, ids)
        : decideEnd(this.facts, order, outcome, ids)
    )
  }

  giveBack(report: ReportedReturn) {
    const expected = Model.giveBack(this.model, report.amount, report, report.atMs ?? 0)
    const change = decideReturn(this.facts, report, ids)
    assert.deepInclude(change, expected)
    this.apply(change)
    if (expected.isApplied) this.returns.push(report)
  }

  /** A copy of a report changes nothing. */
  repeat(index: number) {
    const report = this.returns[index % Math.max(1, this.returns.length)]
    if (report === undefined) return
    const { isApplied, refunds, steps } = decideReturn(this.facts, report, ids)
    assert.deepStrictEqual({ isApplied, refunds, steps }, { isApplied: false, refunds: [], steps: [] })
  }

  open(amount: number | undefined, at: number, isLost: boolean) {
    const externalId = `med-${ids.next().id}`
    const isOpened = Model.openMed(this.model, externalId, amount, { at, isLost })
    const reported = { _tag: "med.opened", txid: "", endToEndId: "", externalId, reason: "fraud", atMs: at } as const
    const med = amount === undefined ? reported : { ...reported, amount }
    const known = arrivedWith(amount ?? 0, this.disputes)
    if (isLost && this.isKnownLoss({ amount, openedAtMs: at }, known?.id ?? externalId, undefined)) {
      this.disputes = this.disputes.map((each) => (each.id === known?.id ? { ...each, externalId } : each))
      return assert.isTrue(isOpened)
    }
    const opening = decideOpening(this.locked, this.disputes, med, ids)
    assert.strictEqual(opening !== undefined, isOpened)
    if (opening === undefined) return
    this.locked = afterStep(this.locked, opening.step)
    this.disputes.push(opening.dispute)
  }

  decide(index: number, isWon: boolean) {
    const med = this.model.meds[index % Math.max(1, this.model.meds.length)]
    const dispute = this.disputes.find(({ externalId }) => externalId === med?.externalId)
    if (med === undefined || dispute === undefined) return
    const isApplied = isWon ? Model.win(this.model, med) : Model.lose(this.model, med)
    const decided = decideReport(dispute, isWon ? "won" : "lost", NOW, ids)
    if (!isWon && decided !== undefined && this.isKnownLoss(dispute, dispute.id, dispute.id)) {
      this.disputes = this.disputes.map((each) => (each.id === dispute.id ? decided.dispute : each))
      return assert.isTrue(isApplied)
    }
    const loss = isWon || decided === undefined ? undefined : decideLoss(this.locked, dispute, this.disputes)
    assert.strictEqual(decided !== undefined && (isWon || loss !== undefined), isApplied)
    if (decided === undefined) return
    if (isWon) this.locked = afterStep(this.locked, decideWin(this.locked, dispute, this.disputes))
    else if (loss === undefined) return
    else {
      this.locked = afterStep(this.locked, loss.step)
      const made = { amount: loss.amount, pending: loss.pending, isMed: true, disputeId: dispute.id, providerId: null }
      if (loss.amount > 0) this.put(providerRefund(this.locked.charge, ids.next(), made))
    }
    this.disputes = this.disputes.map((each) => (each.id === dispute.id ? decided.dispute : each))
    if (loss?.isEmpty === true) this.loseOpen()
  }

  release() {
    Model.release(this.model)
    const { funds } = this.locked
    this.locked = { ...this.locked, funds: { ...funds, pending: 0, available: funds.available + funds.pending } }
  }

  check() {
    const { charge, funds } = this.locked
    const { available, blocked, inTransit, pending, status } = this.model
    assert.deepStrictEqual({ status: charge.status, ...funds }, { status, available, blocked, inTransit, pending })
    assert.strictEqual(this.sum("completed"), this.amount - Model.leftOf(this.model))
    assert.strictEqual(this.sum("processing"), inTransit)
    assert.deepStrictEqual(
      this.disputes.flatMap(({ arrivedResolved, status }) => (arrivedResolved ? [] : [status])),
      this.model.meds.map((med) => med.status)
    )
  }

  private get facts() {
    const refunds = [...this.refunds.values()]
    // The store gives the newest dispute first.
    return { locked: this.locked, refunds, claims: claimsOn(this.locked, this.disputes.toReversed(), refunds) }
  }

  private apply(change: RefundChange) {
    const after = change.steps.reduce((locked: LockedCharge, step: ChargeStep) => afterStep(locked, step), this.locked)
    assert.deepStrictEqual(change.after, after)
    this.locked = { ...after, order: change.orderEnd === undefined ? after.order : undefined }
    for (const refund of change.refunds) this.put(refund)
    if (change.isEmpty) this.loseOpen()
    if (change.arrivedLost > 0) {
      const med = { amount: change.arrivedLost, reason: "returned", arrivedResolved: true }
      this.disputes.push(newDispute(contestedCharge(after.charge), ids.next(), med))
    }
  }

  private put(refund: StoredRefund) {
    this.refunds.set(refund.id, refund)
  }

  /** Names the return of a MED that is lost, where it was booked before. */
  private isKnownLoss(
    med: { readonly amount: number | undefined; readonly openedAtMs: number },
    disputeId: string,
    but: string | undefined
  ): boolean {
    const returned = returnOfLoss(med, unnamedReturns([...this.refunds.values()]))
    if (returned === undefined) return false
    this.locked = afterStep(this.locked, decideKnownLoss(this.locked, contestedByOthers(this.disputes, but)))
    const { atMs: _at, ...refund } = returned
    this.put({ ...refund, disputeId })
    return true
  }

  private loseOpen() {
    this.disputes = this.disputes.map((dispute) =>
      isOpen(dispute) ? decideReport(dispute, "lost", NOW, ids)!.dispute : dispute
    )
  }

  private sum(status: StoredRefund["status"]) {
    return [...this.refunds.values()].reduce((sum, refund) => sum + (refund.status === status ? refund.amount : 0), 0)
  }
}

const Command = Schema.Struct({
  kind: Schema.Literals(["order", "order", "end", "end", "return", "repeat", "open", "decide", "decide", "release"]),
  /** Per cent of the charge; more than a hundred: absent. */
  part: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 })),
  index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  one: Schema.Boolean,
  other: Schema.Boolean
})

const run = (history: History, { index, kind, one, other, part }: typeof Command.Type) => {
  const amount = part > 100 ? undefined : Math.ceil((history.amount * part) / 100)
  switch (kind) {
    case "order":
      return history.order(amount)
    case "end":
      return history.end(one, other)
    case "return": {
      const as = one && other ? "charged_back" : "refunded"
      return history.giveBack({ as, isMed: one, amount, externalId: ids.next().id, atMs: history.now * HOUR_MS })
    }
    case "repeat":
      return history.repeat(index)
    case "open":
      return history.open(amount, (history.now - index) * HOUR_MS, one)
    case "decide":
      return history.decide(index, one)
    case "release":
      return history.release()
  }
}

describe("decideOrder, decideEnd, decideReturn, decideOpening, decideWin, decideLoss", () => {
  it.prop(
    "BAL-5, BAL-6, BAL-9, BAL-10, DSP-4, DSP-7, OPR-73: after any history, each cent of a charge is in one place",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })),
      Schema.Boolean,
      Schema.Array(Command).check(Schema.isMinLength(10), Schema.isMaxLength(25))
    ],
    ([amount, isDelayed, commands]) => {
      const history = new History(amount, isDelayed)
      for (const command of commands) {
        history.now += 1
        run(history, command)
        history.check()
      }
    },
    { arbitrary: { runs: 1000 } }
  )

  it("BAL-5: a refund never takes more than the account's balance", () => {
    const { locked } = new History(1000, false)
    assert.strictEqual(decideOrder(locked, 600, 599)._tag, "InsufficientBalance")
    assert.strictEqual(decideOrder(locked, 600, 600)._tag, "Ordered")
    const delayed = new History(1000, true).locked
    assert.strictEqual(decideOrder(delayed, 600, 0)._tag, "Ordered")
  })
})
