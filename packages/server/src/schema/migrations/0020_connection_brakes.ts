/**
 * What operators brake and watch: the brakes of a connection, beside `paused`, and the list of webhook endpoints.
 *
 * The release before does not read the brakes: it sends on.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `ALTER TABLE acquirer_connections
    ADD COLUMN payouts_paused boolean NOT NULL DEFAULT false,
    ADD COLUMN charges_paused boolean NOT NULL DEFAULT false`,
  `CREATE INDEX webhook_endpoints_list ON webhook_endpoints (id) WHERE deleted_at IS NULL`,
  `CREATE INDEX webhook_endpoints_of_account_list ON webhook_endpoints (account_id, id) WHERE deleted_at IS NULL`,
  `CREATE INDEX webhook_endpoint_health_failing ON webhook_endpoint_health (endpoint_id) WHERE consecutive_failures > 0`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
