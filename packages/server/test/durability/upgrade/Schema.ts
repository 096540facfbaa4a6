/**
 * A schema as PostgreSQL describes it: to compare two, and to create an old one without its migrations. A partitioned table
 * is described without its partitions, which depend on the month.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export interface Column {
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
  readonly default: string | null
}

export interface DescribedSchema {
  readonly tables: Readonly<Record<string, ReadonlyArray<Column>>>
  /** Definitions by name: `table.constraint`, index, `table.trigger`, function, view. */
  readonly constraints: Readonly<Record<string, string>>
  readonly indexes: Readonly<Record<string, string>>
  readonly triggers: Readonly<Record<string, string>>
  readonly functions: Readonly<Record<string, string>>
  readonly views: Readonly<Record<string, string>>
}

export const describeSchema = Effect.gen(function* () {
  const sql = yield* SqlClient
  const columns = yield* sql<Column & { table: string }>`
    SELECT c.relname::text AS table, a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type,
      NOT a.attnotnull AS "isNullable", pg_get_expr(d.adbin, d.adrelid) AS default
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum`
  const tables: Record<string, Array<Column>> = {}
  for (const { table, ...column } of columns) (tables[table] ??= []).push(column)
  const named = (rows: ReadonlyArray<{ readonly name: string; readonly text: string }>) =>
    Object.fromEntries(rows.map(({ name, text }) => [name, text]))
  type Named = { readonly name: string; readonly text: string }
  return {
    tables,
    // NOT NULL is part of the column.
    constraints: named(
      yield* sql<Named>`
      SELECT c.relname || '.' || k.conname AS name, pg_get_constraintdef(k.oid) AS text
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
      WHERE k.connamespace = 'public'::regnamespace AND NOT c.relispartition AND k.contype IN ('p', 'u', 'c', 'f') ORDER BY k.contype <> 'p', 1`
    ),
    indexes: named(
      yield* sql<Named>`
      SELECT i.relname::text AS name, replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ') AS text
      FROM pg_class i JOIN pg_index x ON x.indexrelid = i.oid
      WHERE NOT i.relispartition AND i.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u')) ORDER BY 1`
    ),
    triggers: named(
      yield* sql<Named>`
      SELECT c.relname || '.' || t.tgname AS name, pg_get_triggerdef(t.oid) AS text
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace ORDER BY 1`
    ),
    functions: named(
      yield* sql<Named>`
      SELECT p.proname::text AS name, pg_get_functiondef(p.oid) AS text FROM pg_proc p
      WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1`
    ),
    views: named(
      yield* sql<Named>`
      SELECT viewname::text AS name, definition AS text FROM pg_views WHERE schemaname = 'public' ORDER BY 1`
    )
  } satisfies DescribedSchema
})

/** Creates a described schema with these rows in an empty database. */
export const createSchema = Effect.fnUntraced(function* (
  schema: DescribedSchema,
  rows: Readonly<Record<string, ReadonlyArray<unknown>>>
) {
  const sql = yield* SqlClient
  const run = (text: string) => sql.unsafe(text)
  for (const text of Object.values(schema.functions)) yield* run(text)
  for (const [table, columns] of Object.entries(schema.tables)) {
    const lines = columns.map(
      ({ default: value, isNullable, name, type }) =>
        `"${name}" ${type}${value === null ? "" : ` DEFAULT ${value}`}${isNullable ? "" : " NOT NULL"}`
    )
    yield* run(`CREATE TABLE ${table} (${lines.join(", ")})`)
    const json = JSON.stringify(rows[table] ?? [])
    yield* sql`INSERT INTO ${sql.literal(table)}
      SELECT * FROM json_populate_recordset(null::${sql.literal(table)}, ${json}::text::json)`
  }
  for (const [name, text] of Object.entries(schema.constraints)) {
    const [table, constraint] = name.split(".")
    yield* run(`ALTER TABLE ${table} ADD CONSTRAINT "${constraint}" ${text}`)
  }
  for (const text of Object.values(schema.indexes)) yield* run(text)
  for (const text of Object.values(schema.triggers)) yield* run(text)
  for (const [name, text] of Object.entries(schema.views)) yield* run(`CREATE VIEW ${name} AS ${text}`)
})

/** All rows of all tables. */
export const rowsOf = Effect.fnUntraced(function* (schema: DescribedSchema) {
  const sql = yield* SqlClient
  const rows: Record<string, ReadonlyArray<unknown>> = {}
  for (const table of Object.keys(schema.tables)) {
    const found = yield* sql.unsafe<{ row: unknown }>(`SELECT to_json(t)::text AS row FROM ${table} t`)
    rows[table] = found.map(({ row }) => JSON.parse(String(row)))
  }
  return rows
})
