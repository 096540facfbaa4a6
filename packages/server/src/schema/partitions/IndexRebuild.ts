/**
 * Rebuilds the indexes of past partitions without free space in their pages.
 *
 * Guarantees:
 * - An index is rebuilt once: a b-tree index of `LEAST_BYTES` or more, of a partition whose period ended `SETTLED_MS` ago and
 *   that does not expire within a day. Default partitions and tables without partitions stay as they are.
 * - Reads and writes go on. One process rebuilds one index at a time, under `REBUILD_LOCK`.
 * - A failed rebuild is logged and stops no other one. The next round repeats it, after those that were never tried.
 * - A round ends where its connection, disk space or memory fails, or where a rebuild is canceled.
 * - A killed rebuild leaves an invalid index. The next round drops it.
 *
 * How an index records its state, in its storage parameters, so that no table has to follow what REINDEX does:
 *
 * - `fillfactor=100, deduplicate_items=on`: it is being rebuilt, or that has failed. REINDEX copies the parameters of the index,
 *   so the fill factor comes first. The second one is the default, spelled out: it marks what is not finished.
 * - `fillfactor=100` alone: it is rebuilt. Set by hand, it exempts an index.
 *
 * A crash between REINDEX and the reset of the mark repeats a rebuild. No crash skips one.
 *
 * Why: docs/decisions/0029-partitions.md.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { sqlErrorIn, sqlStateOf } from "../../database/SqlState.ts"
import { databaseTime, partitionsOf } from "./Catalog.ts"
import { exclusively, REBUILD_LOCK } from "../../database/AdvisoryLocks.ts"
import { hasRetention, partitionedTables, type RetentionDays } from "./PartitionedTables.ts"
import { DAY_MS, timeOf } from "../../database/Period.ts"
import { expired, limitOf } from "./Retention.ts"

export interface RebuildOptions {
  readonly leastBytes?: number
  readonly lockTimeoutMs?: number
}

export interface Rebuilt {
  readonly rebuilt: ReadonlyArray<string>
  /** They wait for the next round. */
  readonly failed: ReadonlyArray<string>
}

/** Rebuilds what is due. `None` where another process does. */
export const rebuildIndexes = Effect.fn("IndexRebuild.rebuildIndexes")(function* (
  days: RetentionDays,
  { leastBytes = LEAST_BYTES, lockTimeoutMs = LOCK_TIMEOUT_MS }: RebuildOptions = {}
) {
  const sql = yield* SqlClient
  const connection = yield* sql.reserve
  const round = Effect.gen(function* () {
    yield* connection.executeRaw(`SET lock_timeout = ${lockTimeoutMs}`, [])
    yield* connection.executeRaw(`SET statement_timeout = ${STATEMENT_TIMEOUT_MS}`, [])
    const rebuilt: Array<string> = []
    const failed: Array<string> = []
    const work = [
      ...(yield* leftovers).map((name) => ({ name, isLeftover: true, run: dropLeftover(connection, name) })),
      ...(yield* dueIndexes(days, leastBytes)).map((index) => ({
        name: index.name,
        isLeftover: false,
        run: rebuild(connection, index)
      }))
    ]
    for (const { isLeftover, name, run } of work) {
      const exit = yield* Effect.exit(run)
      if (Exit.isSuccess(exit)) {
        if (!isLeftover) rebuilt.push(name)
        continue
      }
      failed.push(name)
      yield* Effect.logWarning(
        `${name} is not ${isLeftover ? "dropped" : "rebuilt"}; the next round repeats it`,
        describeCause(exit.cause)
      )
      const error = sqlErrorIn(exit.cause)
      if (!concernsOneIndex((error && sqlStateOf(error)) ?? "")) break
    }
    return { rebuilt, failed }
  })
  return yield* exclusively(connection, round, REBUILD_LOCK)
}, Effect.scoped)

/** False for a lost connection (08, 57P, or no SQLSTATE at all), a lack of disk space or memory (53), and a cancellation (57014). */
const concernsOneIndex = (state: string): boolean => /^(?!08|53|57)[0-9A-Z]{5}$/.test(state)

interface Index {
  readonly name: string
  readonly bytes: bigint
}

const rebuild = Effect.fnUntraced(function* (connection: Connection, { bytes, name }: Index) {
  yield* connection.executeRaw(`ALTER INDEX ${name} SET (fillfactor = 100, deduplicate_items = on)`, [])
  yield* connection.executeRaw(`REINDEX INDEX CONCURRENTLY ${name}`, [])
  yield* connection.executeRaw(`ALTER INDEX ${name} RESET (deduplicate_items)`, [])
  const sql = yield* SqlClient
  const [after] = yield* sql<{ bytes: bigint }>`SELECT pg_relation_size(${name}::regclass) AS bytes`
  yield* Effect.logInfo(`${name} is rebuilt without free space: ${bytes} bytes before, ${after?.bytes} after`)
})

/** DROP INDEX alone would lock the partition exclusively. */
const dropLeftover = Effect.fnUntraced(function* (connection: Connection, name: string) {
  yield* connection.executeRaw(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`, [])
  yield* Effect.logInfo(`${name} is dropped: a rebuild that was killed left it`)
})

/** Names of the partitions that are due, of every table. */
const duePartitions = Effect.fnUntraced(function* (days: RetentionDays) {
  const now = yield* databaseTime
  const names = yield* Effect.forEach(partitionedTables, (table) =>
    Effect.map(partitionsOf(table.name), (known) => {
      // A partition that expires tomorrow is left out, because its removal would wait for the rebuild.
      const gone = hasRetention(table) ? expired(known, limitOf(table, days, now + DAY_MS)) : []
      return known
        .filter((partition) => timeOf(partition.before) + SETTLED_MS <= now && !gone.includes(partition))
        .map(({ name }) => name)
    })
  )
  return names.flat()
})

/**
 * The indexes that are due, with names as SQL has them. Those that were tried come last, however small they are: a crash may
 * have come after their rebuild.
 */
const dueIndexes = Effect.fnUntraced(function* (days: RetentionDays, leastBytes: number) {
  const sql = yield* SqlClient
  return yield* sql<Index>`
    SELECT i.oid::regclass::text AS name, pg_relation_size(i.oid) AS bytes
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam
      CROSS JOIN LATERAL (SELECT coalesce('deduplicate_items=on' = ANY (i.reloptions), false) AS is_begun,
        coalesce('fillfactor=100' = ANY (i.reloptions), false) AS is_full) o
    WHERE x.indrelid = ANY (SELECT to_regclass(p) FROM unnest(${yield* duePartitions(days)}::text[]) p)
      AND m.amname = 'btree' AND x.indisvalid AND (o.is_begun OR NOT o.is_full AND pg_relation_size(i.oid) >= ${leastBytes})
    ORDER BY o.is_begun, 1`
})

/** Invalid indexes of our partitions, by the names that REINDEX CONCURRENTLY gives. */
const leftovers = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT i.oid::regclass::text AS name
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_inherits h ON h.inhrelid = x.indrelid
    WHERE h.inhparent = ANY (SELECT to_regclass(t) FROM unnest(${partitionedTables.map(({ name }) => name)}::text[]) t)
      AND NOT x.indisvalid AND i.relname ~ '_cc(new|old)[0-9]*$'
    ORDER BY 1`
  return rows.map(({ name }) => name)
})

/** Below it an index gains nothing that anybody notices. */
const LEAST_BYTES = 1024 * 1024
/** After it few rows of the period still change. */
const SETTLED_MS = 7 * DAY_MS
/**
 * For each wait for a lock or an older transaction, while nothing waits for the rebuild. Longer than any statement of the
 * service, of which reports take the longest: 60 s.
 */
const LOCK_TIMEOUT_MS = 90_000
/**
 * An index of 300 million rows takes an hour on a slow disk. Meanwhile vacuum cannot remove rows that die anywhere in the
 * database.
 */
const STATEMENT_TIMEOUT_MS = 3 * 3_600_000
