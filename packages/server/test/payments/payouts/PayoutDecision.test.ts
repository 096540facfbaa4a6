/** The changes of a payout and its money, without a database. */
import { assert, describe, it } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { PayoutStatus, payoutTransition, payoutTransitions } from "@pix-payments/domain/Payout"
import * as Schema from "effect/Schema"
import { creationOf } from "../../../src/payments/payouts/creation/PayoutCreation.ts"
import { decideChange, type PayoutChange } from "../../../src/payments/payouts/PayoutDecision.ts"
import type { StoredPayout } from "../../../src/payments/payouts/PayoutTable.ts"
import { requestedPayout, termsOfPayout } from "../../support/NewPayout.ts"

const NOW = 1_000_000
const ids = { next: () => ({ id: "id", epochMs: NOW }) }

const payoutIn = (status: PayoutStatus, changes: Partial<StoredPayout> = {}): StoredPayout => ({
  ...requestedPayout(),
  status,
  fee: 100,
  duplicateOf: null,
  ...changes
})

const reports = ["approved", "canceled", "completed", "failed"] as const

/** What a ledger account has after these changes. */
const balanceOf = (kind: string, changes: ReadonlyArray<PayoutChange>) =>
  changes
    .flatMap(({ transfers }) => transfers)
    .reduce((sum, { amount, credit, debit }) => sum + (credit === kind ? amount : 0) - (debit === kind ? amount : 0), 0)

describe("decideChange", () => {
  it("PAY-4: a report changes a payout exactly where the transition table allows it", () => {
    for (const status of PayoutStatus.literals) {
      for (const report of reports) {
        const change = decideChange(payoutIn(status), report, {}, NOW, ids)
        const allowed = payoutTransition(report, status)
        assert.strictEqual(change?.payout.status, allowed?.to, `${report} of ${status}`)
        assert.strictEqual(change?.payout.sequence, allowed === undefined ? undefined : 2)
      }
    }
  })

  it("only `completed` gives it an end-to-end id, only `failed` a reason, and an outcome proves that it was sent", () => {
    const facts = { endToEndId: "E1", reason: "the account is closed" }
    const decided = (report: "completed" | "failed", changes: Partial<StoredPayout> = {}) => {
      const payout = decideChange(payoutIn("processing", changes), report, facts, NOW, ids)?.payout
      return [payout?.endToEndId, payout?.failureReason, payout?.processedAtMs]
    }
    assert.deepStrictEqual(decided("completed"), ["E1", null, NOW])
    assert.deepStrictEqual(decided("failed"), [null, "the account is closed", NOW])
    assert.deepStrictEqual(decided("failed", { processedAtMs: 7 }), [null, "the account is closed", 7])
  })

  it("PAY-7: an approval is no proof that it was sent, nor is a cancellation", () => {
    const processedAt = (report: "approved" | "canceled") =>
      decideChange(payoutIn("pending"), report, {}, NOW, ids)?.payout.processedAtMs
    assert.isNull(processedAt("approved"))
    assert.isNull(processedAt("canceled"))
  })

  it("OPR-250: what goes back has the fee in it, and what is paid has the fee apart", () => {
    const feesOf = (status: "pending" | "processing", report: "completed" | "failed" | "canceled") =>
      decideChange(payoutIn(status), report, {}, NOW, ids)?.transfers.map(({ amount, credit, fee }) => [
        credit,
        amount,
        fee
      ])
    assert.deepStrictEqual(feesOf("processing", "completed"), [
      ["acquirer", 1000, null],
      ["fees", 100, 100]
    ])
    assert.deepStrictEqual(feesOf("processing", "failed"), [["available", 1100, 100]])
    assert.deepStrictEqual(feesOf("pending", "canceled"), [["available", 1100, 100]])
  })

  it("is paid from the bank of its connection, the simulator's where it has none", () => {
    const bankOf = (connectionId: string | null) =>
      decideChange(payoutIn("processing", { connectionId }), "completed", {}, NOW, ids)?.transfers.map((transfer) => [
        transfer.credit,
        transfer.connection_id
      ])
    assert.deepStrictEqual(bankOf("bank-1"), [
      ["acquirer", "bank-1"],
      ["fees", null]
    ])
    assert.deepStrictEqual(bankOf(null), [
      ["acquirer", SIMULATOR_CONNECTION],
      ["fees", null]
    ])
  })

  it.prop(
    "PAY-1, PAY-5: after any reports, amount and fee are in transit while it is open, and then once where they belong",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })),
      Schema.Literals(["pending", "processing"]),
      Schema.Array(Schema.Literals(reports))
    ],
    ([amount, fee, status, reported]) => {
      let payout = payoutIn(status, { amount, fee })
      const changes = [
        creationOf(
          { payout, events: [], request: { requested: payout, caller: undefined }, terms: termsOfPayout() },
          ids
        )
      ]
      for (const report of reported) {
        const change = decideChange(payout, report, {}, NOW, ids)
        if (change === undefined) continue
        changes.push(change)
        payout = change.payout
      }
      const isOpen = payoutTransitions.some(({ from }) => from.includes(payout.status))
      const isPaid = payout.status === "completed"
      assert.strictEqual(balanceOf("payouts_in_transit", changes), isOpen ? amount + fee : 0)
      assert.strictEqual(balanceOf("available", changes), isOpen || isPaid ? -amount - fee : 0)
      assert.strictEqual(balanceOf("acquirer", changes), isPaid ? amount : 0)
      assert.strictEqual(balanceOf("fees", changes), isPaid ? fee : 0)
    }
  )
})
