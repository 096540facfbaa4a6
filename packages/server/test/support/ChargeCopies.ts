/** Copies of charges that wait for their payment, with all rows that the service stored for them, for drills with many. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isOwned, type Moved } from "../../src/cells/OwnedRows.ts"
import { withoutTriggers } from "./Million.ts"

/** What a charge stores before it is paid. */
const tables = [
  "charges",
  "idempotency_keys",
  "charge_states",
  "charge_words",
  "changes",
  "deliveries",
  "delivery_attempts",
  "requests"
]

/** Ids that copies have in common. */
const shared = /^(account|application|endpoint|key|connection|receiver)_id$|_hash$/

/** The id of copy `n` of a row, of the same millisecond. */
const idOf = (
  column: string
) => `(left(replace(${column}::text, '-', ''), 12) || '7' || left(md5(${column}::text || n), 3)
  || '8' || substr(md5(${column}::text || n), 4, 15))::uuid`

/** Stores `count` copies of each charge of the account. */
export const copyCharges = Effect.fnUntraced(function* (moved: Moved, count: number) {
  const sql = yield* SqlClient
  const columns = yield* sql<{ table: string; name: string; type: string }>`
    SELECT table_name AS table, column_name AS name, udt_name AS type FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_generated = 'NEVER' ORDER BY ordinal_position`
  for (const table of tables) {
    yield* sql.unsafe(
      `CREATE UNLOGGED TABLE template_${table} AS SELECT * FROM ${table} WHERE ${isOwned(table, moved)}`
    )
  }
  for (let first = 1; first <= count; first += CHUNK) {
    const last = Math.min(first + CHUNK - 1, count)
    for (const table of tables) {
      const names = columns.filter((column) => column.table === table)
      const values = names.map(({ name, type }) => {
        if (name === "digest") return "md5(digest::text || n)::uuid"
        return type === "uuid" && !shared.test(name) ? idOf(name) : name
      })
      yield* withoutTriggers(
        sql.unsafe(
          `INSERT INTO ${table} (${names.map(({ name }) => name).join(", ")})
           SELECT ${values.join(", ")} FROM generate_series(${first}, ${last}) n CROSS JOIN template_${table}`
        )
      )
    }
  }
  for (const table of tables) {
    yield* sql.unsafe(`DROP TABLE template_${table}`)
    yield* sql.unsafe(`VACUUM (ANALYZE) ${table}`)
  }
})

/** Copies of each charge in one statement. */
const CHUNK = 20
