/** Outcomes of payouts: the acquirer reports one again, out of order, or not at all. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../../src/payments/payouts/PayoutTable.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import {
  assertLedgerHolds,
  funded,
  submittedPayout,
  holding,
  ledgerBalancesOf,
  operated,
  paidOut,
  payoutReaching,
  retrievePayout,
  simulated,
  timingOut,
  eventStatusesOf
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Outcomes of payouts", (it) => {
  it.effect("PAY-4: a repeated or out-of-order notification changes nothing", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const [pending, canceled, completed, failed] = yield* Effect.forEach(
        [holding, holding, holding, holding],
        (fields) => paidOut(key, fields)
      )
      yield* operated("POST", `/payouts/${canceled!.id}/cancel`)
      for (const { id } of [completed!, failed!]) yield* operated("POST", `/payouts/${id}/approve`)
      yield* simulated(`/payouts/${completed!.id}/complete`)
      yield* simulated(`/payouts/${failed!.id}/fail`, { reason: "x" })
      const before = yield* Effect.forEach([canceled!, completed!, failed!], ({ id }) => retrievePayout(key, id))
      const kept = yield* ledgerBalancesOf(accountId)
      for (const { id } of [pending!, canceled!, completed!]) {
        assertRefused(yield* operate("POST", `/operator/v1/simulator/payouts/${id}/complete`), "INVALID_STATE")
      }
      for (const { id } of [pending!, canceled!, failed!]) {
        const refused = yield* operate("POST", `/operator/v1/simulator/payouts/${id}/fail`, { body: { reason: "y" } })
        assertRefused(refused, "INVALID_STATE")
      }
      assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), kept)
      for (const { body } of before) assert.deepStrictEqual((yield* retrievePayout(key, body.id)).body, body)
    })
  )

  it.effect("PAY-5: many concurrent equal notifications move the money once", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 10, basis_points: 0 } })
      const { id } = yield* paidOut(key, holding)
      yield* submittedPayout(key, id)
      const path = `/operator/v1/simulator/payouts/${id}`
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => operate("POST", `${path}/fail`, { body: { reason: "x" } }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [
        200,
        ...Array.from({ length: 19 }, () => 409)
      ])
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 10_000, payouts_in_transit: 0 })
    })
  )

  it.effect(
    "PAY-6: an unclear answer is never a refusal: the outcome is queried until it is known, and one Pix is sent",
    () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* funded(10_000)
        const sql = yield* SqlClient
        const made = yield* Effect.forEach(Array.from({ length: 10 }), () => paidOut(key, timingOut), {
          concurrency: 10
        })
        for (const { id, status } of made) {
          assert.strictEqual(status, "processing")
          const completed = yield* payoutReaching(key, id, "completed")
          assert.match(String(completed.end_to_end_id), /^E00000000/)
          const [row] = yield* sql<{ attempts: number }>`SELECT attempts FROM payouts WHERE id = ${id}::uuid`
          assert.isAtLeast(row!.attempts, 1, "its first answer was unclear")
          const taken = yield* sql<{
            amount: bigint
          }>`SELECT s.amount FROM simulator_payouts s JOIN payouts p ON s.order_id = ${sql.literal(orderIdOf("p"))}
            WHERE p.id = ${id}::uuid`
          assert.deepStrictEqual(taken, [{ amount: 500n }])
          assert.deepStrictEqual(yield* eventStatusesOf(id), [
            "payment.pix.created processing",
            "payment.pix.processing processing",
            "payment.pix.completed completed"
          ])
        }
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 5000, payouts_in_transit: 0 })
        yield* assertLedgerHolds
      })
  )

  it.effect("one payout that cannot be settled delays no other", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(100_000, { auto_payout_enabled: false })
      const sql = yield* SqlClient
      const { id: poisoned } = yield* paidOut(key)
      // Their first answer is pending when the poisoned one fails.
      const slow = yield* Effect.forEach(Array.from({ length: 12 }), () => paidOut(key, timingOut), { concurrency: 12 })
      const others = slow.map(({ id }) => id)
      yield* sql.unsafe(`CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF NEW.id = '${poisoned}' AND NEW.status = 'completed' THEN RAISE EXCEPTION 'poisoned'; END IF;
          RETURN NEW;
        END $$`)
      yield* changeSchema(`CREATE TRIGGER poison BEFORE UPDATE ON payouts FOR EACH ROW EXECUTE FUNCTION poison()`)
      // Approved by SQL, so that one round finds them all.
      yield* sql`UPDATE payouts SET status = 'processing', sequence = 2, due_at = now()
        WHERE id IN ${sql.in([poisoned, ...others])}`
      for (const id of others) {
        yield* payoutReaching(key, id, "completed")
        const [row] = yield* sql<{ attempts: number }>`SELECT attempts FROM payouts WHERE id = ${id}::uuid`
        assert.isAtLeast(row!.attempts, 1, "its first answer was waited for")
      }
      assert.strictEqual((yield* retrievePayout(key, poisoned)).body.status, "processing")
      yield* changeSchema(`DROP TRIGGER poison ON payouts`)
      yield* sql`UPDATE payouts SET due_at = now() WHERE id = ${poisoned}::uuid`
      yield* payoutReaching(key, poisoned, "completed")
    })
  )
})
