/** Adjustments: corrections of balances by operators, in the ledger, statements, closes and the audit log. */
import { assert, layer } from "@effect/vitest"
import type { Adjustment } from "@pix-payments/api/operator/Adjustments"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import type { AuditEntry } from "@pix-payments/api/operator/Logs"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { closeDays } from "../support/Closing.ts"
import { assertLedgerHolds, availableOf, entriesOf, funded, operated } from "../support/Money.ts"
import { withoutFourEyes } from "../support/Operators.ts"
import { type Call, type Fields, newKey, TestService, whenFree } from "../support/TestService.ts"

const adjust = (call: Call, body: Fields, idempotencyKey?: string) =>
  call<Adjustment>("POST", "/operator/v1/adjustments", { body, idempotencyKey })

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Adjustments", (it) => {
  it.effect(
    "OPR-262, OPR-263: an adjustment is a balanced entry, a line with its reason, of a close and of the audit log",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(1000)
        const given = yield* adjust(operate, { account_id: accountId, amount: 250, reason: "a fee was charged twice" })
        assert.strictEqual(given.status, 201, given.text)
        assert.deepInclude(given.body, { object: "adjustment", account_id: accountId, amount: 250 })
        const taken = yield* adjust(operate, { account_id: accountId, amount: -50, reason: "chargeback fee" })
        assert.strictEqual(taken.status, 201, taken.text)
        assert.deepStrictEqual(yield* entriesOf(given.body.id), ["adjustment fees>available 250"])
        assert.deepStrictEqual(yield* entriesOf(taken.body.id), ["adjustment available>fees 50"])
        assert.strictEqual(yield* availableOf(key), 1200)
        yield* assertLedgerHolds
        assert.isTrue((yield* operated<{ consistent: boolean }>("GET", "/ledger/verify?full=true")).consistent)

        const { data } = yield* operated<{ data: ReadonlyArray<BalanceTransaction> }>(
          "GET",
          `/accounts/${accountId}/transactions?type=adjustment`
        )
        assert.deepStrictEqual(
          data.map(({ balance_after, fee, net, reference, source }) => [net, fee, balance_after, reference, source.id]),
          [
            [-50, 0, 1200, "chargeback fee", taken.body.id],
            [250, 0, 1250, "a fee was charged twice", given.body.id]
          ]
        )
        const days = "from=2020-01-01&to=2100-01-01"
        for (const format of ["csv", "ofx", "ofx1", "journal", "jsonl"]) {
          const { text } = yield* operate(
            "GET",
            `/operator/v1/accounts/${accountId}/statement?${days}&format=${format}`
          )
          assert.include(text, format === "jsonl" ? '"type":"adjustment"' : "Ajuste a fee was charged twice", format)
        }
        yield* closeDays(1)
        const closes = yield* operated<{ data: ReadonlyArray<Close> }>("GET", `/accounts/${accountId}/closes`)
        assert.deepInclude(closes.data[0], { credits: 1250, debits: 50, fees: 0, closing: 1200 })
        yield* assertLedgerHolds
        const audited = yield* operated<{ data: ReadonlyArray<AuditEntry> }>("GET", "/audit?action=adjustments.create")
        assert.deepInclude(audited.data[0], { resource_id: taken.body.id })
        assert.deepStrictEqual(audited.data[0]!.after, {
          account_id: accountId,
          amount: -50,
          reason: "chargeback fee"
        })
      })
  )

  it.effect(
    "OPR-262: what the balance does not cover, no cents and an unknown account are refused, and move nothing",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(1000)
        const of = (fields: Fields) => adjust(operate, { account_id: accountId, amount: 1, reason: "x", ...fields })
        assertRefused(yield* of({ amount: -1001 }), "INSUFFICIENT_BALANCE")
        assertRefused(yield* of({ amount: 0 }), "VALIDATION_ERROR", ["amount"])
        assertRefused(yield* of({ amount: 1.5 }), "VALIDATION_ERROR", ["amount"])
        assertRefused(yield* of({ reason: "" }), "VALIDATION_ERROR", ["reason"])
        assertRefused(yield* of({ account_id: "01a1fd37-d21e-717f-8451-d23f26a8797f" }), "VALIDATION_ERROR", [
          "account_id"
        ])
        assert.strictEqual(yield* availableOf(key), 1000)
        assert.strictEqual((yield* of({ amount: -1000 })).status, 201)
        assert.strictEqual(yield* availableOf(key), 0)
        const sql = yield* SqlClient
        for (const text of ["UPDATE adjustments SET amount = 2", "DELETE FROM adjustments"]) {
          assert.include(String((yield* Effect.flip(sql.unsafe(text))).reason.cause), "cannot be changed or deleted")
        }
      })
  )

  it.effect("OPR-202, OPR-262: equal requests with one key at once are one adjustment; another body is refused", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(1000)
      const body = { account_id: accountId, amount: 7, reason: "rounding" }
      const idempotencyKey = newKey()
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => whenFree(adjust(operate, body, idempotencyKey)),
        {
          concurrency: "unbounded"
        }
      )
      assert.strictEqual(new Set(answers.map((answer) => answer.body.id)).size, 1, answers[0]!.text)
      assert.isTrue(answers.every(({ status }) => status === 201))
      assertRefused(yield* adjust(operate, { ...body, amount: 8 }, idempotencyKey), "IDEMPOTENCY_KEY_REUSED")
      assert.strictEqual(yield* availableOf(key), 1007)
    })
  )

  it.effect("OPR-262: an account that is unknown is refused; a connection is none", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      for (const account_id of [newKey(), SIMULATOR_CONNECTION])
        assertRefused(yield* adjust(operate, { account_id, amount: 250, reason: "rounding" }), "VALIDATION_ERROR", [
          "account_id"
        ])
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-262, OPR-240: another operator approves it, and sees amount, reason and both balances", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId, key } = yield* funded(1000)
      const body = { account_id: accountId, amount: -300, reason: "a payer was paid back by hand" }
      const idempotencyKey = newKey()
      const asked = yield* adjust(one.call, body, idempotencyKey)
      assert.strictEqual(asked.status, 202, asked.text)
      const approval = asked.body as unknown as Approval
      const { amount, balance_after, balance_before } = approval.summary
      assert.deepEqual([amount, balance_before, balance_after], [-300, 1000, 700])
      assert.deepStrictEqual(approval.summary.changes, [{ field: "reason", after: approval.request["reason"] }])
      assert.strictEqual(yield* availableOf(key), 1000)
      assert.strictEqual((yield* adjust(one.call, body, idempotencyKey)).body.id, approval.id)
      assertRefused(yield* adjust(one.call, { ...body, amount: -1001 }), "INSUFFICIENT_BALANCE")
      assertRefused(yield* approve(one.call, approval.id), "FORBIDDEN")
      const approved = yield* approve(other.call, approval.id)
      assert.strictEqual(approved.status, 200, approved.text)
      assert.strictEqual(yield* availableOf(key), 700)
      const again = yield* adjust(one.call, body, idempotencyKey)
      assert.deepStrictEqual([again.status, again.body.id], [201, approved.body.result_id], again.text)
      assert.strictEqual(yield* availableOf(key), 700)
      yield* withoutFourEyes
    })
  )
})
