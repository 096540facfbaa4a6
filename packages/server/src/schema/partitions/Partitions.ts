/**
 * Partitions of the next periods.
 *
 * Guarantees:
 * - A row never fails because its period has no partition: the default partition takes it.
 * - A partition that is made later takes over the rows of its period from the default one, in the same step.
 * - A large default partition is not read under a lock: a constraint proves beforehand that it has no row of the period.
 *   The constraint refuses such rows, so it is added at least `MARGIN_MS` before the period.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { databaseTime, distinctValuesOf, isSmall, type Partition, partitionsOf } from "./Catalog.ts"
import { type Constraint, dropConstraint, whileValid } from "./Constraint.ts"
import { forEachTable } from "./EachTable.ts"
import { defaultPartitionOf, type PartitionedTable } from "./PartitionedTables.ts"
import {
  boundOf,
  MARGIN_MS,
  type Period,
  periodAfter,
  periodName,
  periodOf,
  PERIODS_AHEAD,
  timeOf
} from "../../database/Period.ts"
import { runStep } from "./Step.ts"

/** Prepares every table. Returns how many partitions it made. */
export const prepare = Effect.gen(function* () {
  const now = yield* databaseTime
  const { results } = yield* forEachTable((table) => prepareTable(table, now))
  return results.reduce((sum, made) => sum + made, 0)
})

/** Makes partitions for this period and the next `PERIODS_AHEAD`. Returns how many it made. `now` is by the database's clock. */
export const prepareTable = Effect.fnUntraced(function* (table: PartitionedTable, now: number) {
  const known = yield* partitionsOf(table.name)
  yield* dropConstraint(periodConstraint(table.name))
  const made = yield* Effect.forEach(missingPeriods(table.period, known, now), (from) =>
    makePartition(table, from, now)
  )
  return made.filter((isMade) => isMade).length
})

/** The periods from this one on that no partition covers. */
export const missingPeriods = (period: Period, known: ReadonlyArray<Partition>, now: number): ReadonlyArray<number> =>
  Array.from({ length: PERIODS_AHEAD[period] + 1 }, (_, count) => periodAfter(period, now, count)).filter((start) => {
    const [from, before] = [boundOf(start), boundOf(periodAfter(period, start, 1))]
    return known.every((each) => before <= (each.from ?? "") || each.before <= from)
  })

/** Until when the partitions reach without a gap from this period on: an epoch millisecond. */
export const coveredUntil = (period: Period, known: ReadonlyArray<Partition>, now: number): number => {
  let end = periodOf(period, now)
  for (const { before, from } of known) {
    if ((from ?? "") <= boundOf(end) && before > boundOf(end)) end = timeOf(before)
  }
  return end
}

/** The constraint that proves that the default partition has no row of a period. A process that was killed may leave it. */
const periodConstraint = (table: string): Constraint => ({
  table: defaultPartitionOf(table),
  name: "next_partition_bound"
})

/** Returns false where the partition cannot be made. */
const makePartition = Effect.fnUntraced(function* (
  { name: table, period, storage }: PartitionedTable,
  start: number,
  now: number
) {
  const sql = yield* SqlClient
  const partition = `${table}_${periodName(period, start)}`
  const [from, before] = [boundOf(start), boundOf(periodAfter(period, start, 1))]
  const rest = defaultPartitionOf(table)
  const ofPeriod = `id >= '${from}' AND id < '${before}'`
  const [rows] = yield* sql.unsafe<{ count: bigint }>(
    `SELECT count(*) AS count FROM (SELECT 1 FROM ${rest} WHERE ${ofPeriod} LIMIT ${MOST_MOVED + 1}) r`
  )
  const count = Number(rows?.count)
  const distinctValues = yield* distinctValuesOf(table)
  const create = [
    `CREATE TABLE ${partition} (LIKE ${table} INCLUDING ALL) WITH (${storage})`,
    ...distinctValues.map(
      ({ column, value }) => `ALTER TABLE ${partition} ALTER COLUMN ${column} SET (n_distinct = ${value})`
    )
  ]
  const lock = [
    `LOCK TABLE ONLY ${table} IN SHARE UPDATE EXCLUSIVE MODE`,
    `LOCK TABLE ${rest} IN ACCESS EXCLUSIVE MODE`
  ]
  const attach = `ALTER TABLE ${table} ATTACH PARTITION ${partition} FOR VALUES FROM ('${from}') TO ('${before}')`
  if (yield* isSmall(rest)) {
    if (count > MOST_MOVED)
      return yield* notMade(partition, `more than ${MOST_MOVED} rows of that period are in ${rest}`)
    const move = `WITH moved AS (DELETE FROM ${rest} WHERE ${ofPeriod} RETURNING *)
      INSERT INTO ${partition} SELECT * FROM moved`
    yield* runStep([...create, ...lock, move, attach])
    return true
  }
  if (count > 0) return yield* notMade(partition, `rows of that period are in ${rest}, which is large`)
  if (start < now + MARGIN_MS) return yield* notMade(partition, `${rest} is large, and gets rows of that period`)
  yield* whileValid(periodConstraint(table), `id < '${from}' OR id >= '${before}'`, (drop) =>
    runStep([...create, ...lock, attach, drop])
  )
  return true
})

const notMade = (partition: string, reason: string) =>
  Effect.as(Effect.logWarning(`${partition} is not made, and its rows stay where they are: ${reason}`), false)

/** Rows that are moved while the default partition is locked. */
const MOST_MOVED = 10_000
