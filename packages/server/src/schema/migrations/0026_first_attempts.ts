/**
 * The first attempt of a delivery that succeeds at once, in the delivery's row (`webhooks/deliveries/FirstAttempt.ts`).
 *
 * A server of the release before goes on inserting a row of `delivery_attempts`, and does not show what is stored here.
 *
 * Why: docs/decisions/0033-first-attempt.md.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Statements of the service wait behind this one while it waits, so it gives way to a transaction that takes long.
  `SELECT set_config('lock_timeout', '2s', true)`,
  // Of each partition too. No row is read or written.
  `ALTER TABLE deliveries
    ADD COLUMN first_attempt_at timestamptz,
    ADD COLUMN first_duration_ms integer,
    ADD COLUMN first_status_code smallint,
    ADD COLUMN first_address text,
    ADD COLUMN first_response_body text`,
  `SELECT set_config('lock_timeout', '0', true)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
