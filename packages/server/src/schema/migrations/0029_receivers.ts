/**
 * The receiver of a charge is stored once for all charges that have the same one (`payments/charges/Receivers.ts`). Installations
 * that begin with this release store receivers so; others do once an operator ends the upgrade (`schema/StoredForms.ts`).
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // id is the digest of the text. `json` keeps the order of keys, which the bytes of events have.
  `CREATE TABLE receivers (
    id uuid PRIMARY KEY,
    receiver json NOT NULL
  )`,
  `ALTER TABLE charges ADD COLUMN receiver_id uuid`,
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `INSERT INTO installation (name, value) SELECT 'stores_receivers_once', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
