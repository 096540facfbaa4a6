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

/**
 * The tables of a list that are not partitioned yet, and can be: the primary key is their only unique index, and they have no
 * BEFORE trigger. Triggers for the release before are of that kind, so that an index that is being rebuilt partitions nothing.
 */
export const unpartitioned = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`
    SELECT relname::text AS name FROM pg_class c
    WHERE relkind = 'r' AND oid = ANY (SELECT to_regclass(t) FROM unnest(${tables}::text[]) t)
      AND NOT EXISTS (SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisunique AND NOT x.indisprimary)
      AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgtype & 2 > 0)
    ORDER BY 1`
  return rows.map(({ name }) => name)
})

/** The partitions of a table in the order of their bounds, without the default one; `undefined` where it has none yet. */
export const partitionsOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string; bound: string }>`
    SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass(${table})`
  if (rows.length === 0) return undefined
  return rows
    .flatMap(({ bound, name }): ReadonlyArray<Partition> => {
      const found = /^FOR VALUES FROM \((?:MINVALUE|'(.+)')\) TO \('(.+)'\)$/.exec(bound)
      return found === null ? [] : [{ name, from: found[1] ?? null, before: found[2]! }]
    })
    .toSorted((one, other) => (one.before < other.before ? -1 : 1))
})

/** The columns of a table whose number of distinct values is given, as option `n_distinct` or `n_distinct_inherited`. */
export const distinctValuesOf = Effect.fnUntraced(function* (
  table: string,
  option: "n_distinct" | "n_distinct_inherited"
) {
  const sql = yield* SqlClient
  return yield* sql<{ column: string; value: string }>`
    SELECT quote_ident(a.attname) AS column, split_part(o, '=', 2) AS value
    FROM pg_attribute a CROSS JOIN LATERAL unnest(a.attoptions) AS o
    WHERE a.attrelid = to_regclass(${table}) AND split_part(o, '=', 1) = ${option}`
})

/** Whether PostgreSQL reads the whole table in milliseconds. */
export const isSmall = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ bytes: bigint }>`SELECT pg_relation_size(to_regclass(${table})) AS bytes`
  return Number(row?.bytes) < SMALL_BYTES
})

const SMALL_BYTES = 4 * 1024 * 1024
