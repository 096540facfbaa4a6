/**
 * Charges and payouts that are partitioned by id while the service runs, at a bound of now: rows of before and after it are
 * in two partitions. No statement needs a unique index that a partitioned table cannot have.
 */
import { assert, layer } from "@effect/vitest"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create, created, listed } from "../support/ChargeRequests.ts"
import { incompleteKeys } from "../support/KeyTables.ts"
import {
  assertLedgerHolds,
  funded,
  holding,
  listedPayouts,
  paidCharge,
  paidOut,
  payoutReaching,
  simulated
} from "../support/Money.ts"
import { SERVICE_ROLE } from "../support/Postgres.ts"
import { loopback } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

/** The table becomes the partition of the ids before `bound`, without a rewrite. */
const partition = (table: "charges" | "payouts", bound: string) => [
  `ALTER TABLE ${table} RENAME TO ${table}_before`,
  `CREATE TABLE ${table} (LIKE ${table}_before INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)
    PARTITION BY RANGE (id)`,
  `ALTER TABLE ${table} ATTACH PARTITION ${table}_before FOR VALUES FROM (MINVALUE) TO ('${bound}')`,
  `CREATE TABLE ${table}_default PARTITION OF ${table} DEFAULT`,
  `GRANT SELECT, INSERT, UPDATE ON ${table} TO ${SERVICE_ROLE}`
]

const partitionAll = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [now] = yield* sql<{ ms: number }>`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`
  // Ids carry the millisecond in which they were made: those of the next requests are not before this one.
  const bound = lowestIdAt(Math.floor(now!.ms) + 1)
  const statements = [
    "DROP TRIGGER charge_stores_key ON charges",
    "DROP TRIGGER payout_stores_key ON payouts",
    "DROP TRIGGER payouts_stay_covered ON payouts",
    "DROP INDEX charges_idempotency, payouts_idempotency",
    ...partition("charges", bound),
    ...partition("payouts", bound),
    `CREATE TRIGGER payouts_stay_covered AFTER INSERT ON payouts
      REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION payouts_stay_covered()`
  ]
  yield* sql.withTransaction(Effect.forEach(statements, (text) => sql.unsafe(text)))
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Partitioned charges and payouts", (it) => {
  it.effect("IDEM-4, IDEM-5, CHG-9, PAY-6: keep every rule, for rows of before and after", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const keys = { charge: newKey(), payout: newKey() }
      const charge = yield* created(key, {}, keys.charge)
      const payout = yield* paidOut(key, holding, keys.payout)
      const open = yield* created(key)

      yield* partitionAll

      assert.strictEqual((yield* created(key, {}, keys.charge)).id, charge.id)
      assert.strictEqual((yield* paidOut(key, holding, keys.payout)).id, payout.id)
      const rivals = newKey()
      const answers = yield* Effect.forEach(Array.from({ length: 50 }), () => create(key, {}, rivals), {
        concurrency: "unbounded"
      })
      assert.lengthOf(new Set(answers.map(({ body }) => body.id)), 1)
      const later = newKey()
      const payouts = yield* Effect.forEach(Array.from({ length: 20 }), () => paidOut(key, holding, later), {
        concurrency: "unbounded"
      })
      assert.lengthOf(new Set(payouts.map(({ id }) => id)), 1)

      // Changes of rows in both partitions.
      yield* simulated(`/charges/${open.id}/pay`)
      const paid = yield* paidCharge(key)
      for (const { id } of [payout, payouts[0]!]) {
        yield* simulated(`/payouts/${id}/complete`)
        yield* payoutReaching(key, id, "completed")
      }

      const ids = (yield* listed(key)).data.map(({ id }) => id)
      assert.includeMembers(ids, [charge.id, open.id, answers[0]!.body.id, paid.id])
      assert.deepStrictEqual(ids, ids.toSorted().toReversed())
      assert.deepStrictEqual(
        (yield* listedPayouts(key)).data.map(({ id }) => id),
        [payouts[0]!.id, payout.id]
      )
      for (const table of ["charges_before", "charges_default", "payouts_before", "payouts_default"]) {
        assert.isNotEmpty(yield* sql.unsafe(`SELECT FROM ONLY ${table}`), table)
      }
      assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
      yield* assertLedgerHolds
    })
  )
})
