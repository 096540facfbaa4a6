/**
 * Settlements of a connection (`payments/charges/Settlements.ts`), and what arrives before its payment
 * (`payments/exceptions/EarlyReversals.ts`).
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `DROP TABLE charge_settlements`,
  // charge_id: the charge that it pays, or the exception that it is; null, with the amount, until its payment arrives.
  // account_id: of a charge of the API that is paid; else null.
  // The end-to-end id comes first in the key: searches know it alone. It is text, not a digest: ids of one bank begin with the
  // bank and the time, so that new ones are side by side in the index.
  `CREATE TABLE charge_settlements (
    connection_id uuid NOT NULL,
    charge_id uuid,
    account_id uuid,
    amount bigint,
    end_to_end_id text NOT NULL,
    PRIMARY KEY (end_to_end_id, connection_id),
    CHECK ((charge_id IS NULL) = (amount IS NULL))
  )`,
  `CREATE INDEX charge_settlements_paid ON charge_settlements (account_id, charge_id) WHERE account_id IS NOT NULL`,
  `DROP TABLE deferred_reports`,
  // A return or MED waits for the payment of its Pix, or of its charge where it names no Pix.
  `CREATE TABLE early_reversals (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL,
    end_to_end_id text,
    charge_id uuid,
    notification json NOT NULL,
    CHECK (num_nonnulls(end_to_end_id, charge_id) = 1)
  )`,
  `CREATE INDEX early_reversals_of_pix ON early_reversals (end_to_end_id, connection_id) WHERE end_to_end_id IS NOT NULL`,
  `CREATE INDEX early_reversals_of_charge ON early_reversals (charge_id) WHERE charge_id IS NOT NULL`,
  `ALTER TABLE charges RENAME COLUMN has_deferred_reports TO has_early_reversals`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
