/**
 * A recovery may be of all charges whose ids are in a range (`payments/charges/NewRecoveries.ts`). Installations that begin with this
 * release store such recoveries; others do once an operator ends the upgrade (`schema/StoredForms.ts`).
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Creations write this table, and wait behind this while it waits.
  `SELECT set_config('lock_timeout', '2s', true)`,
  `ALTER TABLE charge_recoveries ADD COLUMN IF NOT EXISTS first_id uuid, ADD COLUMN IF NOT EXISTS last_id uuid`,
  `CREATE INDEX IF NOT EXISTS charge_recoveries_of_ranges ON charge_recoveries (first_id) WHERE first_id IS NOT NULL`,
  `SELECT set_config('lock_timeout', '0', true)`,
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `INSERT INTO installation (name, value) SELECT 'recovers_ranges', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
