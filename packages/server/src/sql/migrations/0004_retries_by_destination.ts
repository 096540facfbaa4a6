/**
 * Retries are claimed as first attempts are, destination by destination: one with a backlog is passed by.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `DROP INDEX deliveries_repeated`,
  `CREATE INDEX deliveries_repeated ON deliveries (destination, due_at)
    WHERE status IN ('scheduled', 'delivering') AND attempts_made > 0`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
