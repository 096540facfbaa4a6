/**
 * Migrations: numbers without gaps, processes that wait for each other, and the rule of expand and contract, by a next release
 * that is made up here.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../src/schema/Migrations.ts"
import { createDatabase } from "../support/Postgres.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import { assertLedgerHolds, paidCharge } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

/** A release after this one: each migration changes a table that is in use, as an expansion does. */
const next: Migrations.Migrations = {
  ...Migrations.migrations,
  "0002_reference_of_receipts": SqlClient.use((sql) =>
    sql.unsafe(`DO $$ BEGIN
      PERFORM set_config('lock_timeout', '2s', true);
      ALTER TABLE charges ADD COLUMN receipt text;
      ALTER TABLE payouts ADD COLUMN receipt text;
    END $$`)
  ).pipe(Effect.asVoid),
  "0003_receipts": SqlClient.use((sql) =>
    sql.unsafe(`DO $$ BEGIN
      PERFORM set_config('lock_timeout', '10s', true);
      ALTER TABLE deliveries ADD COLUMN receipt text NOT NULL DEFAULT '';
    END $$`)
  ).pipe(Effect.asVoid)
}

/** A database of this release, and the migrations of the next one on it. */
const beforeNext = Effect.gen(function* () {
  const url = yield* createDatabase()
  const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 4 }))), SqlClient)
  yield* Effect.provideService(Migrations.run, SqlClient, sql)
  return { url, run: Effect.provideService(Migrations.runWith(Effect.void, next), SqlClient, sql), sql }
})

describe("Migrations", () => {
  it("have ids without a gap", () => {
    const names = Object.keys(Migrations.migrations)
    assert.deepStrictEqual(
      names.map((name) => Number(/^(\d{4})_[a-z_]+$/.exec(name)?.[1])),
      names.map((_, index) => index + 1)
    )
  })

  it.live("give way to a transaction that uses charges, and are made when they are repeated", () =>
    Effect.gen(function* () {
      const { run, sql } = yield* beforeNext
      const dump = yield* sql.reserve
      yield* dump.executeRaw("BEGIN", [])
      yield* dump.executeRaw("LOCK TABLE charges IN ACCESS SHARE MODE", [])
      assert.match(String(yield* Effect.flip(run)), /TablesInUse/)
      yield* dump.executeRaw("COMMIT", [])
      assert.deepStrictEqual(yield* run, ["reference_of_receipts", "receipts"])
    }).pipe(Effect.scoped)
  )

  it.live("hold no lock of one while the next one waits: a transaction that it waits for reads every other table", () =>
    Effect.gen(function* () {
      const { run, sql } = yield* beforeNext
      const service = yield* sql.reserve
      yield* service.executeRaw("BEGIN", [])
      yield* service.executeRaw("LOCK TABLE deliveries IN ACCESS SHARE MODE", [])
      const running = yield* Effect.forkScoped(run)
      yield* eventually(
        sql`SELECT FROM pg_locks WHERE relation = 'deliveries'::regclass AND NOT granted`,
        ({ length }) => length > 0
      )
      const locked = yield* sql`SELECT DISTINCT relation::regclass::text AS name FROM pg_locks
        WHERE relation IN ('charges'::regclass, 'payouts'::regclass) AND mode = 'AccessExclusiveLock' AND granted`
      assert.deepStrictEqual(locked, [])
      yield* service.executeRaw("SELECT FROM charges, payouts, changes LIMIT 1", [])
      yield* service.executeRaw("COMMIT", [])
      assert.deepStrictEqual(yield* Fiber.join(running), ["reference_of_receipts", "receipts"])
    }).pipe(Effect.scoped)
  )

  it.live("leave what this release does: it goes on beside the next one, and its migrations change nothing", () =>
    Effect.gen(function* () {
      const { run, sql, url } = yield* beforeNext
      const service = yield* Layer.build(TestService.layer({ settings: { simulatorSettleMs: 0 }, databaseUrl: url }))
      yield* Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const before = yield* created(key)
        yield* run
        const paid = yield* paidCharge(key)
        assert.strictEqual((yield* retrieve(key, before.id)).body.id, before.id)
        assert.strictEqual((yield* retrieve(key, paid.id)).body.status, "paid")
        yield* assertLedgerHolds
        assert.deepStrictEqual(yield* Effect.provideService(Migrations.run, SqlClient, sql), [])
        assert.isTrue(yield* Effect.provideService(Migrations.isOfLaterRelease, SqlClient, sql))
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )

  it.live("refuse a database of an earlier commit, and change nothing in it", () =>
    Effect.gen(function* () {
      const { run, sql } = yield* beforeNext
      yield* sql`UPDATE installation SET value = 'another' WHERE name = 'baseline'`
      for (const migrate of [run, Effect.provideService(Migrations.runOrCheck, SqlClient, sql)]) {
        const refusal = yield* Effect.flip(migrate)
        assert.match(String(refusal), /AnotherBaseline.*made by an earlier commit/)
      }
      assert.isEmpty(yield* sql`SELECT FROM information_schema.columns WHERE column_name = 'receipt'`)
    }).pipe(Effect.scoped)
  )

  it.live("are made once, by as many processes as start at the same moment", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      const clients = yield* Effect.forEach(Array.from({ length: 8 }), () =>
        Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 2, startupParameters: { lock_timeout: "1ms" } })))
      )
      const sqls = clients.map((context) => Context.get(context, SqlClient))
      // All are connected, so that only the lock separates them.
      yield* Effect.forEach(sqls, (sql) => sql`SELECT 1`, { concurrency: 8 })
      const applied = yield* Effect.forEach(sqls, (sql) => Effect.provideService(Migrations.run, SqlClient, sql), {
        concurrency: 8
      })
      const all = Object.keys(Migrations.migrations).length
      assert.deepStrictEqual(applied.map(({ length }) => length).toSorted(), [0, 0, 0, 0, 0, 0, 0, all])
      for (const sql of sqls) assert.isTrue(yield* Effect.provideService(Migrations.areApplied, SqlClient, sql))
    }).pipe(Effect.scoped)
  )
})
