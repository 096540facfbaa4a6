/** Orders without a definite answer, settled by operators. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { type Exception, newPix, notified } from "../../support/Exceptions.ts"
import {
  assertLedgerHolds,
  availableOf,
  holding,
  ledgerBalancesOf,
  operated,
  paidOut,
  retrievePayout,
  simulated
} from "../../support/Money.ts"
import { overduePayoutOf, overdueRefundOf, overdueReturn } from "../../support/Overdue.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const reason = "as the bank's clerk says"
const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("A settlement by hand", (it) => {
  it.effect("OPR-215, OPR-216: of a payout: completed with its end-to-end id, as if the bank had said it", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, id, key } = yield* overduePayoutOf
      const path = `/operator/v1/payouts/${id}/settle`
      for (const [body, details] of [
        [{ outcome: "completed", reason }, ["end_to_end_id"]],
        [{ outcome: "completed", end_to_end_id: "no id", reason }, ["end_to_end_id"]],
        [{ outcome: "failed" }, ["reason"]],
        [{ outcome: "lost", reason }, ["outcome"]]
      ] as const) {
        assertRefused(yield* operate("POST", path, { body }), "VALIDATION_ERROR", details)
      }
      const settled = { outcome: "completed", end_to_end_id: "E1234", reason }
      const idempotencyKey = newKey()
      const shown = yield* operate<Fields>("POST", path, { body: settled, idempotencyKey })
      assert.deepInclude(shown.body, { id, status: "completed", end_to_end_id: "E1234" })
      const again = yield* operate<Fields>("POST", path, { body: settled, idempotencyKey })
      assert.deepStrictEqual([again.status, again.body["status"]], [200, "completed"])
      const other = yield* operate("POST", path, { body: { outcome: "failed", reason }, idempotencyKey })
      assertRefused(other, "IDEMPOTENCY_KEY_REUSED")
      assertRefused(yield* operate("POST", path, { body: settled }), "INVALID_STATE")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, payouts_in_transit: 0 })
      assert.deepInclude((yield* retrievePayout(key, id)).body, { status: "completed", end_to_end_id: "E1234" })
      const sql = yield* SqlClient
      assert.deepStrictEqual(yield* sql`SELECT action FROM audit WHERE resource_id = ${id}::uuid`, [
        { action: "payoutActions.settle" }
      ])
      // The bank says otherwise later: BAL-16.
      assert.deepInclude(yield* simulated(`/payouts/${id}/fail`, { reason: "closed" }), { provider_outcome: "failed" })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-215: of a payout: not with the end-to-end id of another one", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const [one, other] = [yield* overduePayoutOf, yield* overduePayoutOf]
      const end_to_end_id = newPix()
      yield* operated("POST", `/payouts/${one.id}/settle`, { outcome: "completed", end_to_end_id, reason })
      const body = { outcome: "completed", end_to_end_id, reason }
      assertRefused(yield* operate("POST", `/operator/v1/payouts/${other.id}/settle`, { body }), "INVALID_STATE")
      assert.deepInclude(yield* ledgerBalancesOf(other.accountId), { payouts_in_transit: 5000 })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-215: of two payouts at the same moment with one end-to-end id: one", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      for (let round = 0; round < 5; round++) {
        const pair = [yield* overduePayoutOf, yield* overduePayoutOf]
        const body = { outcome: "completed", end_to_end_id: newPix(), reason }
        const answers = yield* Effect.forEach(
          pair,
          ({ id }) => operate("POST", `/operator/v1/payouts/${id}/settle`, { body }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 409])
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-215: of a payout: failed: amount and fee are back, with the reason", () =>
    Effect.gen(function* () {
      const { id, key } = yield* overduePayoutOf
      assert.deepInclude(yield* operated("POST", `/payouts/${id}/settle`, { outcome: "failed", reason }), {
        status: "failed",
        failure_reason: reason
      })
      assert.strictEqual(yield* availableOf(key), 5000)
      yield* assertLedgerHolds
    })
  )

  it.effect.each([
    { outcome: "completed", status: "completed", charge: "refunded", available: 0 },
    { outcome: "failed", status: "failed", charge: "paid", available: 1000 }
  ])("OPR-215: of a refund: $outcome", ({ available, charge, outcome, status }) =>
    Effect.gen(function* () {
      const { accountId, chargeId, id } = yield* overdueRefundOf()
      const body = { outcome, reason, ...(outcome === "completed" && { return_id: "D99" + id.slice(0, 8) }) }
      assert.deepInclude(yield* operated("POST", `/refunds/${id}/settle`, body), { status })
      assert.deepInclude(yield* operated("GET", `/charges/${chargeId}`), { status: charge })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available, returns_in_transit: 0 })
      if (outcome === "completed") {
        // The bank's list names it by the return id alone.
        const report = {
          _tag: "charge.refunded",
          txid: chargeId.replaceAll("-", ""),
          endToEndId: (yield* operated<{ end_to_end_id: string }>("GET", `/charges/${chargeId}`)).end_to_end_id,
          externalId: body.return_id!
        } as const
        assert.strictEqual(yield* notified({ ...report, amount: 1000 }), "ignored")
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-215: of an exception's return: completed and failed", () =>
    Effect.gen(function* () {
      const completed = yield* overdueReturn
      assert.deepInclude(
        yield* operated<Exception>("POST", `/exceptions/${completed}/settle`, {
          outcome: "completed",
          return_id: "D7",
          reason
        }),
        { status: "resolved", action: "return", unallocated: 0 }
      )
      const { end_to_end_id: endToEndId } = yield* operated<Exception>("GET", `/exceptions/${completed}`)
      // The bank's list names it by the return id alone.
      const report = { _tag: "charge.refunded", txid: "", externalId: "D7", amount: 3000 } as const
      assert.strictEqual(yield* notified({ ...report, endToEndId: endToEndId! }), "ignored")
      const failed = yield* overdueReturn
      assert.deepInclude(
        yield* operated<Exception>("POST", `/exceptions/${failed}/settle`, { outcome: "failed", reason }),
        {
          status: "open",
          action: null,
          unallocated: 3000,
          failure_reason: reason
        }
      )
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-215: with a return id that the books have already is refused: it was another return", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      // A part is ordered, and somebody returns as much in the bank's application.
      const refund = yield* overdueRefundOf({}, 400)
      const [charge] = yield* sql<{ pix: string }>`
        SELECT end_to_end_id AS pix FROM charges WHERE id = ${refund.chargeId}::uuid`
      const exception = yield* overdueReturn
      const { end_to_end_id: pix } = yield* operated<Exception>("GET", `/exceptions/${exception}`)
      const settled = [
        {
          path: `/refunds/${refund.id}`,
          txid: refund.chargeId.replaceAll("-", ""),
          endToEndId: charge!.pix,
          amount: 400
        },
        { path: `/exceptions/${exception}`, txid: "", endToEndId: pix!, amount: 1000 }
      ]
      for (const { path, ...report } of settled) {
        const externalId = newPix()
        assert.strictEqual(yield* notified({ _tag: "charge.refunded", externalId, ...report }), "applied")
        const body = { outcome: "completed", return_id: externalId, reason }
        assertRefused(yield* operate("POST", `/operator/v1${path}/settle`, { body }), "INVALID_STATE")
        yield* operated("POST", `${path}/settle`, { outcome: "failed", reason })
      }
      assert.deepInclude(yield* ledgerBalancesOf(refund.accountId), { available: 600, returns_in_transit: 0 })
      assert.deepInclude(yield* operated("GET", `/exceptions/${exception}`), { status: "open", unallocated: 2000 })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-215: nothing is settled within 24 hours of its first request, or before it, or without an order", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const body = { outcome: "failed", reason }
      const { id, key } = yield* overduePayoutOf
      yield* sql`UPDATE payouts SET requested_at = now() - interval '23 hours 59 minutes' WHERE id = ${id}::uuid`
      const refused = (path: string, code = "INVALID_STATE") =>
        Effect.map(operate("POST", `/operator/v1${path}`, { body }), (answer) => assertRefused(answer, code as never))
      yield* refused(`/payouts/${id}/settle`)
      yield* sql`UPDATE payouts SET requested_at = NULL WHERE id = ${id}::uuid`
      yield* refused(`/payouts/${id}/settle`)
      const refund = yield* overdueRefundOf()
      yield* sql`UPDATE acquirer_orders SET requested_at = now() WHERE id = ${refund.id}::uuid`
      yield* refused(`/refunds/${refund.id}/settle`)
      const returned = yield* overdueReturn
      yield* sql`UPDATE acquirer_orders SET state = 'refused' WHERE exception_id = ${returned}::uuid`
      yield* refused(`/exceptions/${returned}/settle`)
      yield* refused(`/payouts/${returned}/settle`, "NOT_FOUND")
      // The first request starts the 24 hours, not the creation.
      const paid = yield* Effect.exit(paidOut(key, holding))
      assert.strictEqual(paid._tag, "Failure")
      assert.deepStrictEqual(
        yield* sql`SELECT requested_at IS NOT NULL AS is_known FROM acquirer_orders WHERE id = ${refund.id}::uuid`,
        [{ is_known: true }]
      )
    })
  )

  it.effect("OPR-112, OPR-217: needs a second operator; an approval that the bank was faster than is out of date", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { id, key } = yield* overduePayoutOf
      const body = { outcome: "completed", end_to_end_id: newPix(), reason }
      const ask = (payoutId: string, idempotencyKey = newKey()) =>
        one.call<{ id: string }>("POST", `/operator/v1/payouts/${payoutId}/settle`, { body, idempotencyKey })
      const first = newKey()
      const asked = yield* ask(id, first)
      assert.strictEqual(asked.status, 202, asked.text)
      assert.strictEqual((yield* ask(id, first)).body.id, asked.body.id)
      assert.strictEqual((yield* retrievePayout(key, id)).body.status, "processing")
      assertRefused(yield* approve(one.call, asked.body.id), "FORBIDDEN")
      assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      assert.strictEqual((yield* retrievePayout(key, id)).body.status, "completed")
      assert.strictEqual((yield* ask(id, first)).status, 200)

      const faster = yield* overduePayoutOf
      const late = yield* ask(faster.id)
      yield* simulated(`/payouts/${faster.id}/fail`, { reason: "closed" })
      assertRefused(yield* approve(other.call, late.body.id), "INVALID_STATE")
      assert.strictEqual((yield* retrievePayout(faster.key, faster.id)).body.status, "failed")
      yield* assertLedgerHolds
    })
  )
})
