/**
 * States of charges in tables of their own, so that a payment changes no index of `charges`: see
 * `partitions/ChargeStates.ts`.
 *
 * `charge_states` has the charges of the API that are not paid, and those that were paid without an end-to-end id. The
 * settlement of a paid one has its account.
 *
 * In an installation that begins with this release, `charges` has no index of a state, and the columns that the acquirer's
 * answer and a payment change are the last ones: the WAL of an update has what lies between the first and the last column
 * that it changes. No server of the release before can use such a database.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf, storedChargeStates } from "./0001_foundation.ts"

const statements = [
  // Payments wait behind this while it waits, so it gives way to a transaction that takes long, such as a dump.
  `SELECT set_config('lock_timeout', '2s', true)`,
  // lifetime_ms: of a pending charge; 0 for others.
  `CREATE TABLE charge_states (
    account_id uuid NOT NULL,
    status text NOT NULL,
    lifetime_ms bigint NOT NULL,
    charge_id uuid NOT NULL,
    PRIMARY KEY (account_id, status, lifetime_ms, charge_id)
  )`,
  // Of a charge of the API that is paid; else null.
  `ALTER TABLE charge_settlements ADD COLUMN account_id uuid`,
  `SELECT set_config('lock_timeout', '0', true)`
]

const ofNewInstallation = [
  `CREATE INDEX charge_settlements_paid ON charge_settlements (account_id, charge_id) WHERE account_id IS NOT NULL`,
  `DROP INDEX charges_unpaid, charges_not_pending, charges_to_recover, charges_settlement`,
  `DROP TRIGGER charge_stores_settlement ON charges`,
  `DROP FUNCTION charge_stores_settlement()`,
  `ALTER TABLE charges
    DROP COLUMN receiver_id,
    DROP COLUMN br_code,
    DROP COLUMN acquirer_answered,
    DROP COLUMN sequence,
    DROP COLUMN status,
    DROP COLUMN paid_at,
    DROP COLUMN end_to_end_id,
    DROP COLUMN failure_reason,
    DROP COLUMN settlement_stored`,
  `ALTER TABLE charges
    ADD COLUMN receiver_id uuid,
    ADD COLUMN br_code text,
    ADD COLUMN acquirer_answered boolean NOT NULL DEFAULT true,
    ADD COLUMN sequence integer NOT NULL,
    ADD COLUMN status text NOT NULL ${oneOf("status", storedChargeStates)},
    ADD COLUMN paid_at timestamptz,
    ADD COLUMN end_to_end_id text,
    ADD COLUMN failure_reason text,
    ADD COLUMN settlement_stored boolean NOT NULL DEFAULT false`,
  // Of 0031, for payments that write all indexes.
  `ALTER TABLE charges SET (fillfactor = 70)`,
  `INSERT INTO installation (name, value) VALUES ('charge_states_start', '00000000-0000-0000-0000-000000000000')`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  const isNew = yield* sql`SELECT FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
  if (isNew.length > 0) for (const statement of ofNewInstallation) yield* sql.unsafe(statement)
})
