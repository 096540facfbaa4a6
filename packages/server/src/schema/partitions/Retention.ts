/**
 * Removes what is older than its retention: whole partitions, and closed rows of the default partition.
 *
 * Guarantees:
 * - A partition is removed only where its newest possible row is older than the limit.
 * - Rows that are needed however old they are move to the default partition in the same step, `MOST_NEEDED` at most: a
 *   partition with more of them stays.
 * - A row of the default partition that an update makes needed again, before its deletion locks it, stays.
 * - A partition is removed in one step, under a lock of milliseconds that gives way to the load (`Step.ts`).
 * - Where what is needed takes longer to find than a step may last, the partition stays and no lock is taken.
 *
 * Why not `DETACH CONCURRENTLY`: PostgreSQL refuses it where there is a default partition, and a crash between its two
 * transactions would leave a partition that is neither attached nor detached.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type Partition, partitionsOf } from "./Catalog.ts"
import { boundOf, DAY_MS, timeOf } from "../../database/Period.ts"
import { defaultPartitionOf, type RetainedTable, type RetentionDays } from "./PartitionedTables.ts"
import { runStep } from "./Step.ts"

/** Removes everything of a table from before the limit. Returns the names of the removed partitions. */
export const removeExpired = Effect.fn("Retention.removeExpired")(function* (table: RetainedTable, limit: number) {
  const removed: Array<string> = []
  const known = yield* partitionsOf(table.name)
  for (const partition of expired(known, limit)) {
    if (yield* removePartition(table, partition)) removed.push(partition.name)
  }
  yield* deleteExpiredFromDefault(table, limit)
  return removed
})

/** Rows from before this instant are expired. */
export const limitOf = ({ retention }: RetainedTable, days: RetentionDays, now: number): number =>
  now - days[retention] * DAY_MS

/** The partitions that have no row from after the limit. */
export const expired = (known: ReadonlyArray<Partition>, limit: number): ReadonlyArray<Partition> =>
  known.filter(({ before }) => timeOf(before) <= limit)

const removePartition = Effect.fnUntraced(function* (
  { name: table, neededIds, removal }: RetainedTable,
  partition: Partition
) {
  const { before, from, name } = partition
  const sql = yield* SqlClient
  const ofPartition = `id < '${before}'${from === null ? "" : ` AND id >= '${from}'`}`
  const needed = neededIds && `SELECT r.* FROM ${name} r WHERE r.id IN (${neededIds(name, before)})`
  if (needed !== undefined) {
    const rows = yield* sql.unsafe(`SELECT FROM (${needed} LIMIT ${MOST_NEEDED + 1}) needed`)
    if (rows.length > MOST_NEEDED) {
      yield* Effect.logWarning(`${name} is expired and stays: more than ${MOST_NEEDED} of its rows are still needed`)
      return false
    }
    // The same search as under the lock, after the read above has filled the cache.
    yield* runStep([readsByIndex, `PERFORM count(*) FROM (${needed}) needed`])
  }
  // Before the lock: it may look through many rows. An expired partition gets no more.
  const newest =
    removal &&
    (yield* sql.unsafe<{ transaction_id: string; id: string }>(
      `SELECT n.transaction_id::text, n.id FROM (${removal.newest(name)}) n`
    ))
  yield* runStep([
    `LOCK TABLE ONLY ${table} IN ACCESS EXCLUSIVE MODE`,
    `ALTER TABLE ${table} DETACH PARTITION ${name}`,
    ...(needed === undefined ? [] : [readsByIndex, `INSERT INTO ${table} ${needed}`]),
    ...(newest ?? []).map(({ id, transaction_id }) =>
      removal!.record(`SELECT '${transaction_id}'::xid8 AS transaction_id, '${id}'::uuid AS id`)
    ),
    `DROP TABLE ${name}`,
    `INSERT INTO removed_partitions (parent, name, from_id, before_id, kept)
      SELECT '${table}', '${name}', ${from === null ? "NULL" : `'${from}'`}, '${before}', count(*)
      FROM ${defaultPartitionOf(table)} WHERE ${ofPartition}`
  ])
  yield* Effect.logInfo(`${name} is removed: its rows are older than the retention of ${table}`)
  return true
})

/** What is needed is read by index: a sequential scan of a partition would take minutes. */
const readsByIndex =
  "PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"

/** Some tens of milliseconds under the lock. */
const MOST_NEEDED = 10_000

/** Removes expired rows of the default partition, a bounded number at a time. */
const deleteExpiredFromDefault = Effect.fnUntraced(function* (
  { isNeeded, name: table, neededIds, removal }: RetainedTable,
  limit: number
) {
  const sql = yield* SqlClient
  const rest = defaultPartitionOf(table)
  const before = boundOf(limit)
  for (let count = ROWS_PER_DELETE; count === ROWS_PER_DELETE;) {
    const [row] = yield* sql.unsafe<{ count: bigint }>(
      `WITH removed AS (
        DELETE FROM ${rest} WHERE id IN (
          SELECT id FROM ${rest} WHERE id < '${before}'
            ${neededIds === undefined ? "" : `AND (id IN (${neededIds(rest, before)})) IS NOT TRUE`}
          ORDER BY id LIMIT ${ROWS_PER_DELETE}
        ) ${isNeeded === undefined ? "" : `AND NOT (${isNeeded})`} RETURNING *
      )${removal === undefined ? "" : `, recorded AS (${removal.record(removal.newest("removed"))})`}
      SELECT count(*) AS count FROM removed`
    )
    count = Number(row?.count)
  }
})

const ROWS_PER_DELETE = 1000
