/**
 * The settings of the installation with its brakes, and the indexes of the search and of timelines.
 *
 * The release before this one goes on beside it: it does not read the settings, and logs requests without their resource. It
 * uses the index `payouts_parked`, which the next release drops.
 *
 * `IF NOT EXISTS`: where a table is too large to be locked while an index is built, the owner of the schema makes the
 * indexes before, with CONCURRENTLY.
 */
import { FourEyes } from "@pix-payments/domain/Installation"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const statements = [
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  // One row. The table \`installation\` has what the first start generates.
  `CREATE TABLE installation_settings (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    name text NOT NULL,
    payouts_paused boolean NOT NULL DEFAULT false,
    charges_paused boolean NOT NULL DEFAULT false,
    four_eyes text NOT NULL DEFAULT 'auto' ${oneOf("four_eyes", FourEyes.literals)}
  )`,
  `INSERT INTO installation_settings (name) VALUES ('Pix')`,

  // Parked payouts by the connection that they wait for. Those that were never claimed follow their account's connection. No
  // other index has this condition, so that the planner has no choice.
  `CREATE INDEX IF NOT EXISTS payouts_parked_by_connection ON payouts (account_id,
      (CASE WHEN hand_overs > 0 THEN coalesce(connection_id, '${SIMULATOR_CONNECTION}'::uuid)
        ELSE '00000000-0000-0000-0000-000000000000'::uuid END), id)
    WHERE status || '' = 'processing' AND hand_over_at IS NULL`,

  // The resource that a request created or names.
  `ALTER TABLE requests ADD COLUMN resource_id uuid`,
  `CREATE INDEX IF NOT EXISTS requests_of_resource ON requests (resource_id, id) WHERE resource_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS requests_of_request_id ON requests USING hash (request_id)`,

  `CREATE INDEX IF NOT EXISTS acquirer_orders_of_charge ON acquirer_orders (charge_id, id) WHERE charge_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS acquirer_exceptions_of_txid ON acquirer_exceptions (txid) WHERE txid IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS accounts_of_document ON accounts (document, id)`,
  `CREATE INDEX IF NOT EXISTS charges_of_document ON charges (customer_document, account_id, id)
    WHERE customer_document IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS charges_of_email ON charges (customer_email, account_id, id)
    WHERE customer_email IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS payouts_of_end_to_end_id ON payouts (end_to_end_id) WHERE end_to_end_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS payouts_of_reference ON payouts (reference, account_id, id) WHERE reference IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS payouts_of_document ON payouts (recipient_document, account_id, id)
    WHERE recipient_document IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS payouts_of_pix_key ON payouts (pix_key, account_id, id) WHERE pix_key IS NOT NULL`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
