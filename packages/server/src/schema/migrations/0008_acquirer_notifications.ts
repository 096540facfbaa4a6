/**
 * What the acquirer says and what it is asked, each fact once; pauses of accounts; payouts by TED.
 *
 * A notification has an id derived from the fact it reports, unique here. One that arrives before the payment of its
 * charge is deferred until that payment. What the acquirer is asked to do about a charge (cancel, refund) is an order: a
 * row with a lease, one open order a charge.
 *
 * The release before this one goes on beside it: it fills no column that is added, reads none, and finds a text in
 * `payouts.pix_key` of a TED too.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const statements = [
  // Making an index of a large table takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  `CREATE TABLE acquirer_notifications (
    key text PRIMARY KEY,
    report_id uuid NOT NULL
  )`,
  `ALTER TABLE acquirer_reports DROP CONSTRAINT acquirer_reports_outcome_check`,
  `ALTER TABLE acquirer_reports ADD CONSTRAINT acquirer_reports_outcome_check
    ${oneOf("outcome", ["applied", "deferred", "ignored", "unknown"])} NOT VALID`,

  `CREATE TABLE deferred_reports (
    charge_id uuid NOT NULL,
    id uuid NOT NULL,
    report json NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (charge_id, id)
  )`,
  `CREATE INDEX deferred_reports_due ON deferred_reports (due_at)`,
  `ALTER TABLE charges ADD COLUMN has_deferred_reports boolean NOT NULL DEFAULT false`,

  // pending: the part of the amount that was taken of the charge's unreleased money, to be given back where it was.
  `CREATE TABLE acquirer_orders (
    id uuid PRIMARY KEY,
    kind text NOT NULL ${oneOf("kind", ["refund", "cancel"])},
    charge_id uuid NOT NULL,
    account_id uuid NOT NULL,
    amount bigint NOT NULL CHECK (amount >= 0),
    pending bigint NOT NULL CHECK (pending >= 0 AND pending <= amount),
    state text NOT NULL ${oneOf("state", ["ordered", "done", "refused"])},
    attempts integer NOT NULL DEFAULT 1,
    due_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX acquirer_orders_open ON acquirer_orders (charge_id) WHERE state = 'ordered'`,
  `CREATE INDEX acquirer_orders_due ON acquirer_orders (due_at) WHERE state = 'ordered'`,

  // Nothing is left to release of a charge whose unreleased money went back.
  `ALTER TABLE releases DROP CONSTRAINT releases_amount_check`,
  `ALTER TABLE releases ADD CONSTRAINT releases_amount_check CHECK (amount >= 0) NOT VALID`,

  `ALTER TABLE accounts
    ADD COLUMN payouts_paused boolean NOT NULL DEFAULT false,
    ADD COLUMN charges_paused boolean NOT NULL DEFAULT false`,

  // A payout that may not go out yet has no time at which it is handed over.
  `CREATE INDEX payouts_due_of_account ON payouts (account_id, hand_over_at)
    WHERE status = 'processing' AND hand_over_at IS NOT NULL`,
  `CREATE INDEX payouts_parked ON payouts (account_id, id) WHERE status = 'processing' AND hand_over_at IS NULL`,

  // Of a TED, the account that it goes to. This release still writes a text for its Pix key, which the one before reads.
  `ALTER TABLE payouts
    ALTER COLUMN pix_key_type DROP NOT NULL,
    ALTER COLUMN pix_key DROP NOT NULL,
    ADD COLUMN bank_account json`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
