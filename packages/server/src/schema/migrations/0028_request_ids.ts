/**
 * A line of the request log has no request id where the caller sent none: the id of the line is that of its request
 * (`operations/RequestLog.ts`). Installations that begin with this release store lines so; others do once an operator ends
 * the upgrade (`schema/StoredForms.ts`).
 *
 * The hash index of request ids has no entries for lines without one.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `ALTER TABLE requests ALTER COLUMN request_id DROP NOT NULL`,
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `INSERT INTO installation (name, value) SELECT 'omits_generated_request_ids', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
