/**
 * What the BR codes of a receiver have in common is stored once, with the receiver (`domain/BrCodeTemplate.ts`). Installations
 * that begin with this release store codes so; others do once an operator ends the upgrade (`schema/StoredForms.ts`).
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Payments read this table, and wait behind this while it waits.
  `SELECT set_config('lock_timeout', '2s', true)`,
  `ALTER TABLE receivers ADD COLUMN IF NOT EXISTS br_code_template text`,
  `SELECT set_config('lock_timeout', '0', true)`,
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `INSERT INTO installation (name, value) SELECT 'splits_br_codes', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
