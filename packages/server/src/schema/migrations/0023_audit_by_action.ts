/**
 * The entries of an action in the audit log: the uses of the installation's token are one of many.
 *
 * `IF NOT EXISTS`: where a table is too large to be locked while an index is built, the owner of the schema makes the
 * index before, with CONCURRENTLY.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE INDEX IF NOT EXISTS audit_of_action ON audit (action, id)`
})
