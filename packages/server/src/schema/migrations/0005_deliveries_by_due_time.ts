/**
 * Deliveries in the order in which they fall due, so that a claim reads what has become due since the last one: its
 * cost depends neither on what waits nor on how many destinations that is for. First attempts and retries apart, as in
 * their indexes by destination.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Making an index of a large table takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,
  `CREATE INDEX deliveries_first_due ON deliveries (due_at, id)
    WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0`,
  `CREATE INDEX deliveries_repeated_due ON deliveries (due_at, id)
    WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0`,
  // However few destinations the statistics have seen, what is due to one of them is read by its index.
  `ALTER TABLE deliveries ALTER COLUMN destination SET (n_distinct = -0.01)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
