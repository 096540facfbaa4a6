/** Charges and payouts by quarter. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { SqlClient } from "effect/sql/SqlClient"
import { partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import * as Maintenance from "../../../src/schema/partitions/Maintenance.ts"
import { timeOf } from "../../../src/database/Period.ts"
import { create, created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { ahead, DAY_MS } from "../../support/DatabaseTime.ts"
import {
  funded,
  holding,
  listedPayouts,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  simulated
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { newKey, TestService, whenFree } from "../../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }
const TABLES = ["charges", "payouts"] as const

const countOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  const [row] = yield* sql.unsafe<{ count: number }>(`SELECT count(*)::integer AS count FROM ${table}`)
  return row!.count
})

/** Stores copies of a row, as old as `age` says in SQL, given their number `n`. They have no key and no settlement. */
const copies = Effect.fnUntraced(function* (table: string, id: string, count: number, age: string) {
  const sql = yield* SqlClient
  yield* sql.unsafe(`INSERT INTO ${table}
    SELECT (jsonb_populate_record(t, jsonb_build_object('id', uuidv7(${age}), 'idempotency_key', NULL,
      'end_to_end_id', NULL))).* FROM ${table} t CROSS JOIN generate_series(1, ${count}) n WHERE t.id = '${id}'`)
})

/** A completed payout. */
const completed = Effect.fnUntraced(function* (key: string, idempotencyKey = newKey()) {
  const { id } = yield* paidOut(key, holding, idempotencyKey)
  yield* simulated(`/payouts/${id}/complete`)
  return yield* payoutReaching(key, id, "completed")
})

/** At least twelve partitions, as after years. */
const twelveQuarters = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  for (;;) {
    const known = (yield* partitionsOf("charges"))!
    if (known.length >= 12) return known
    const { done, removed } = yield* ahead(timeOf(known.at(-1)!.before) - now + DAY_MS, Maintenance.run)
    assert.isTrue(done)
    const ofMoney = removed.filter(({ table }) => TABLES.some((name) => name === table))
    assert.deepStrictEqual(ofMoney, [])
  }
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Charges and payouts by quarter", (it) => {
  it.effect("have triggers, checks, indexes and fill factors in each partition", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const triggers = yield* sql`SELECT tgrelid::regclass::text AS table, tgname::text AS name FROM pg_trigger
          WHERE NOT tgisinternal AND (tgrelid::regclass::text LIKE 'charges%' OR tgrelid::regclass::text LIKE 'payouts%')`
      assert.deepStrictEqual(triggers, [{ table: "payouts", name: "payouts_stay_covered" }])
      const { key } = yield* funded(10_000)
      const { id } = yield* completed(key)
      const refused = yield* Effect.exit(
        sql.withTransaction(
          Effect.andThen(
            sql`UPDATE ledger_accounts SET balance = -1 WHERE kind = 'available'
                AND owner_id = (SELECT account_id FROM payouts WHERE id = ${id}::uuid)`,
            copies("payouts", id, 1, "'0 s'::interval")
          )
        )
      )
      assert.isTrue(Exit.isFailure(refused) && String(refused).includes("below zero"), String(refused))

      for (const [table, fill] of [
        ["charges", "fillfactor=70"],
        ["payouts", "fillfactor=100"]
      ] as const) {
        const partitions = yield* sql<{ options: ReadonlyArray<string> }>`
            SELECT c.reloptions AS options FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = ${table}::regclass`
        assert.isAtLeast(partitions.length, 3)
        for (const { options } of partitions) assert.include(options, fill)
        const unique = yield* sql<{ name: string }>`
            SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = ${table}::regclass AND indisunique`
        assert.deepStrictEqual(unique, [{ name: `${table}_pkey` }])
        const broken = yield* Effect.exit(
          sql.withTransaction(sql.unsafe(`UPDATE ${table} SET amount = 0 WHERE id = (SELECT max(id) FROM ${table})`))
        )
        assert.isTrue(Exit.isFailure(broken), `${table} has its checks`)
      }
    })
  )

  it.effect("IDEM-4, IDEM-5, CHG-9: a key and a settlement are of one resource, in whichever quarter it is", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const keys = { charge: newKey(), payout: newKey() }
      const now = { charge: yield* created(key, {}, keys.charge), payout: yield* completed(key, keys.payout) }
      // As if they had been created in the next quarter.
      const later: Record<string, string> = {}
      const [before] = yield* sql<Record<string, string>>`
        SELECT (SELECT tableoid::regclass::text FROM charges WHERE id = ${now.charge.id}::uuid) AS charge,
          (SELECT tableoid::regclass::text FROM payouts WHERE id = ${now.payout.id}::uuid) AS payout`
      for (const [table, own, id] of [
        ["charges", "charge", now.charge.id],
        ["payouts", "payout", now.payout.id]
      ] as const) {
        const [moved] = yield* sql.unsafe<{ id: string; place: string }>(
          `UPDATE ${table} SET id = uuidv7('100 days'::interval) WHERE id = '${id}' RETURNING id, tableoid::regclass::text AS place`
        )
        assert.notStrictEqual(moved!.place, before![own])
        yield* sql.unsafe(`UPDATE idempotency_keys SET resource_id = '${moved!.id}' WHERE resource_id = '${id}'`)
        later[own] = moved!.id
      }
      const asked = whenFree(create(key, {}, keys.charge))
      const charges = yield* Effect.forEach(Array.from({ length: 20 }), () => asked, { concurrency: "unbounded" })
      assert.deepStrictEqual([...new Set(charges.map(({ body }) => body.id))], [later["charge"]])
      const askedToPay = whenFree(payOut(key, holding, keys.payout))
      const payouts = yield* Effect.forEach(Array.from({ length: 20 }), () => askedToPay, { concurrency: "unbounded" })
      assert.deepStrictEqual([...new Set(payouts.map(({ body }) => body.id))], [later["payout"]])
      const paid = yield* paidCharge(key)
      const twice = yield* Effect.exit(
        sql`INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount)
          SELECT end_to_end_id, connection_id, ${later["charge"]!}::uuid, amount FROM charge_settlements
          WHERE charge_id = ${paid.id}::uuid`
      )
      assert.isTrue(Exit.isFailure(twice))
    })
  )

  it.effect("OPR-190, OPR-191: lose no partition, however old, and get those of the next quarters", () =>
    Effect.gen(function* () {
      const names = Effect.forEach(TABLES, (table) =>
        Effect.map(partitionsOf(table), (known) => known!.map(({ name }) => name))
      )
      const before = yield* names
      const counts = yield* Effect.forEach(TABLES, countOf)
      yield* twelveQuarters
      const after = yield* names
      for (const [index, known] of after.entries()) {
        assert.includeMembers([...known], [...before[index]!])
        assert.isAtLeast(known.length, 12)
      }
      assert.deepStrictEqual(yield* Effect.forEach(TABLES, countOf), counts)
    })
  )

  it.effect("LIST-1, LIST-2: are listed newest first over twelve partitions, and read by id in each", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const charge = yield* created(key)
      const payout = yield* completed(key)
      const now = yield* Clock.currentTimeMillis
      const known = yield* twelveQuarters
      for (const { from } of known.slice(1)) {
        const age = `interval '${timeOf(from!) - now + DAY_MS} milliseconds'`
        yield* copies("charges", charge.id, 2, age)
        yield* copies("payouts", payout.id, 2, age)
      }
      const [places] = yield* sql`SELECT count(DISTINCT tableoid)::integer AS charges FROM charges
          WHERE account_id = (SELECT account_id FROM charges WHERE id = ${charge.id}::uuid)`
      assert.deepStrictEqual(places, { charges: known.length })
      const ids: Array<string> = []
      for (let page = yield* listed(key, "?limit=5"); ;) {
        ids.push(...page.data.map(({ id }) => id))
        if (!page.has_more) break
        page = yield* listed(key, `?limit=5&starting_after=${ids.at(-1)!}`)
      }
      // The first partition has this charge and that of the balance.
      assert.lengthOf(ids, 2 * known.length)
      assert.deepStrictEqual(ids, ids.toSorted().toReversed())
      const found = yield* Effect.forEach(ids, (id) => retrieve(key, id), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        found.map(({ body }) => body.id),
        ids
      )
      const payouts = (yield* listedPayouts(key, "?limit=100")).data.map(({ id }) => id)
      assert.lengthOf(payouts, 2 * known.length - 1)
      assert.deepStrictEqual(payouts, payouts.toSorted().toReversed())
    })
  )
})
