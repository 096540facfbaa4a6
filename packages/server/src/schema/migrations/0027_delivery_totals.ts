/**
 * How many attempts were made for each account and day, and how many succeeded, so that statistics read no successful
 * delivery (`webhooks/deliveries/DeliveryTotals.ts`).
 *
 * Starts with the attempts at registered endpoints. Those at the `webhook_url` of a charge or payout were not counted before,
 * and a server of the release before does not count here.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `CREATE TABLE delivery_totals (
    account_id uuid NOT NULL,
    date date NOT NULL,
    attempts bigint NOT NULL,
    successes bigint NOT NULL,
    PRIMARY KEY (account_id, date)
  ) WITH (fillfactor = 50)`,
  `INSERT INTO delivery_totals (account_id, date, attempts, successes)
    SELECT w.account_id, '-infinity', sum(h.successes + h.failures), sum(h.successes)
    FROM webhook_endpoint_health h JOIN webhook_endpoints w ON w.id = h.endpoint_id GROUP BY w.account_id`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
