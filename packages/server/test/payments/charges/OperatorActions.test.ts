/** What operators do to a charge: cancel and refund. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  ledgerBalancesOf,
  operated,
  paidCharge,
  simulated,
  eventStatusesOf
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { med, statusOf, disputesOf, paidEvents } from "../../support/Disputes.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Operators and charges", (it) => {
  it.effect("CHG-7, OPR-11, OPR-20: cancel: `pending` only; expired → 409", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const pending = yield* created(key)
      const canceled = yield* operated<Charge>("POST", `/charges/${pending.id}/cancel`)
      assert.deepInclude(canceled, { status: "canceled", failure_reason: null, paid_at: null, sequence: 3 })
      assert.deepStrictEqual(yield* eventStatusesOf(pending.id), [
        "charge.pix.created pending",
        "charge.pix.emitted pending",
        "charge.pix.canceled canceled"
      ])
      const expired = yield* created(key)
      yield* sql`UPDATE charges SET expires_at = ${formatInstant(yield* Clock.currentTimeMillis)}::timestamptz
        WHERE id = ${expired.id}::uuid`
      const paid = yield* paidCharge(key)
      const failed = yield* created(key)
      yield* simulated(`/charges/${failed.id}/fail`)
      // Without a recovery, which could end it meanwhile.
      const processing = yield* created(key)
      yield* sql`DELETE FROM charge_recoveries WHERE ${processing.id}::uuid = ANY (charge_ids)`
      yield* sql`UPDATE charges SET status = 'processing', sequence = 1 WHERE id = ${processing.id}::uuid`
      for (const { id } of [pending, expired, paid, failed, processing]) {
        const before = yield* statusOf(key, id)
        assertRefused(yield* operate("POST", `/operator/v1/charges/${id}/cancel`), "INVALID_STATE")
        assert.strictEqual(yield* statusOf(key, id), before)
      }
      assertRefused(yield* operate("POST", "/operator/v1/charges/x/cancel"), "NOT_FOUND")
    })
  )

  it.effect("CHG-7, CHG-26, OPR-20: refund: `paid` only; sent to the acquirer; the money goes back once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      yield* paidCharge(key, 101)
      const refunded = yield* operated<Charge>("POST", `/charges/${id}/refund`)
      assert.strictEqual(refunded.status, "refunded")
      assert.deepStrictEqual(yield* eventStatusesOf(id), [...paidEvents, "charge.pix.refunded refunded"])
      // The acquirer's own notification of it is accepted, and changes nothing.
      yield* Effect.repeat(
        Effect.delay(sql`SELECT id FROM simulator_notifications WHERE sent_at IS NULL`, "20 millis"),
        {
          until: (rows) => rows.length === 0
        }
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 101, blocked: 0 })
      assert.deepStrictEqual(yield* disputesOf(id), [])
      const pending = yield* created(key)
      const contested = yield* paidCharge(key)
      yield* med(contested.id)
      for (const other of [id, pending.id, contested.id]) {
        assertRefused(yield* operate("POST", `/operator/v1/charges/${other}/refund`), "INVALID_STATE")
      }
      assertRefused(
        yield* operate("POST", "/operator/v1/charges/0198c0de-0000-7000-8000-000000000000/refund"),
        "NOT_FOUND"
      )
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-26: many concurrent refunds return the money once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const answers = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => operate<Charge>("POST", `/operator/v1/charges/${id}/refund`),
        { concurrency: "unbounded" }
      )
      // A call during the refund answers as if it were done; a call after it is refused.
      assert.isTrue(answers.some(({ status }) => status === 200))
      for (const { body, status } of answers) {
        if (status === 200) assert.strictEqual(body.status, "refunded")
        else assert.strictEqual(status, 409)
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
      assert.deepStrictEqual(yield* eventStatusesOf(id), [...paidEvents, "charge.pix.refunded refunded"])
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-7: concurrent cancel and payment: one wins", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const made = yield* Effect.forEach(Array.from({ length: 15 }), () => created(key, { amount: 1000 }), {
        concurrency: 15
      })
      const outcomes = yield* Effect.forEach(
        made,
        ({ id }) =>
          Effect.all(
            [
              operate("POST", `/operator/v1/charges/${id}/cancel`),
              operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
            ],
            { concurrency: 2 }
          ),
        { concurrency: "unbounded" }
      )
      const statuses = yield* Effect.forEach(made, ({ id }) => statusOf(key, id))
      for (const [index, [cancel, pay]] of outcomes.entries()) {
        assert.deepStrictEqual([cancel.status, pay.status], statuses[index] === "canceled" ? [200, 202] : [409, 200])
      }
      const paid = statuses.filter((status) => status === "paid").length
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: paid * 1000 })
    })
  )
})
