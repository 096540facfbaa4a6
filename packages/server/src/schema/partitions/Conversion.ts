/**
 * Makes a plain table a partitioned one, whose first partition is that table.
 *
 * Guarantees:
 * - No row is copied, except rows of a small table whose ids lie beyond the first partition.
 * - The table is locked exclusively for milliseconds: a constraint proves the bound of a large table beforehand, without
 *   a lock that stops writers.
 * - Indexes, constraints, defaults, privileges, triggers and views are those of before, under their names. Indexes that
 *   others replace (`Conversion.replacedIndexes`) stay on the first partition of a large table only.
 * - A table with a unique index besides the primary key stays as it is: partitions could not have that index.
 * - A crash between two steps leaves a table that works. The next run continues.
 * - The first partition ends with a period of which partitions are made ahead. A large table with a later id is not
 *   partitioned: nothing proves a bound below that id.
 *
 * The constraint that proves the bound also refuses rows beyond it, so the bound is at least `MARGIN_MS` in the future.
 * Where a conversion was killed, the next run drops the constraint.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { distinctValuesOf, isSmall, unpartitioned } from "./Catalog.ts"
import { dropConstraint, quoted, validate, whileValid } from "./Constraint.ts"
import { boundOf, MARGIN_MS, periodAfter, periodName, PERIODS_AHEAD, timeOf } from "./Period.ts"
import { defaultPartitionOf, type PartitionedTable } from "./PartitionedTables.ts"
import { runStep } from "./Step.ts"

/** Makes the table partitioned, unless it is or cannot be. `now` is by the database's clock. */
export const convert = Effect.fn("Conversion.convert")(function* (partitioned: PartitionedTable, now: number) {
  const { name: table, period } = partitioned
  const sql = yield* SqlClient
  if ((yield* unpartitioned([table])).length === 0) return
  const constraint = { table, name: BOUND_CONSTRAINT }
  // A conversion was killed. Its bound may be near.
  yield* dropConstraint(constraint)
  const isMoved = yield* isSmall(table)
  const [newest] = yield* sql.unsafe<{ id: string }>(`SELECT id FROM ${table} ORDER BY id DESC LIMIT 1`)
  const newestMs = isMoved || newest === undefined ? now : Math.max(now, timeOf(newest.id))
  const bound = boundOf(periodAfter(period, newestMs + MARGIN_MS, 1))
  if (bound > boundOf(periodAfter(period, now, PERIODS_AHEAD[period] + 1))) {
    return yield* Effect.logWarning(
      `${table} is not partitioned: its newest id, ${newest?.id}, is of the future. Change or remove such rows, or wait.`
    )
  }
  for (const name of yield* unvalidated(table)) yield* validate({ table, name })
  if (partitioned.conversion !== undefined) yield* partitioned.conversion.prepare
  const timeoutMs = partitioned.conversion?.timeoutMs
  const swapTables = Effect.flatMap(swap(partitioned, bound, isMoved), (statements) =>
    runStep(statements, timeoutMs === undefined ? {} : { timeoutMs })
  )
  if (isMoved) return yield* swapTables
  yield* whileValid(constraint, `id < '${bound}'`, () => swapTables)
  yield* Effect.logInfo(`${table} is partitioned; ${firstPartition(partitioned, bound)} has its rows`)
})

const BOUND_CONSTRAINT = "first_partition_bound"

const firstPartition = ({ name, period }: PartitionedTable, bound: string): string =>
  `${name}_until_${periodName(period, timeOf(bound))}`

const unvalidated = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT conname::text AS name FROM pg_constraint WHERE conrelid = ${table}::regclass AND NOT convalidated`
  return rows.map(({ name }) => name)
})

/** The statements that put a partitioned table in the place of the table. */
const swap = Effect.fnUntraced(function* (partitioned: PartitionedTable, bound: string, isMoved: boolean) {
  const { conversion, name: table, storage } = partitioned
  const sql = yield* SqlClient
  const indexes = yield* sql<{ name: string; made: string }>`
    SELECT i.relname::text AS name, pg_get_indexdef(x.indexrelid) AS made
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
    WHERE x.indrelid = ${table}::regclass AND NOT x.indisprimary ORDER BY 1`
  const replaced = indexes.filter(({ name }) => conversion?.replacedIndexes.includes(name))
  const kept = isMoved ? indexes.filter((index) => !replaced.includes(index)) : indexes
  const grants = yield* sql<{ grantee: string; privilege: string }>`
    SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee,
      a.privilege_type::text AS privilege
    FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
    WHERE c.oid = ${table}::regclass AND a.grantee <> c.relowner`
  const triggers = yield* sql<{ name: string; made: string }>`
    SELECT tgname::text AS name, pg_get_triggerdef(oid) AS made
    FROM pg_trigger WHERE tgrelid = ${table}::regclass AND NOT tgisinternal ORDER BY 1`
  const distinctValues = yield* distinctValuesOf(table, "n_distinct")
  const rest = defaultPartitionOf(table)
  const views = yield* sql<{ name: string; made: string }>`
    SELECT DISTINCT v.relname::text AS name, rtrim(pg_get_viewdef(v.oid), ';') AS made
    FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = ${table}::regclass AND v.relkind = 'v'`
  const first = firstPartition(partitioned, bound)
  const renamed = (name: string) => quoted(name.includes(table) ? name.replace(table, first) : `${first}_${name}`)
  return [
    `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`,
    ...triggers.map(({ name }) => `DROP TRIGGER ${quoted(name)} ON ${table}`),
    `ALTER TABLE ${table} RENAME TO ${first}`,
    ...(isMoved ? replaced.map(({ name }) => `DROP INDEX ${quoted(name)}`) : []),
    ...kept.map(({ name }) => `ALTER INDEX ${quoted(name)} RENAME TO ${renamed(name)}`),
    `ALTER TABLE ${first} RENAME CONSTRAINT ${table}_pkey TO ${first}_pkey`,
    `CREATE TABLE ${table} (LIKE ${first} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (id)`,
    `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${BOUND_CONSTRAINT}`,
    ...indexes.flatMap((index) => (replaced.includes(index) ? [] : [index.made])),
    // Last: for an empty partition indexes cost the same, and the planner takes the newest that has the column.
    `ALTER TABLE ${table} ADD CONSTRAINT ${table}_pkey PRIMARY KEY (id)`,
    ...distinctValues.map(
      ({ column, value }) => `ALTER TABLE ${table} ALTER COLUMN ${column} SET (n_distinct_inherited = ${value})`
    ),
    `CREATE TABLE ${rest} PARTITION OF ${table} DEFAULT WITH (${storage})`,
    ...distinctValues.map(
      ({ column, value }) => `ALTER TABLE ${rest} ALTER COLUMN ${column} SET (n_distinct = ${value})`
    ),
    ...(isMoved
      ? [
          `WITH beyond AS (DELETE FROM ${first} WHERE id >= '${bound}' RETURNING *)
          INSERT INTO ${table} SELECT * FROM beyond`
        ]
      : []),
    `ALTER TABLE ${table} ATTACH PARTITION ${first} FOR VALUES FROM (MINVALUE) TO ('${bound}')`,
    `ALTER TABLE ${first} DROP CONSTRAINT IF EXISTS ${BOUND_CONSTRAINT}`,
    `ALTER TABLE ${first} SET (${storage})`,
    ...grants.flatMap(({ grantee, privilege }) => [
      `GRANT ${privilege} ON ${table} TO ${grantee}`,
      `REVOKE ${privilege} ON ${first} FROM ${grantee}`
    ]),
    ...(conversion?.statements(bound, isMoved) ?? []),
    ...triggers.map(({ made }) => made),
    ...views.map(({ made, name }) => `CREATE OR REPLACE VIEW ${quoted(name)} AS ${made}`)
  ]
})
