/**
 * Payouts, disputes and releases: the rest of the money side.
 *
 * A payout may be stored only while the account's `available` is not negative afterwards: a trigger holds that
 * beside the code that decides it.
 */
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { PayoutMethod, PayoutStatus } from "@pix-payments/domain/Payout"
import { PixKeyType } from "@pix-payments/domain/PixKey"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const statements = [
  `ALTER TABLE accounts ADD COLUMN payout_duplicate_window integer NOT NULL DEFAULT 0
    CHECK (payout_duplicate_window >= 0)`,

  `CREATE TABLE payouts (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    application_id uuid,
    origin text NOT NULL ${oneOf("origin", ["api", "dashboard"])},
    idempotency_key text,
    status text NOT NULL ${oneOf("status", PayoutStatus.literals)},
    method text NOT NULL ${oneOf("method", PayoutMethod.literals)},
    amount bigint NOT NULL CHECK (amount > 0),
    fee bigint NOT NULL CHECK (fee >= 0),
    description text,
    reference text,
    recipient_name text,
    recipient_document text,
    pix_key_type text NOT NULL ${oneOf("pix_key_type", PixKeyType.literals)},
    pix_key text NOT NULL,
    webhook_url text,
    webhook_secret text,
    end_to_end_id text,
    failure_reason text,
    duplicate_of uuid,
    processed_at timestamptz,
    created_at timestamptz NOT NULL,
    sequence integer NOT NULL,
    hand_over_at timestamptz,
    hand_overs integer NOT NULL DEFAULT 0
  )`,
  // The key's scope is the application; of a payout asked for in the dashboard, the account.
  `CREATE UNIQUE INDEX payouts_idempotency ON payouts (coalesce(application_id, account_id), origin, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  `CREATE INDEX payouts_of_account ON payouts (account_id, id)`,
  `CREATE INDEX payouts_by_status ON payouts (account_id, status, id)`,
  `CREATE INDEX payouts_to_hand_over ON payouts (hand_over_at) WHERE status = 'processing'`,
  `CREATE FUNCTION payouts_stay_covered() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (
        SELECT 1 FROM (SELECT DISTINCT account_id FROM stored) s
        WHERE (
          SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = s.account_id AND l.kind = 'available'
        ) < 0
      ) THEN
        RAISE EXCEPTION 'a payout would take the available balance below zero';
      END IF;
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER payouts_stay_covered AFTER INSERT ON payouts
    REFERENCING NEW TABLE AS stored FOR EACH STATEMENT EXECUTE FUNCTION payouts_stay_covered()`,

  `CREATE TABLE releases (
    charge_id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    amount bigint NOT NULL CHECK (amount > 0),
    due_at timestamptz NOT NULL,
    released_at timestamptz
  )`,
  `CREATE INDEX releases_due ON releases (due_at) WHERE released_at IS NULL`,

  `CREATE TABLE disputes (
    id uuid PRIMARY KEY,
    charge_id uuid NOT NULL,
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    status text NOT NULL ${oneOf("status", DisputeStatus.literals)},
    amount bigint NOT NULL CHECK (amount > 0),
    reason text,
    reference text,
    opened_at timestamptz NOT NULL,
    defense_deadline_at timestamptz,
    resolved_at timestamptz,
    arrived_resolved boolean NOT NULL,
    sequence integer NOT NULL
  )`,
  `CREATE INDEX disputes_of_charge ON disputes (charge_id, id)`,
  `CREATE TABLE dispute_messages (
    id uuid PRIMARY KEY,
    dispute_id uuid NOT NULL REFERENCES disputes,
    author text NOT NULL ${oneOf("author", ["operator", "platform"])},
    text text NOT NULL,
    at timestamptz NOT NULL
  )`,
  `CREATE TABLE simulator_payouts (
    payout_id uuid PRIMARY KEY,
    amount bigint NOT NULL,
    pix_key text NOT NULL,
    fails boolean NOT NULL,
    reason text,
    end_to_end_id text,
    settles_at timestamptz
  )`,
  `CREATE INDEX dispute_messages_of_dispute ON dispute_messages (dispute_id, id)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
