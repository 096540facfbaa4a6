/**
 * Changes of charges are stored without what their charge has (`events/EventData.ts`), in installations that begin with
 * this release.
 *
 * Servers of the release before would deliver the stored form as it is. So an installation that they may serve, or to which
 * it may be rolled back, goes on storing the whole resource until an operator ends the upgrade.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `INSERT INTO installation (name, value) SELECT 'stores_changed_fields', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
