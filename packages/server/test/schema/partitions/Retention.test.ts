/** What is older than its retention is removed, while the service continues. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { DatabaseLocation } from "../../../src/database/Database.ts"
import { partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import { forEachTable } from "../../../src/schema/partitions/EachTable.ts"
import * as Maintenance from "../../../src/schema/partitions/Maintenance.ts"
import { MAINTENANCE_LOCK } from "../../../src/database/AdvisoryLocks.ts"
import { hasRetention } from "../../../src/schema/partitions/PartitionedTables.ts"
import { timeOf } from "../../../src/database/Period.ts"
import { removeExpired } from "../../../src/schema/partitions/Retention.ts"
import { ahead, DAY_MS } from "../../support/DatabaseTime.ts"
import { asService, createDatabase } from "../../support/Postgres.ts"
import { ran } from "../../support/Process.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const countOf = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM requests`
  return Number(row!.count)
})

layer(TestService.layer(), { excludeTestServices: true })("Maintenance", (it) => {
  it.effect("OPR-190, OPR-191: removes partitions that are wholly older than the retention, and nothing else", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const known = (yield* partitionsOf("requests"))!
      const end = timeOf(known[0]!.before)
      const now = yield* Clock.currentTimeMillis
      const insert = (id: string) =>
        sql.unsafe(`INSERT INTO requests (id, request_id, route, status, duration_us, at)
        VALUES (${id}, 'r', 'GET /v1/balance', 200, 1, now())`)
      yield* insert("'ffffffff-0000-7000-8000-000000000000'")
      yield* insert(`uuidv7('${end - now + DAY_MS} milliseconds')`)
      const listed = yield* countOf

      // A day before the limit reaches the end of the first partition.
      const early = yield* ahead(end - now + 29 * DAY_MS, Maintenance.run)
      assert.deepStrictEqual([early.done, early.removed], [true, []])
      assert.isAtLeast(yield* countOf, listed)

      const [removal] = yield* Effect.all(
        [
          ahead(end - now + 30 * DAY_MS, Maintenance.run),
          Effect.forEach(
            Array.from({ length: 50 }),
            () =>
              Effect.map(call("GET", "/v1/balance", { key }), ({ status }) => {
                assert.strictEqual(status, 200)
              }),
            { concurrency: 5 }
          )
        ],
        { concurrency: 2 }
      )
      assert.deepStrictEqual(
        removal.removed,
        ["requests", "delivery_attempts"].map((table) => ({
          table,
          name: known[0]!.name.replace("requests", table)
        }))
      )
      const left = yield* sql<{ id: string }>`SELECT id FROM requests WHERE request_id = 'r' ORDER BY id`
      assert.lengthOf(left, 2)
      const [note] = yield* sql`SELECT parent, name, kept FROM removed_partitions WHERE parent = 'requests'`
      assert.deepStrictEqual(note, { parent: "requests", name: known[0]!.name, kept: 0n })
      assert.isAtLeast((yield* partitionsOf("requests"))!.length, 4)
    })
  )

  it.effect("OPR-191: goes by the database's clock: a process whose clock is years ahead removes nothing", () =>
    Effect.gen(function* () {
      const live = yield* Clock.Clock
      const wrong = Object.assign(Object.create(live) as Clock.Clock, {
        currentTimeMillis: Effect.sync(() => live.currentTimeMillisUnsafe() + 2000 * DAY_MS),
        currentTimeMillisUnsafe: () => live.currentTimeMillisUnsafe() + 2000 * DAY_MS
      })
      const { done, removed } = yield* Effect.provideService(Maintenance.run, Clock.Clock, wrong)
      assert.deepStrictEqual([done, removed], [true, []])
    })
  )

  it.effect("OPR-190: removes a notification with its month, also of a return or MED whose payment never came", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const old = "uuidv7('-1 day'::interval)"
      yield* sql.unsafe(
        `WITH waiting AS (
          INSERT INTO notifications (id, subject, report, outcome, received_at) VALUES (${old}, 'waits', '{}', 'exception', now())
          RETURNING id
        )
        INSERT INTO acquirer_exceptions (id, connection_id, kind, status, amount, unallocated, occurred_at, created_at)
        SELECT id, '${SIMULATOR_CONNECTION}', 'unmatched_dispute', 'open', 1, 0, now(), now() FROM waiting`
      )
      yield* sql.unsafe(
        `INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms) VALUES (${old}, uuidv7(), now(), 1)`
      )
      const { removed } = yield* ahead(730 * DAY_MS, Maintenance.run)
      assert.includeMembers(
        removed.map(({ table }) => table),
        ["delivery_attempts", "notifications"]
      )
      assert.deepStrictEqual(yield* sql`SELECT id FROM delivery_attempts`, [])
      assert.deepStrictEqual(yield* sql`SELECT id FROM notifications`, [])
    })
  )

  it.effect("OPR-191: gives way to a transaction, and is finished by the next run where one was killed", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      yield* ahead(1000 * DAY_MS, Maintenance.run)
      const known = (yield* partitionsOf("requests"))!
      const holder = yield* sql.reserve
      yield* holder.executeRaw("BEGIN", [])
      yield* holder.executeRaw("LOCK TABLE requests IN ACCESS SHARE MODE", [])
      const inTime = ahead(1200 * DAY_MS, Maintenance.run)
      const run = yield* Effect.forkScoped(Effect.exit(inTime))
      yield* eventually(
        sql<{ ended: boolean }>`SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DO $step$%'`,
        (ended) => ended.length > 0
      )
      assert.isTrue(Exit.isFailure(yield* Fiber.join(run)))
      assert.includeDeepMembers((yield* partitionsOf("requests"))!, known)
      assert.strictEqual((yield* call("GET", "/v1/balance", { key })).status, 200)
      yield* holder.executeRaw("COMMIT", [])
      const { removed } = yield* inTime
      assert.includeDeepMembers(
        [...removed],
        known.map(({ name }) => ({ table: "requests", name }))
      )
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-191: gives up a step that would stop writers for long, changes nothing, and logs it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const known = (yield* partitionsOf("changes"))!
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logged.push(message))
      const slow = (isUnderLock: boolean) =>
        forEachTable((table) =>
          table.name !== "changes" || !hasRetention(table)
            ? Effect.void
            : removeExpired(
                {
                  ...table,
                  // Instant for the reads before the lock where only the step under it is slow.
                  neededIds: () => `SELECT c.id FROM changes_default c RIGHT JOIN (SELECT pg_sleep(CASE
                    WHEN current_setting('enable_seqscan') = 'off' AND (NOT ${isUnderLock} OR EXISTS (SELECT FROM pg_locks
                      WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock' AND relation = 'changes'::regclass))
                    THEN 600 ELSE 0 END)) s ON true`
                },
                timeOf(known.at(-1)!.before)
              )
        )
      for (const isUnderLock of [false, true]) {
        const { postponed } = yield* Effect.provideService(slow(isUnderLock), Logger.CurrentLoggers, new Set([logger]))
        assert.deepStrictEqual(postponed, ["changes"])
        assert.deepStrictEqual(yield* partitionsOf("changes"), known)
      }
      assert.match(
        String(logged.at(-1)),
        /changes waits for the next maintenance: a step would have stopped its writers/
      )
      // The pool's connections have their own timeout again.
      const [row] = yield* sql<{ timeout: string }>`SELECT current_setting('statement_timeout') AS timeout`
      assert.notStrictEqual(row!.timeout, "1s")
    })
  )

  it.effect("OPR-192: is done by one process at a time, and by the owner of the tables only", () =>
    Effect.gen(function* () {
      const { databaseUrl } = yield* TestService
      const service = DatabaseLocation.of({ url: asService(databaseUrl), embeddedIn: undefined })
      const refused = yield* Effect.provideService(Maintenance.run, DatabaseLocation, service)
      assert.deepStrictEqual(refused, { done: false, made: 0, removed: [], postponed: [] })

      const built = yield* Layer.build(Layer.fresh(PgClient.layer({ url: databaseUrl, maxConnections: 1 })))
      const other = yield* Context.get(built, SqlClient).reserve
      yield* other.executeRaw("SELECT pg_advisory_lock($1)", [MAINTENANCE_LOCK])
      assert.isFalse((yield* Maintenance.run).done)
      yield* other.executeRaw("SELECT pg_advisory_unlock($1)", [MAINTENANCE_LOCK])
      assert.isTrue((yield* Maintenance.run).done)
    }).pipe(Effect.scoped)
  )
})

describe("The command", () => {
  it.live("OPR-192: maintains as the owner, and says so where the role may not", () =>
    Effect.gen(function* () {
      const owner = yield* createDatabase()
      const env = { DATABASE_URL: Redacted.value(asService(owner)), MIGRATIONS_DATABASE_URL: Redacted.value(owner) }
      assert.strictEqual((yield* ran("migrate", env)).code, 0)
      const done = yield* ran("maintain", env)
      assert.deepStrictEqual(
        [done.code, done.written],
        [0, "Partitions made: 0. Removed: none.\nPayers of unpaid charges erased: 0.\nIndexes rebuilt: 0.\n"]
      )
      const refused = yield* ran("maintain", { ...env, MIGRATIONS_DATABASE_URL: env.DATABASE_URL })
      assert.strictEqual(refused.code, 1)
      assert.match(refused.written, /^Nothing was done: .*this role does not own the tables/)
    }).pipe(Effect.scoped)
  )
})
