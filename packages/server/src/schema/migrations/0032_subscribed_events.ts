/**
 * The events that the endpoints of an account subscribe to, in its counter. Migration 0033 fills them: this one locks a table
 * that every change reads, and is committed at once.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export default Effect.flatMap(
  SqlClient,
  (sql) => sql`ALTER TABLE webhook_endpoint_counters ADD COLUMN events text[] NOT NULL DEFAULT '{}'`
)
