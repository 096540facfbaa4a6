/**
 * Charges and payouts by quarter: the end of an upgrade, while the service creates, pays and pays out.
 */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { partitionsOf, unpartitioned } from "../../../src/schema/partitions/Catalog.ts"
import * as Maintenance from "../../../src/schema/partitions/Maintenance.ts"
import { prepare } from "../../../src/schema/partitions/Partitions.ts"
import { timeOf } from "../../../src/schema/partitions/Period.ts"
import * as ReleaseBefore from "../../../src/schema/partitions/ReleaseBefore.ts"
import { create, created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { ahead, DAY_MS } from "../../support/DatabaseTime.ts"
import { incompleteKeys } from "../../support/KeyTables.ts"
import {
  assertLedgerHolds,
  funded,
  holding,
  listedPayouts,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  simulated
} from "../../support/Money.ts"
import { asService } from "../../support/Postgres.ts"
import { ran } from "../../support/Process.ts"
import { eventually, loopback } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }
const TABLES = ["charges", "payouts"] as const

const kinds = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ kind: string }>`
    SELECT relkind::text AS kind FROM pg_class WHERE oid IN ('charges'::regclass, 'payouts'::regclass) ORDER BY relname`
  return rows.map(({ kind }) => kind).join("")
})

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

const finished = Effect.andThen(ReleaseBefore.drop, prepare)

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

layer(TestService.layer({ settings }), { excludeTestServices: true })("Full tables of charges and payouts", (it) => {
  it.effect("are partitioned while the service uses them, and by the next run where one was killed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* funded(1_000_000)
      const keys = { charge: newKey(), payout: newKey() }
      const charge = yield* created(key, {}, keys.charge)
      const payout = yield* completed(key, keys.payout)
      // More than is read under a lock.
      yield* copies("charges", charge.id, 20_000, "-(n || ' minutes')::interval")
      yield* copies("payouts", payout.id, 40_000, "-(n || ' minutes')::interval")
      const before = { charges: yield* countOf("charges"), payouts: yield* countOf("payouts") }
      const files = sql<{ name: string; file: number }>`
          SELECT pg_relation_filenode(oid)::integer AS file FROM pg_class
          WHERE relname ~ '^(charges|payouts)(_until_.*)?$' AND relkind = 'r' ORDER BY relname`
      const stored = yield* files

      const done = { charges: 0, payouts: 0 }
      const failed: Array<unknown> = []
      // Each time with another key.
      const repeating = (work: () => Effect.Effect<unknown, unknown, TestService | SqlClient>) =>
        Effect.forkScoped(
          Effect.forever(
            Effect.catchCause(Effect.suspend(work), (cause) =>
              Effect.andThen(
                Effect.sync(() => failed.push(cause)),
                Effect.never
              )
            )
          )
        )
      const load = [
        yield* repeating(() => Effect.tap(paidCharge(key), () => Effect.sync(() => (done.charges += 1)))),
        yield* repeating(() => Effect.tap(completed(key), () => Effect.sync(() => (done.payouts += 1))))
      ]
      const goesOn = Effect.gen(function* () {
        const { charges, payouts } = done
        yield* eventually(
          Effect.sync(() => failed.length > 0 || (done.charges > charges + 1 && done.payouts > payouts + 1)),
          (is) => is
        )
        assert.deepStrictEqual(failed, [])
      })
      yield* goesOn

      // The lock is never free: the run ends in the middle of its step, with its connection.
      const holder = yield* sql.reserve
      const killed = Effect.fnUntraced(function* (table: string, work: Effect.Effect<unknown, unknown, SqlClient>) {
        yield* holder.executeRaw("BEGIN", [])
        yield* holder.executeRaw(`LOCK TABLE ${table} IN ACCESS SHARE MODE`, [])
        const run = yield* Effect.forkScoped(Effect.exit(work))
        yield* eventually(
          sql<{ pid: number }>`SELECT pg_terminate_backend(pid) AS pid FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DO $step$%'
                AND query LIKE ${`%${table}%`}`,
          (ended) => ended.length > 0
        )
        yield* Fiber.interrupt(run)
        yield* holder.executeRaw("COMMIT", [])
      })
      for (const table of TABLES) {
        yield* killed(table, ReleaseBefore.drop)
        assert.deepStrictEqual(yield* unpartitioned(TABLES), table === "charges" ? [] : ["charges"])
        yield* goesOn
      }
      yield* ReleaseBefore.drop
      yield* goesOn
      for (const table of TABLES) {
        yield* killed(table, prepare)
        assert.strictEqual(yield* kinds, table === "charges" ? "rr" : "pr")
        yield* goesOn
      }
      yield* finished
      assert.strictEqual(yield* kinds, "pp")
      yield* goesOn
      yield* Fiber.interruptAll(load)

      assert.deepStrictEqual(yield* files, stored, "no row was copied")
      assert.isAtLeast(yield* countOf("charges"), before.charges + done.charges)
      assert.isAtLeast(yield* countOf("payouts"), before.payouts + done.payouts)
      assert.strictEqual((yield* created(key, {}, keys.charge)).id, charge.id)
      assert.strictEqual((yield* paidOut(key, holding, keys.payout)).id, payout.id)
      assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
      yield* assertLedgerHolds
      // A repetition has nothing to do.
      assert.deepStrictEqual(yield* Effect.andThen(ReleaseBefore.drop, prepare), 0)
    }).pipe(Effect.scoped)
  )

  it.effect("have the triggers, checks, indexes and fill factors of before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* finished
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
      yield* finished
      const { key } = yield* funded(10_000)
      const keys = { charge: newKey(), payout: newKey() }
      const now = { charge: yield* created(key, {}, keys.charge), payout: yield* completed(key, keys.payout) }
      // As if they had been created in the next quarter.
      const later: Record<string, string> = {}
      for (const [table, own, id] of [
        ["charges", "charge", now.charge.id],
        ["payouts", "payout", now.payout.id]
      ] as const) {
        const [moved] = yield* sql.unsafe<{ id: string; place: string }>(
          `UPDATE ${table} SET id = uuidv7('100 days'::interval) WHERE id = '${id}' RETURNING id, tableoid::regclass::text AS place`
        )
        assert.notInclude(moved!.place, "until")
        yield* sql.unsafe(`UPDATE ${own}_keys SET ${own}_id = '${moved!.id}' WHERE ${own}_id = '${id}'`)
        later[own] = moved!.id
      }
      const charges = yield* Effect.forEach(Array.from({ length: 20 }), () => create(key, {}, keys.charge), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual([...new Set(charges.map(({ body }) => body.id))], [later["charge"]])
      const payouts = yield* Effect.forEach(Array.from({ length: 20 }), () => payOut(key, holding, keys.payout), {
        concurrency: "unbounded"
      })
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
      yield* finished
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

layer(TestService.layer({ settings }), { excludeTestServices: true })("The end of an upgrade", (it) => {
  it.effect("is refused while a server of the release before writes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* created(key)
      yield* sql`UPDATE charges SET key_stored = false WHERE id = ${id}::uuid`
      const refusal = yield* Effect.flip(ReleaseBefore.drop)
      assert.match(refusal.message, /has written charges/)
      assert.deepStrictEqual(yield* unpartitioned(TABLES), [])
      // Its unique indexes alone may be away because they are rebuilt.
      yield* sql`DROP INDEX charges_idempotency, payouts_idempotency`
      assert.strictEqual(yield* Effect.andThen(prepare, kinds), "rr")
      yield* sql`UPDATE charges SET key_stored = true WHERE id = ${id}::uuid`
      yield* ReleaseBefore.drop
      assert.deepStrictEqual(yield* unpartitioned(TABLES), [...TABLES])
    })
  )

  it.effect("is a command", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* created(key)
      const env = {
        DATABASE_URL: Redacted.value(asService(databaseUrl)),
        MIGRATIONS_DATABASE_URL: Redacted.value(databaseUrl)
      }
      const refused = yield* ran("maintain", env, "--finish-upgrades")
      assert.strictEqual(refused.code, 1)
      assert.match(refused.written, /--finish-upgrades is unknown/)
      const done = yield* ran("maintain", env, "--finish-upgrade")
      assert.strictEqual(done.code, 0, done.written)
      assert.strictEqual(yield* kinds, "pp")
      assert.strictEqual((yield* retrieve(key, id)).body.id, id)
      yield* created(key)
    })
  )
})
