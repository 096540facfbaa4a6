/** A table becomes a partitioned one while it is in use. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../../src/schema/Migrations.ts"
import { partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import { forEachTable } from "../../../src/schema/partitions/EachTable.ts"
import { MAINTENANCE_LOCK } from "../../../src/schema/partitions/MaintenanceLock.ts"
import { timeOf } from "../../../src/schema/partitions/Period.ts"
import { prepare } from "../../../src/schema/partitions/Partitions.ts"
import { grantTo } from "../../../src/schema/Privileges.ts"
import { asService, createDatabase, SERVICE_ROLE } from "../../support/Postgres.ts"
import { eventually } from "../../support/Receiver.ts"

const connected = (url: Redacted.Redacted<string>, maxConnections = 4) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections }))), (built) =>
    Context.get(built, SqlClient)
  )

/** A database that is migrated and not partitioned, with 60,000 requests: more than are read under a lock. */
const full = Effect.gen(function* () {
  const url = yield* createDatabase()
  const sql = yield* connected(url)
  yield* Migrator.make({})({ loader: Migrator.fromRecord(Migrations.migrations) }).pipe(
    Effect.provideService(SqlClient, sql)
  )
  yield* sql.unsafe(`GRANT SELECT, INSERT ON requests TO ${SERVICE_ROLE}`)
  yield* sql`INSERT INTO requests (id, request_id, route, status, duration_us, at)
    SELECT uuidv7(-(n || ' minutes')::interval), 'request-' || n, 'GET /v1/balance', 200, n, now()
    FROM generate_series(1, 60000) n`
  const kept = yield* countOf(sql)
  return { url, sql, kept }
})

const countOf = (sql: SqlClient) =>
  Effect.map(sql<{ count: bigint }>`SELECT count(*) AS count FROM requests`, ([row]) => Number(row!.count))

/** The release before logs a request. */
const insert = (sql: SqlClient) =>
  sql`INSERT INTO requests (id, request_id, route, status, duration_us, at)
    VALUES (uuidv7(), 'written', 'GET /v1/balance', 200, 1, now())`

const fileOf = (sql: SqlClient, table: string) =>
  Effect.map(sql<{ file: string }>`SELECT pg_relation_filenode(${table})::text AS file`, ([row]) => row!.file)

const kindOf = (sql: SqlClient) =>
  Effect.map(
    sql<{ kind: string }>`SELECT relkind::text AS kind FROM pg_class WHERE oid = 'requests'::regclass`,
    ([row]) => row!.kind
  )

describe("A full table", () => {
  it.live("is partitioned without a rewrite, while the release before inserts", () =>
    Effect.gen(function* () {
      const { kept, sql, url } = yield* full
      const service = yield* connected(asService(url))
      const file = yield* fileOf(sql, "requests")
      let written = 0
      const writer = yield* Effect.forkScoped(
        Effect.forever(
          Effect.tap(insert(service), () =>
            Effect.sync(() => {
              written += 1
            })
          )
        )
      )
      yield* eventually(
        Effect.sync(() => written),
        (count) => count > 0
      )
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "p")
      const before = written
      yield* eventually(
        Effect.sync(() => written),
        (count) => count > before
      )
      yield* Fiber.interrupt(writer)
      // The insert that was interrupted may be stored.
      assert.include([kept + written, kept + written + 1], yield* countOf(service))
      const [first] = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      assert.strictEqual(yield* fileOf(sql, first!.name), file)
      const [left] = yield* sql`SELECT count(*)::integer AS count FROM requests_default`
      assert.deepStrictEqual(left, { count: 0 })
    }).pipe(Effect.scoped)
  )

  it.live("waits for no privilege: they are granted before it is partitioned, and are its privileges afterwards", () =>
    Effect.gen(function* () {
      const { sql } = yield* full
      const holder = yield* sql.reserve
      yield* holder.executeRaw("BEGIN", [])
      yield* holder.executeRaw("LOCK TABLE requests IN ACCESS SHARE MODE", [])
      const run = yield* Effect.forkScoped(
        Effect.provideService(Migrations.runWith(grantTo(SERVICE_ROLE)), SqlClient, sql)
      )
      const blocked = sql`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DO $step$%'`
      yield* eventually(blocked, (found) => found.length > 0)
      const grants = sql`SELECT has_table_privilege(${SERVICE_ROLE}, 'charge_keys', 'INSERT') AS keys,
        has_table_privilege(${SERVICE_ROLE}, 'requests', 'INSERT') AS requests`
      assert.deepStrictEqual(yield* grants, [{ keys: true, requests: true }])
      assert.strictEqual(yield* kindOf(sql), "r")
      yield* holder.executeRaw("COMMIT", [])
      yield* Fiber.join(run)
      assert.strictEqual(yield* kindOf(sql), "p")
      assert.deepStrictEqual(yield* grants, [{ keys: true, requests: true }])
      const [first] = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      const ofPartition = yield* sql`SELECT has_table_privilege(${SERVICE_ROLE}, ${first!.name}, 'INSERT') AS inserts`
      assert.deepStrictEqual(ofPartition, [{ inserts: false }])
    }).pipe(Effect.scoped)
  )

  it.live("has no bound where its conversion failed, and gets a new one where it was killed long ago", () =>
    Effect.gen(function* () {
      const { sql } = yield* full
      const bounds = sql`SELECT conname FROM pg_constraint WHERE conname = 'first_partition_bound'`
      yield* sql`CREATE TABLE requests_default (id uuid)`
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "r")
      assert.deepStrictEqual(yield* bounds, [])
      yield* sql`DROP TABLE requests_default`

      yield* sql.unsafe(`DO $$ BEGIN
        EXECUTE format('ALTER TABLE requests ADD CONSTRAINT first_partition_bound CHECK (id < %L) NOT VALID', uuidv7());
      END $$`)
      yield* sql`CREATE INDEX "By Route" ON requests (route)`
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "p")
      assert.deepStrictEqual(yield* bounds, [])
      const [first] = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      assert.isAbove(timeOf(first!.before), (yield* Clock.currentTimeMillis) + 7 * 86_400_000)
      const index = yield* sql`SELECT tablename FROM pg_indexes WHERE indexname = 'By Route'`
      assert.deepStrictEqual(index, [{ tablename: "requests" }])
    }).pipe(Effect.scoped)
  )

  it.live("is not partitioned with an id of years ahead, so that its first partition ends with the next months", () =>
    Effect.gen(function* () {
      const { sql } = yield* full
      const insertAhead = (interval: string) =>
        sql.unsafe(`INSERT INTO requests (id, request_id, route, status, duration_us, at)
        VALUES (uuidv7('${interval}'), 'ahead', 'GET /v1/balance', 200, 1, now())`)
      yield* insertAhead("20 days")
      yield* insertAhead("5 years")
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "r")
      yield* sql`DELETE FROM requests WHERE id = (SELECT id FROM requests ORDER BY id DESC LIMIT 1)`
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "p")
      const [first] = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      assert.isBelow(timeOf(first!.before), (yield* Clock.currentTimeMillis) + 100 * 86_400_000)
    }).pipe(Effect.scoped)
  )

  it.live("of changes is partitioned with its view, and continues in the order of commits", () =>
    Effect.gen(function* () {
      const { sql, url } = yield* full
      yield* sql.unsafe(`INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at,
            transaction_id)
          SELECT uuidv7(-(n || ' minutes')::interval), uuidv7(), uuidv7(), 'charge.pix', '{created,emitted}', 'pending', 1,
            '{}', now(), '0'
          FROM generate_series(1, 60000) n`)
      const file = yield* fileOf(sql, "changes")
      const service = yield* connected(asService(url))
      yield* sql.unsafe(`GRANT SELECT, INSERT ON changes TO ${SERVICE_ROLE}`)
      yield* Effect.provideService(Migrations.runWith(grantTo(SERVICE_ROLE)), SqlClient, sql)
      const [first] = (yield* Effect.provideService(partitionsOf("changes"), SqlClient, sql))!
      assert.strictEqual(yield* fileOf(sql, first!.name), file)
      // A server of the release before names no transaction.
      yield* service`INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
        VALUES (uuidv7(), uuidv7(), uuidv7(), 'charge.pix', '{paid}', 'paid', 2, '{}', now())`
      const last = yield* service`SELECT status FROM changes ORDER BY transaction_id DESC, id DESC LIMIT 1`
      assert.deepStrictEqual(last, [{ status: "paid" }])
      assert.deepStrictEqual(yield* sql`SELECT count(*)::integer AS count FROM events`, [{ count: 120_001 }])
    }).pipe(Effect.scoped)
  )

  it.live("is left to the process that maintains the partitions already", () =>
    Effect.gen(function* () {
      const { sql } = yield* full
      const holder = yield* sql.reserve
      yield* holder.executeRaw("SELECT pg_advisory_lock($1)", [MAINTENANCE_LOCK])
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "r")
      yield* holder.executeRaw("SELECT pg_advisory_unlock($1)", [MAINTENANCE_LOCK])
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "p")
    }).pipe(Effect.scoped)
  )

  it.live("is partitioned by the next run, where one was killed between any two steps", () =>
    Effect.gen(function* () {
      const { kept, sql } = yield* full
      const holder = yield* sql.reserve
      // The lock is never free: the run ends in the middle of a step, with its connection.
      const killed = Effect.gen(function* () {
        yield* holder.executeRaw("BEGIN", [])
        yield* holder.executeRaw("LOCK TABLE requests IN ACCESS SHARE MODE", [])
        const run = yield* Effect.forkScoped(Effect.exit(Effect.provideService(Migrations.run, SqlClient, sql)))
        yield* eventually(
          sql<{ pid: number }>`SELECT pg_terminate_backend(pid) AS pid FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DO $step$%'`,
          (ended) => ended.length > 0
        )
        yield* Fiber.interrupt(run)
        yield* holder.executeRaw("COMMIT", [])
      })
      yield* killed
      assert.strictEqual(yield* kindOf(sql), "r")
      // As after the step that adds the constraint.
      const bound = "first_partition_bound"
      const soon = "(uuidv7('3 days'::interval))"
      yield* sql.unsafe(
        `DO $$ BEGIN EXECUTE format('ALTER TABLE requests ADD CONSTRAINT ${bound} CHECK (id < %L) NOT VALID', ${soon}); END $$`
      )
      yield* insert(sql)
      yield* killed
      assert.strictEqual(yield* kindOf(sql), "r")
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.strictEqual(yield* kindOf(sql), "p")
      assert.strictEqual(yield* countOf(sql), kept + 1)
      const [left] = yield* sql`SELECT count(*)::integer AS count FROM pg_constraint WHERE conname = ${bound}`
      assert.deepStrictEqual(left, { count: 0 })
      assert.strictEqual(yield* Effect.provideService(prepare, SqlClient, sql), 0)
    }).pipe(Effect.scoped)
  )
})

describe("The tables", () => {
  it.live("are partitioned one by one: one that fails, or whose locks are not free, stops no other", () =>
    Effect.gen(function* () {
      const sql = yield* connected(yield* createDatabase())
      const failing = (state: string) =>
        Effect.exit(
          forEachTable(({ name }) =>
            name === "requests"
              ? Effect.asVoid(sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${state}'; END $$`))
              : Effect.sync(() => void done.push(name))
          )
        )
      const done: Array<string> = []
      const others = ["delivery_attempts", "acquirer_reports", "deliveries", "changes", "charges", "payouts"]
      const locked = yield* failing("55P03")
      assert.deepStrictEqual(
        Exit.map(locked, ({ postponed }) => postponed),
        Exit.succeed(["requests"])
      )
      assert.deepStrictEqual(done, others)
      assert.isTrue(Exit.isFailure(yield* failing("42501")))
      assert.deepStrictEqual(done, [...others, ...others])
    }).pipe(Effect.scoped)
  )
})

describe("A partitioned table", () => {
  it.live("accepts ids of any time, and a new partition takes those of its month from the default one", () =>
    Effect.gen(function* () {
      const sql = yield* connected(yield* createDatabase())
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      const log = (id: string) =>
        sql.unsafe(`INSERT INTO requests (id, request_id, route, status, duration_us, at)
        VALUES (${id}, 'r', 'GET /v1/balance', 200, 1, now())`)
      for (const id of ["'00000000-0000-0000-0000-000000000000'", "gen_random_uuid()", "uuidv7('10 years')"])
        yield* log(id)
      yield* log("uuidv7('40 days')")
      assert.strictEqual(yield* countOf(sql), 4)

      // The newest partition is lost, and its rows are in the default one.
      const known = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      for (const { name } of known.slice(1)) {
        yield* sql.unsafe(`ALTER TABLE requests DETACH PARTITION ${name}`)
        yield* sql.unsafe(`INSERT INTO requests SELECT * FROM ${name}`)
        yield* sql.unsafe(`DROP TABLE ${name}`)
      }
      const inDefault = Effect.map(sql<{ count: bigint }>`SELECT count(*) AS count FROM requests_default`, ([row]) =>
        Number(row!.count)
      )
      const strays = yield* inDefault
      assert.strictEqual(yield* Effect.provideService(prepare, SqlClient, sql), known.length - 1)
      assert.strictEqual(yield* countOf(sql), 4)
      assert.strictEqual(yield* inDefault, strays - 1)
    }).pipe(Effect.scoped)
  )

  it.live("has the given numbers of distinct values in each partition, where the planner looks for them", () =>
    Effect.gen(function* () {
      const sql = yield* connected(yield* createDatabase())
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      const options = yield* sql<{ options: ReadonlyArray<string> | null }>`
        SELECT a.attoptions AS options FROM pg_inherits i JOIN pg_attribute a ON a.attrelid = i.inhrelid
        WHERE i.inhparent = 'deliveries'::regclass AND a.attname = 'destination_hash'`
      // In the last week of a month the first partition ends with the next one.
      assert.isAtLeast(options.length, 4)
      for (const each of options) assert.deepStrictEqual(each.options, ["n_distinct=-0.01"])
    }).pipe(Effect.scoped)
  )

  it.live("gets partitions beside a large default one, which is read before the lock and not under it", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      yield* Effect.provideService(Migrations.run, SqlClient, yield* connected(url))
      // Statistics of one session, whose queries read by index.
      const sql = yield* connected(url, 1)
      yield* sql`INSERT INTO requests (id, request_id, route, status, duration_us, at)
        SELECT uuidv7('10 years'), 'far-' || n, 'GET /v1/balance', 200, n, now() FROM generate_series(1, 60000) n`
      const known = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      const lost = known.slice(-2)
      for (const { name } of lost) yield* sql.unsafe(`DROP TABLE ${name}`)
      // As a process that was killed leaves it.
      yield* sql`ALTER TABLE requests_default ADD CONSTRAINT next_partition_bound CHECK (id IS NULL) NOT VALID`
      const rowsRead = Effect.gen(function* () {
        yield* sql`SELECT pg_stat_force_next_flush()`
        const [row] = yield* sql<{ count: bigint }>`
          SELECT seq_tup_read AS count FROM pg_stat_user_tables WHERE relname = 'requests_default'`
        return Number(row!.count)
      })
      yield* sql`SET enable_seqscan = off`
      const before = yield* rowsRead
      assert.strictEqual(yield* Effect.provideService(prepare, SqlClient, sql), lost.length)
      assert.strictEqual((yield* rowsRead) - before, lost.length * 60_000)
      const bounds = yield* sql`SELECT conname FROM pg_constraint WHERE conname = 'next_partition_bound'`
      assert.deepStrictEqual(bounds, [])
      assert.strictEqual(yield* countOf(sql), 60_000)
    }).pipe(Effect.scoped)
  )

  it.live("gets no partition of a month whose rows a large default one has, and accepts them as before", () =>
    Effect.gen(function* () {
      const sql = yield* connected(yield* createDatabase())
      yield* Effect.provideService(Migrations.run, SqlClient, sql)
      const known = (yield* Effect.provideService(partitionsOf("requests"), SqlClient, sql))!
      const last = known.at(-1)!
      yield* sql.unsafe(`DROP TABLE ${last.name}`)
      const month = `(to_timestamp(${timeOf(last.from!)} / 1000.0) + interval '1 day') - clock_timestamp()`
      const store = (count: number) =>
        sql.unsafe(`INSERT INTO requests (id, request_id, route, status, duration_us, at)
        SELECT uuidv7(${month}), 'far-' || n, 'GET /v1/balance', 200, n, now() FROM generate_series(1, ${count}) n`)
      yield* store(60_000)
      assert.strictEqual(yield* Effect.provideService(prepare, SqlClient, sql), 0)
      yield* store(1)
      assert.strictEqual(yield* countOf(sql), 60_001)
    }).pipe(Effect.scoped)
  )
})
