/** Indexes of past partitions are rebuilt once, while the service continues. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import type { RebuildOptions } from "../../../src/schema/partitions/IndexRebuild.ts"
import * as Maintenance from "../../../src/schema/partitions/Maintenance.ts"
import { timeOf } from "../../../src/database/Period.ts"
import { ahead, DAY_MS } from "../../support/DatabaseTime.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const LEAST_BYTES = 200_000
const TABLES = ["requests", "notifications"] as const

/** Runs with the database's clock `days` after the end of the first month. */
const after = Effect.fnUntraced(function* (days: number, options: RebuildOptions = {}) {
  const [first] = (yield* partitionsOf("requests"))!
  const ms = timeOf(first!.before) - (yield* Clock.currentTimeMillis) + days * DAY_MS
  const done = yield* ahead(
    ms,
    Maintenance.rebuildIndexes({ leastBytes: LEAST_BYTES, lockTimeoutMs: 20_000, ...options })
  )
  return Option.getOrThrow(done)
})

const partition = (table: string) => Effect.map(partitionsOf(table), (known) => known![0]!.name)

/** Rows whose ids are in no order, so that pages are split in the middle. `at` is SQL for their distance from now. */
const fill = Effect.fnUntraced(function* (table: (typeof TABLES)[number], at: string) {
  const sql = yield* SqlClient
  const id = `uuidv7(${at} - ('x' || left(md5(n::text), 5))::bit(20)::integer * interval '100 milliseconds')`
  yield* sql.unsafe(
    table === "requests"
      ? `INSERT INTO requests (id, request_id, route, status, duration_us, at)
          SELECT ${id}, 'request ' || md5(n::text), 'GET /v1/balance', 200, n, now() FROM generate_series(1, 20000) n`
      : `INSERT INTO notifications (id, subject, report, outcome, received_at)
          SELECT ${id}, 'subject ' || md5(n::text), '{}', 'applied', now() FROM generate_series(1, 20000) n`
  )
})

interface Index {
  readonly name: string
  readonly table: string
  readonly method: string
  readonly file: number
  readonly bytes: number
  readonly options: ReadonlyArray<string> | null
}

const indexes = Effect.flatMap(
  SqlClient,
  (sql) => sql<Index>`
    SELECT i.relname::text AS name, x.indrelid::regclass::text AS table, m.amname::text AS method, i.relfilenode::integer AS file,
      pg_relation_size(i.oid)::integer AS bytes, i.reloptions AS options
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam
    WHERE i.relkind = 'i' AND i.relnamespace = current_schema()::regnamespace ORDER BY 1`
)

const invalid = Effect.flatMap(
  SqlClient,
  (sql) =>
    sql<{ name: string }>`SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid ORDER BY 1`
)

/** Waits until a statement of the maintenance that begins so waits for another transaction. */
const waits = (statement: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    eventually(
      sql<{ pid: number }>`SELECT pid FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query LIKE ${`${statement}%`}`,
      ({ length }) => length > 0
    )
  )

/** A rebuild of another table may wait too, for a moment. */
const rebuildWaits = Effect.flatMap(partition("requests"), (name) => waits(`REINDEX INDEX CONCURRENTLY ${name}`))

/** An open transaction that has written to the partition of the first month of `requests`. */
const openTransaction = Effect.gen(function* () {
  const sql = yield* SqlClient
  const holder = yield* sql.reserve
  yield* holder.executeRaw("BEGIN", [])
  const name = yield* partition("requests")
  yield* holder.executeRaw(`UPDATE ${name} SET duration_us = 1 WHERE id = (SELECT id FROM ${name} LIMIT 1)`, [])
  return { commit: holder.executeRaw("COMMIT", []) }
})

/** Indexes without free space again, as new ones are. */
const forget = Effect.gen(function* () {
  const sql = yield* SqlClient
  const known = yield* indexes
  for (const { name, options } of known) {
    if (options !== null) yield* sql.unsafe(`ALTER INDEX ${name} RESET (fillfactor, deduplicate_items)`)
  }
})

layer(TestService.layer(), { excludeTestServices: true })("Indexes of past partitions", (it) => {
  it.effect("are rebuilt once, a week after the end of their period, and no others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* forget
      const first = yield* partition("requests")
      const known = (yield* partitionsOf("requests"))!
      const now = yield* Clock.currentTimeMillis
      const ofNext = `interval '${timeOf(known[0]!.before) - now + 3 * DAY_MS} milliseconds'`
      for (const at of ["interval '0'", ofNext, "interval '10 years'"]) yield* fill("requests", at)
      yield* fill("notifications", "interval '0'")
      yield* sql`CREATE TABLE IF NOT EXISTS plain AS SELECT id FROM requests`
      yield* sql`CREATE INDEX IF NOT EXISTS plain_ids ON plain (id)`
      const before = yield* indexes

      // Too early; expired tomorrow; and at a size that none has.
      for (const nothing of [after(6), after(29), after(8, { leastBytes: 100_000_000 })]) {
        const { failed, rebuilt } = yield* nothing
        assert.deepStrictEqual(
          rebuilt.filter((name) => name.startsWith(first)),
          []
        )
        assert.deepStrictEqual(failed, [])
      }
      const { failed, rebuilt } = yield* after(8)
      assert.deepStrictEqual(failed, [])
      const now2 = yield* indexes
      const due = before.filter(({ bytes, method }) => bytes >= LEAST_BYTES && method === "btree")
      const places = yield* Effect.forEach(TABLES, partition)
      for (const [at, index] of before.entries()) {
        const { bytes, file, name, options } = now2[at]!
        if (!due.includes(index) || !places.includes(index.table)) {
          assert.deepStrictEqual(now2[at], index)
          continue
        }
        assert.strictEqual(name, index.name)
        assert.notStrictEqual(file, index.file, name)
        assert.isBelow(bytes, 0.85 * index.bytes, name)
        assert.deepStrictEqual(options, ["fillfactor=100"])
      }
      assert.includeMembers(
        due.map(({ table }) => table),
        [first, known[1]!.name, "requests_default", "plain"]
      )
      assert.isTrue(before.some(({ bytes, method }) => bytes >= LEAST_BYTES && method === "hash"))
      const ofRequests = due.filter(({ table }) => table === first).map(({ name }) => name)
      assert.isAbove(ofRequests.length, 1)
      assert.includeMembers([...rebuilt], ofRequests)

      assert.deepStrictEqual(yield* after(9), { rebuilt: [], failed: [] })
      assert.deepStrictEqual(yield* indexes, now2)
    })
  )

  it.effect("wait for the next run where a transaction is open, and stop no others", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      yield* forget
      const [requests, reports] = yield* Effect.forEach(TABLES, partition)
      const transaction = yield* openTransaction
      const first = yield* after(8, { lockTimeoutMs: 2000 })
      assert.isAbove(first.failed.length, 1)
      assert.isTrue(first.failed.every((name) => name.startsWith(requests!)))
      assert.isTrue(first.rebuilt.some((name) => name.startsWith(reports!)))
      // Each failed one is begun, and works as before.
      const begun = (yield* indexes).filter(({ options }) => options?.includes("deduplicate_items=on"))
      assert.sameMembers(
        begun.filter(({ name }) => !name.includes("_ccnew")).map(({ name }) => name),
        [...first.failed]
      )
      assert.lengthOf(yield* invalid, first.failed.length)

      // New ones come first, so that those that fail keep nothing away.
      yield* sql.unsafe(`ALTER INDEX ${first.failed.at(-1)!} RESET (deduplicate_items, fillfactor)`)
      yield* transaction.commit
      const second = yield* after(8)
      assert.deepStrictEqual(second.failed, [])
      assert.deepStrictEqual(second.rebuilt, [first.failed.at(-1)!, ...first.failed.slice(0, -1)])
      assert.deepStrictEqual(yield* invalid, [])
      assert.strictEqual((yield* call("GET", "/v1/balance", { key })).status, 200)
    }).pipe(Effect.scoped)
  )

  it.effect("stop no reader, writer or other maintenance while they are rebuilt", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* forget
      const first = yield* partition("requests")
      const transaction = yield* openTransaction
      const run = yield* Effect.forkScoped(after(8))
      yield* rebuildWaits
      const [row] = yield* sql.withTransaction(
        Effect.andThen(
          sql`SET LOCAL lock_timeout = '1s'`,
          sql<{ id: string; partition: string }>`INSERT INTO requests (id, request_id, route, status, duration_us, at)
            VALUES (uuidv7(), 'meanwhile', 'GET /v1/balance', 200, 1, now())
            RETURNING id, tableoid::regclass::text AS partition`
        )
      )
      assert.strictEqual(row!.partition, first)
      assert.isTrue((yield* Maintenance.run).done)
      assert.deepStrictEqual(yield* Maintenance.rebuildIndexes(), Option.none())
      yield* transaction.commit
      const { failed, rebuilt } = yield* Fiber.join(run)
      assert.deepStrictEqual(failed, [])
      assert.include(rebuilt, `${first}_pkey`)
      const found = yield* sql.withTransaction(
        Effect.andThen(
          sql`SET LOCAL enable_seqscan = off`,
          sql`SELECT request_id FROM requests WHERE id = ${row!.id}::uuid`
        )
      )
      assert.deepStrictEqual(found, [{ request_id: "meanwhile" }])
    }).pipe(Effect.scoped)
  )

  it.effect(
    "leave an invalid index where their rebuild is killed, which the next run drops without a lock of readers",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* forget
        const first = yield* partition("requests")
        const writer = yield* openTransaction
        const killed = yield* Effect.forkScoped(Effect.exit(after(8)))
        const [session] = yield* rebuildWaits
        yield* sql`SELECT pg_terminate_backend(${session!.pid})`
        const exit = yield* Fiber.join(killed)
        // The round ends with its connection.
        assert.isTrue(Exit.isFailure(exit) || exit.value.failed.length === 1)
        yield* writer.commit
        const [leftover] = yield* invalid
        assert.match(leftover!.name, /_ccnew/)
        // Not of a rebuild of ours.
        yield* sql`CREATE INDEX IF NOT EXISTS plain_ccnew ON plain (id)`
        yield* sql`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'plain_ccnew'::regclass`

        const reader = yield* sql.reserve
        yield* reader.executeRaw("BEGIN", [])
        yield* reader.executeRaw(`SELECT FROM ${first} LIMIT 1`, [])
        const run = yield* Effect.forkScoped(after(8))
        yield* waits("DROP INDEX")
        yield* sql.withTransaction(
          Effect.andThen(sql`SET LOCAL lock_timeout = '1s'`, sql.unsafe(`SELECT FROM ${first} LIMIT 1`))
        )
        yield* reader.executeRaw("COMMIT", [])
        assert.deepStrictEqual((yield* Fiber.join(run)).failed, [])
        assert.deepStrictEqual(yield* invalid, [{ name: "plain_ccnew" }])
      }).pipe(Effect.scoped)
  )
})
