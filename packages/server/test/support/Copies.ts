/** Tables that are full of copies of one row. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/**
 * Stores `count` copies of the first row with this condition, if there is one. `own` has SQL for the columns of a copy that
 * differ; `n` is its number, from 1.
 */
export const copyRows = Effect.fnUntraced(function* (
  table: string,
  condition: string,
  count: number,
  own: Readonly<Record<string, string>>
) {
  const sql = yield* SqlClient
  const columns = yield* sql<{ name: string }>`SELECT quote_ident(column_name) AS name FROM information_schema.columns
    WHERE table_name = ${table} AND table_schema = current_schema() AND is_generated = 'NEVER' ORDER BY ordinal_position`
  const names = columns.map(({ name }) => name)
  yield* sql.unsafe(`INSERT INTO ${table} (${names.join()})
    SELECT ${names.map((name) => own[name] ?? `t.${name}`).join()}
    FROM (SELECT * FROM ${table} WHERE ${condition} LIMIT 1) t CROSS JOIN generate_series(1, ${count}) n ORDER BY n`)
})
