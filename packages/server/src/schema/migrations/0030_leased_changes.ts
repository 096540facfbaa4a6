/**
 * A change whose first deliveries are sent before they are stored is leased until `leased_until` (`webhooks/fan-out/FanOut.ts`).
 * One that is not leased any more, but was, has deliveries that are stored: the fan-out sends none of the others before it
 * has stored them.
 *
 * Installations that begin with this release lease changes; others do once an operator ends the upgrade
 * (`schema/StoredForms.ts`).
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `ALTER TABLE outbox ADD COLUMN leased_until timestamptz`,
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `INSERT INTO installation (name, value) SELECT 'leases_changes', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
