/**
 * The states of charges: lists by status find every charge by them, and a payment changes no index of `charges`.
 *
 * The model of charges and the simulation check the states after each of their runs too.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { partitionsOf } from "../../src/schema/partitions/Catalog.ts"
import { lifetimeIn } from "../../src/schema/partitions/ChargeStates.ts"
import { prepare } from "../../src/schema/partitions/Partitions.ts"
import * as ReleaseBefore from "../../src/schema/partitions/ReleaseBefore.ts"
import { create, created, type ErrorBody, listed, retrieve, withCustomer } from "../support/ChargeRequests.ts"
import { wrongStates } from "../support/ChargeStates.ts"
import { operated, paidCharge, simulated } from "../support/Money.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { eventually, loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { upgradedService } from "../support/UpgradedDatabase.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, acquirerTimeoutMs: 60_000 }

const ended = Effect.andThen(ReleaseBefore.drop, prepare)

const start = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ value: string }>`SELECT value FROM installation WHERE name = 'charge_states_start'`
  return row?.value
})

/** The indexes of `charges` and its partitions that the acquirer's answer or a payment would change. */
const changedIndexes = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT DISTINCT d.objid::regclass::text AS name
    FROM pg_index x
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid AND d.refobjid = x.indrelid
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE (x.indrelid = 'charges'::regclass OR x.indrelid IN (
        SELECT inhrelid FROM pg_inherits WHERE inhparent = 'charges'::regclass))
      AND a.attname IN ('status', 'br_code', 'end_to_end_id', 'receiver', 'receiver_id', 'paid_at', 'failure_reason',
        'sequence', 'acquirer_answered', 'settlement_stored')
    ORDER BY 1`
  return rows.map(({ name }) => name)
})

/** Stores copies of a charge, as old as `age` says in SQL, given their number `n`. */
const copies = (id: string, count: number, age: string) =>
  SqlClient.use((sql) =>
    sql.unsafe(`INSERT INTO charges
      SELECT (jsonb_populate_record(t, jsonb_build_object('id', uuidv7(${age}), 'idempotency_key', NULL,
        'end_to_end_id', NULL))).* FROM charges t CROSS JOIN generate_series(1, ${count}) n WHERE t.id = '${id}'`)
  )

const idsOf = (key: string, status: string) =>
  Effect.map(listed(key, `?status=${status}&limit=100`), ({ data }) => data.map(({ id }) => id))

const assertRight = Effect.gen(function* () {
  const sql = yield* SqlClient
  assert.deepStrictEqual(yield* sql.unsafe(wrongStates), [])
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("States of charges", (it) => {
  it.effect("are in no index of charges, before and after charges are partitioned", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* changedIndexes, [])
      yield* ended
      assert.deepStrictEqual(yield* changedIndexes, [])
      assert.isAbove((yield* partitionsOf("charges"))!.length, 1)
    })
  )

  it.effect("CHG-7, CHG-20: follow each transition, of the charges of the API", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const reached = (id: string, status: string) =>
        Effect.andThen(
          eventually(retrieve(key, id), ({ body }) => body.status === status),
          Effect.gen(function* () {
            assert.include(yield* idsOf(key, status), id, status)
            yield* assertRight
          })
        )
      const pending = yield* created(key, { expires_in: 60 })
      yield* reached(pending.id, "pending")
      const refused = yield* create(key, withCustomer({ email: "refuse@simulator.test" }))
      yield* reached((refused.body as unknown as ErrorBody).charge_id!, "failed")
      const canceled = yield* created(key)
      yield* operated("POST", `/charges/${canceled.id}/cancel`)
      yield* reached(canceled.id, "canceled")
      const { id } = yield* paidCharge(key)
      yield* reached(id, "paid")
      assert.notInclude(yield* idsOf(key, "pending"), id)
      const dispute = yield* simulated<{ id: string }>(`/charges/${id}/infraction`, { reason: "fraud" }, 201)
      yield* reached(id, "infraction")
      assert.notInclude(yield* idsOf(key, "paid"), id)
      yield* simulated(`/disputes/${dispute.id}/win`)
      yield* reached(id, "paid")
      assert.notInclude(yield* idsOf(key, "infraction"), id)
      yield* operated("POST", `/charges/${id}/refund`)
      yield* reached(id, "refunded")
      assert.notInclude(yield* idsOf(key, "paid"), id)
    })
  )
})

layer(upgradedService({ settings }), { excludeTestServices: true })("States of an upgraded installation", (it) => {
  it.effect("are stored when a small table is partitioned, whatever servers of the release before did", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      assert.isUndefined(yield* start)
      const [unstored, wrong, unanswered] = [yield* created(key), yield* created(key), yield* created(key)]
      const paid = yield* paidCharge(key)
      // A server of the release before writes no states, and stores `processing`.
      yield* sql`DELETE FROM charge_states WHERE charge_id = ${unstored.id}::uuid`
      yield* sql`UPDATE charges SET status = 'canceled' WHERE id = ${wrong.id}::uuid`
      yield* sql`UPDATE charge_settlements SET account_id = NULL`
      yield* sql`UPDATE charges SET status = 'processing', br_code = NULL, sequence = 1, recover_at = now()
        WHERE id = ${unanswered.id}::uuid`
      const statuses = ["pending", "processing", "canceled", "paid"]
      const before = yield* Effect.forEach(statuses, (status) => idsOf(key, status))
      assert.deepStrictEqual(before, [[unstored.id], [unanswered.id], [wrong.id], [paid.id]])
      // Nearly as large as a small table can be.
      const other = yield* makeCaller()
      yield* copies((yield* created(other.key)).id, 3000, "-(n || ' minutes')::interval")
      yield* sql`UPDATE charges SET recover_at = now() + interval '1 hour' WHERE id = ${unanswered.id}::uuid`
      yield* ended
      assert.strictEqual(yield* start, "00000000-0000-0000-0000-000000000000")
      assert.deepStrictEqual(yield* changedIndexes, [])
      yield* assertRight
      assert.deepStrictEqual(yield* Effect.forEach(statuses, (status) => idsOf(key, status)), before)
      // It is recovered as one that this release stored.
      yield* sql`UPDATE charge_recoveries SET due_at = now() WHERE account_id = ${accountId}::uuid`
      yield* eventually(retrieve(key, unanswered.id), ({ body }) => body.status === "pending")
      yield* assertRight
    })
  )
})

const recorder = makeRecorder()

layer(upgradedService({ settings }, recorder.layer), { excludeTestServices: true })(
  "States beside a large table",
  (it) => {
    it.effect("LIST-1, CHG-20: begin with the second partition, and lists read both", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const charge = yield* created(key)
        const paid = yield* paidCharge(key)
        yield* copies(charge.id, 20_000, "-(n || ' minutes')::interval")
        // Stored by a server of the release before.
        yield* sql`DELETE FROM charge_states`
        assert.isUndefined(yield* start)
        yield* ended
        const [first] = (yield* partitionsOf("charges"))!
        assert.strictEqual(yield* start, first!.before)
        const kept = yield* changedIndexes
        assert.isAbove(kept.length, 0)
        assert.deepStrictEqual(
          kept.filter((name) => !name.startsWith(first!.name)),
          []
        )
        // As if they had been created after the start.
        const later = "'130 days'::interval"
        yield* copies(charge.id, 3000, later)
        yield* copies(paid.id, 2, later)
        yield* sql.unsafe(`INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
        SELECT account_id, status, ${lifetimeIn("status")}, id FROM charges WHERE id >= '${first!.before}'`)
        yield* assertRight
        // As autovacuum has, long before a table is large.
        yield* sql`ANALYZE charges`
        for (const [status, count] of [
          ["pending", 100],
          ["paid", 3]
        ] as const) {
          const expected = yield* sql<{ id: string }>`SELECT id FROM charges
          WHERE status = ${status} ORDER BY id DESC LIMIT 100`
          assert.lengthOf(expected, count)
          recorder.take()
          assert.deepStrictEqual(
            yield* idsOf(key, status),
            expected.map(({ id }) => id)
          )
          // PostgreSQL may read and sort a first partition of this size, and reads an index where there are millions.
          const { databaseUrl } = yield* TestService
          const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
          for (const sent of recorder.take().filter(({ text }) => /\.id DESC LIMIT/.test(text))) {
            const { fullScans, rows } = yield* explain(sent)
            assert.deepStrictEqual(fullScans, [])
            assert.isBelow(rows, 22_000, `${status}: no later partition is read beyond the page`)
          }
        }
        const [oldest] = yield* sql<{ id: string }>`
        SELECT id FROM charges WHERE id >= ${first!.before}::uuid AND status = 'pending' ORDER BY id LIMIT 1`
        const rest = (yield* listed(key, `?status=pending&limit=1&starting_after=${oldest!.id}`)).data
        assert.deepStrictEqual(
          rest.map(({ id }) => id),
          [charge.id]
        )
      })
    )
  }
)
