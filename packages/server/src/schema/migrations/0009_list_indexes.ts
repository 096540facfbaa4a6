/**
 * An index for each list and each of its filters, walked as `database/statements/Seek.ts` says, and one for releases by account.
 *
 * A creation writes into as many indexes as before: four were replaced, and the others hold what is rare (what failed,
 * what waits for an operator, what is no Pix). Only the request log has one more. No index holds what an update changes
 * that would otherwise touch none.
 *
 * `IF NOT EXISTS`: where a table is too large to be closed to writers meanwhile, the owner of the schema can make an
 * index before, with CONCURRENTLY, and the migration passes it by.
 *
 * The release before this one finds its lists of one account through these indexes too; only its filters by status read
 * what the account has one by one, for as long as such a server runs.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Making an index of a large table takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  // What is unpaid by how long it lives, the rest by its status: a charge is in one of them. See `ChargeLists`.
  `CREATE INDEX IF NOT EXISTS charges_unpaid ON charges (account_id,
      (coalesce((extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807)), id)
    WHERE origin = 'api' AND status = 'pending'`,
  `CREATE INDEX IF NOT EXISTS charges_not_pending ON charges (account_id, status, id)
    WHERE origin = 'api' AND status <> 'pending'`,
  `CREATE INDEX IF NOT EXISTS charges_not_pix ON charges (account_id, method, id)
    WHERE origin = 'api' AND method <> 'pix'`,
  `CREATE INDEX IF NOT EXISTS charges_of_reference ON charges (reference, account_id, origin, id)
    WHERE reference IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS payouts_of_status ON payouts (account_id, status, method, id)`,
  `CREATE INDEX IF NOT EXISTS payouts_not_automatic ON payouts (status, id)
    WHERE status IN ('pending', 'failed', 'canceled')`,
  `CREATE INDEX IF NOT EXISTS disputes_of_status ON disputes (status, id)`,
  `CREATE INDEX IF NOT EXISTS releases_due_of_account ON releases (account_id, due_at) WHERE released_at IS NULL`,
  `CREATE INDEX IF NOT EXISTS deliveries_of_event ON deliveries (endpoint_id, event, status, id)
    WHERE endpoint_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS deliveries_of_no_endpoint ON deliveries (event, status, id) WHERE endpoint_id IS NULL`,
  `CREATE INDEX IF NOT EXISTS deliveries_ended ON deliveries (status, event, id) WHERE status IN ('failed', 'canceled')`,
  `CREATE INDEX IF NOT EXISTS deliveries_failed ON deliveries (endpoint_id, id) WHERE status = 'failed'`,
  `CREATE INDEX IF NOT EXISTS requests_of_key ON requests (key_id, route, status, id) WHERE key_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS requests_of_nobody ON requests (route, status, id) WHERE key_id IS NULL`,
  `CREATE INDEX IF NOT EXISTS requests_refused ON requests (status, route, id) WHERE status >= 400`,

  // Last, for it closes a table to readers until the commit.
  `DROP INDEX charges_by_status`,
  `DROP INDEX charges_by_reference`,
  `DROP INDEX payouts_by_status`,
  `DROP INDEX deliveries_of_endpoint`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
