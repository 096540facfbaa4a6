/**
 * The partitions of a table, as PostgreSQL's catalog has them. Any role may read it.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/** A partition with bounds. */
export interface Partition {
  readonly name: string
  /** Null: no lower bound. */
  readonly from: string | null
  readonly before: string
}

/** The database's time in epoch milliseconds. A process's clock may be wrong, and a retention would remove too much by it. */
export const databaseTime = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ now: Date }>`SELECT now() AS now`
  return row!.now.getTime()
})

/** The partitions of a table in the order of their bounds, without the default one. */
export const partitionsOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string; bound: string }>`
    SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(${table})`
  return rows
    .flatMap(({ bound, name }): ReadonlyArray<Partition> => {
      const found = /^FOR VALUES FROM \((?:MINVALUE|'(.+)')\) TO \('(.+)'\)$/.exec(bound)
      return found === null ? [] : [{ name, from: found[1] ?? null, before: found[2]! }]
    })
    .toSorted((one, other) => (one.before < other.before ? -1 : 1))
})

/** The columns of a partitioned table whose number of distinct values is given. */
export const distinctValuesOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  return yield* sql<{ column: string; value: string }>`
    SELECT quote_ident(a.attname) AS column, split_part(o, '=', 2) AS value
    FROM pg_attribute a CROSS JOIN LATERAL unnest(a.attoptions) AS o
    WHERE a.attrelid = to_regclass(${table}) AND split_part(o, '=', 1) = 'n_distinct_inherited'`
})

/** Whether PostgreSQL reads the whole table in milliseconds. */
export const isSmall = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ bytes: bigint }>`SELECT pg_relation_size(to_regclass(${table})) AS bytes`
  return Number(row?.bytes) < SMALL_BYTES
})

const SMALL_BYTES = 4 * 1024 * 1024
