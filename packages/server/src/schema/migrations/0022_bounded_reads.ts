/**
 * Indexes by which counts and lists of operators read a bounded number of rows.
 *
 * `IF NOT EXISTS`: where a table is too large to be locked while an index is built, the owner of the schema makes the
 * indexes before, with CONCURRENTLY.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Failures whose retry was not requested.
  `CREATE INDEX IF NOT EXISTS outbox_failures_unretried ON outbox_failures (id) WHERE retried_at IS NULL`,
  // A deleted endpoint fails no more.
  `UPDATE webhook_endpoint_health h SET consecutive_failures = 0 FROM webhook_endpoints w
    WHERE w.id = h.endpoint_id AND w.deleted_at IS NOT NULL AND h.consecutive_failures > 0`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
