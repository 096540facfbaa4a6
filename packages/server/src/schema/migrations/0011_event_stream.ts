/**
 * The order in which changes were committed, which the event stream follows.
 *
 * `changes.transaction_id` is the transaction that inserted the row. Rows from before this migration have 0: they were all
 * committed before the others, and are in the order of their ids. PostgreSQL fills the column by its default, so that
 * changes of the release before this one have it too. Neither the column nor its default rewrites the table.
 *
 * `IF NOT EXISTS`: where the table is too large to be locked while the index is built, the owner of the schema runs the
 * first two statements before, and makes the index with CONCURRENTLY.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,
  `ALTER TABLE changes ADD COLUMN IF NOT EXISTS transaction_id xid8 NOT NULL DEFAULT '0'`,
  `ALTER TABLE changes ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id()`,
  // A stream of one account reads past the others' changes in the index, without their rows.
  `CREATE INDEX IF NOT EXISTS changes_in_commit_order ON changes (transaction_id, id) INCLUDE (account_id)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
