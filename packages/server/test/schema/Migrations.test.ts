/** Migrations: distinct numbers without gaps, and processes wait for each other. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import * as Migrations from "../../src/schema/Migrations.ts"
import { createDatabase } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"

/** A database of before 0018, which locks charges and payouts. */
const withoutKeyTables = Effect.gen(function* () {
  const url = yield* createDatabase()
  const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 4 }))), SqlClient)
  const before = Object.entries(Migrations.migrations).filter(([name]) => name < "0018")
  yield* Migrator.make({})({ loader: Migrator.fromRecord(Object.fromEntries(before)) }).pipe(
    Effect.provideService(SqlClient, sql)
  )
  return { before: before.length, run: Effect.provideService(Migrations.run, SqlClient, sql), sql }
})

describe("Migrations", () => {
  it("have ids without a gap, and are all there", async () => {
    const names = Object.keys(Migrations.migrations)
    assert.deepStrictEqual(
      names.map((name) => Number(/^(\d{4})_[a-z_]+$/.exec(name)?.[1])),
      names.map((_, index) => index + 1)
    )
    const files = await readdir(join(import.meta.dirname, "../../src/schema/migrations"))
    assert.deepStrictEqual(
      files.toSorted(),
      names.map((name) => `${name}.ts`)
    )
  })

  it.live("give way to a transaction that uses charges, and are made when they are repeated", () =>
    Effect.gen(function* () {
      const { before, run, sql } = yield* withoutKeyTables
      const dump = yield* sql.reserve
      yield* dump.executeRaw("BEGIN", [])
      yield* dump.executeRaw("LOCK TABLE charges IN ACCESS SHARE MODE", [])
      assert.match(String(yield* Effect.flip(run)), /TablesInUse/)
      yield* dump.executeRaw("COMMIT", [])
      assert.lengthOf(yield* run, Object.keys(Migrations.migrations).length - before)
    }).pipe(Effect.scoped)
  )

  it.live("hold no lock of one while the next one waits: a transaction that it waits for reads every other table", () =>
    Effect.gen(function* () {
      const { before, run, sql } = yield* withoutKeyTables
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
      assert.lengthOf(yield* Fiber.join(running), Object.keys(Migrations.migrations).length - before)
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
