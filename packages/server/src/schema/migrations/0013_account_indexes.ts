/**
 * Indexes of the lists of operators who are limited to accounts, and of what waits for a provider. The refunds that a server
 * of the release before 0010 stored, or ended, after 0010.
 *
 * `IF NOT EXISTS`: where a table is too large to be locked while an index is built, the owner of the schema makes the index
 * before, with CONCURRENTLY.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  `CREATE INDEX IF NOT EXISTS refunds_of_account ON refunds (account_id, status, id)`,
  `CREATE INDEX IF NOT EXISTS acquirer_exceptions_of_account ON acquirer_exceptions (account_id, status, id)
    WHERE account_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS deliveries_of_account ON deliveries (account_id, event, status, id)
    WHERE endpoint_id IS NULL`,
  `CREATE INDEX IF NOT EXISTS accounts_of_connection ON accounts (connection_id) WHERE connection_id IS NOT NULL`,

  `CREATE INDEX IF NOT EXISTS acquirer_orders_of_connection ON acquirer_orders (connection_id, kind, ask_at)
    WHERE state = 'ordered' AND ask_at IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS payouts_of_provider_reference ON payouts (provider_reference)
    WHERE provider_reference IS NOT NULL`,

  // As in 0010. An order of this release stores its refund itself.
  `INSERT INTO refunds (id, charge_id, account_id, origin, status, amount, pending, created_at, completed_at)
    SELECT id, charge_id, account_id, 'operator',
      CASE state WHEN 'done' THEN 'completed' WHEN 'refused' THEN 'failed' ELSE 'processing' END,
      amount, pending, created_at, CASE WHEN state <> 'ordered' THEN created_at END
    FROM acquirer_orders WHERE kind = 'refund'
    ON CONFLICT (id) DO NOTHING`,
  `UPDATE refunds r SET status = CASE o.state WHEN 'done' THEN 'completed' ELSE 'failed' END, completed_at = o.created_at
    FROM acquirer_orders o WHERE o.id = r.id AND o.kind = 'refund' AND o.state <> 'ordered' AND r.status = 'processing'`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
