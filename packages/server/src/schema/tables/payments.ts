/** Tables of charges, payouts, refunds and disputes. */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { ChargeMethod, ChargeStatus, PixKeyType } from "@pix-payments/domain/Charge"
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { PayoutMethod, PayoutStatus } from "@pix-payments/domain/Payout"
import { refundStatuses } from "@pix-payments/domain/Refund"
import { oneOf } from "../Statements.ts"

const storedChargeStates = ChargeStatus.literals.filter((status) => status !== "expired")

export const paymentTables = [
  // The last columns are those that the acquirer's answer and a payment change: the WAL of an update has what lies between the
  // first and the last column that it changes. No index has one of them, so that these updates write no index.
  `-- Money in. Partitioned by the quarter of creation.
  CREATE TABLE charges (
    id uuid NOT NULL, -- without hyphens it is the txid
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    origin text NOT NULL ${oneOf("origin", ["api", "checkout"])},
    idempotency_key text,
    method text NOT NULL ${oneOf("method", ChargeMethod.literals)},
    amount bigint NOT NULL CHECK (amount > 0), -- cents
    description text,
    reference text,
    customer_name text,
    customer_email text,
    customer_document text,
    customer_phone text,
    webhook_url text,
    webhook_secret text, -- sealed
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    connection_id uuid, -- through which it was emitted; null: the simulator's
    receiver_id uuid, -- in receivers; null until the acquirer has answered
    br_code text,
    sequence integer NOT NULL, -- grows with each change
    status text NOT NULL ${oneOf("status", storedChargeStates)}, -- expired is derived: pending after expires_at
    paid_at timestamptz,
    end_to_end_id text,
    failure_reason text,
    refunded_amount bigint NOT NULL DEFAULT 0 CHECK (refunded_amount BETWEEN 0 AND amount), -- cents that went back to the payer
    payer json, -- who paid it, as the acquirer says
    trace text -- the traceparent of the request that created it, where that is sampled
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX charges_of_account ON charges (account_id, origin, id)`,
  `CREATE INDEX charges_not_pix ON charges (account_id, method, id) WHERE origin = 'api' AND method <> 'pix'`,
  `CREATE INDEX charges_of_reference ON charges (reference, account_id, origin, id) WHERE reference IS NOT NULL`,
  `CREATE INDEX charges_of_document ON charges (customer_document, account_id, id) WHERE customer_document IS NOT NULL`,
  `CREATE INDEX charges_of_email ON charges (customer_email, account_id, id) WHERE customer_email IS NOT NULL`,

  // STABLE, as convert_to is, so that PostgreSQL inlines it. With version and variant of a UUID: that of a payout is its id at the
  // provider, which may check them.
  `CREATE FUNCTION idempotency_digest(scope uuid, kind text, origin text, key text) RETURNS uuid LANGUAGE sql STABLE
    PARALLEL SAFE
    RETURN overlay(overlay(encode(substr(sha256(convert_to(concat_ws(' ', scope, kind, origin, key), 'UTF8')), 1, 16), 'hex')
      PLACING '5' FROM 13) PLACING '8' FROM 17)::uuid`,
  `-- Idempotency keys of charges, and ids of payouts at their providers: unique over all partitions. Rows are inserted, never changed.
  CREATE TABLE idempotency_keys (
    digest uuid PRIMARY KEY, -- of scope (application, or account where an operator asked), kind, origin and key, or own id
    resource_id uuid NOT NULL
  )`,

  // The end-to-end id comes first in the key: searches know it alone. It is text, not a digest: ids of one bank begin with the
  // bank and the time, so that new ones are side by side in the index.
  `-- What an end-to-end id is at a connection, and the states of paid charges.
  CREATE TABLE charge_settlements (
    connection_id uuid NOT NULL,
    charge_id uuid, -- the charge that it pays, or the exception that it is; null until its payment arrives
    account_id uuid, -- of a charge of the API that is paid now; else null
    amount bigint, -- cents of its payment, as reported first; null until it arrives
    end_to_end_id text NOT NULL,
    PRIMARY KEY (end_to_end_id, connection_id),
    CHECK ((charge_id IS NULL) = (amount IS NULL))
  )`,
  `CREATE INDEX charge_settlements_paid ON charge_settlements (account_id, charge_id) WHERE account_id IS NOT NULL`,

  `-- States of charges of the API that charge_settlements does not have, for lists by status.
  CREATE TABLE charge_states (
    account_id uuid NOT NULL,
    status text NOT NULL, -- pending also of a charge in processing
    lifetime_ms bigint NOT NULL, -- of a pending charge; 0 of others
    charge_id uuid NOT NULL,
    PRIMARY KEY (account_id, status, lifetime_ms, charge_id)
  )`,

  // A word has letters and digits only, so that no text that somebody searches for is one of the words with another first character.
  // \\u0300 to \\u036f are the accents that NFD separates.
  `CREATE FUNCTION search_words(texts text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(
      SELECT DISTINCT left(word, 24) FROM unnest(texts) AS t(value)
      CROSS JOIN LATERAL regexp_split_to_table(
        lower(regexp_replace(normalize(left(value, 255), NFD), '[\\u0300-\\u036f]', '', 'g')), '[^a-z0-9]+') AS word
      WHERE word ~ '...|[0-9]' LIMIT 12
    )`,
  `-- Words of charges that a search finds by their beginning: of names and references; +digits of a phone, $cents of an amount.
  CREATE TABLE charge_words (
    word text COLLATE "C" NOT NULL,
    charge_id uuid NOT NULL,
    PRIMARY KEY (word, charge_id)
  )`,

  `-- Charges that may wait for the acquirer's answer. A row of a batch is split by account once it is due.
  CREATE TABLE charge_recoveries (
    due_at timestamptz NOT NULL,
    id uuid NOT NULL, -- of a row of one charge, that charge
    charge_ids uuid[] NOT NULL,
    account_id uuid, -- of a row of one charge
    attempts integer NOT NULL DEFAULT 0,
    PRIMARY KEY (due_at, id)
  )`,
  `CREATE UNIQUE INDEX charge_recoveries_of_charge ON charge_recoveries (id) WHERE account_id IS NOT NULL`,
  `CREATE INDEX charge_recoveries_of_account ON charge_recoveries (account_id, due_at) WHERE account_id IS NOT NULL`,
  `CREATE INDEX charge_recoveries_of_account_charges ON charge_recoveries (account_id, id) WHERE account_id IS NOT NULL`,
  `CREATE INDEX charge_recoveries_of_batches ON charge_recoveries (id) WHERE account_id IS NULL`,

  `-- Who is paid, as the acquirer says it: once for all charges that have the same receiver. Rows are inserted, never changed.
  CREATE TABLE receivers (
    id uuid PRIMARY KEY, -- the digest of the text
    receiver json NOT NULL -- json keeps the order of keys, which the bytes of events have
  )`,

  `-- Money out. Partitioned by the quarter of creation.
  CREATE TABLE payouts (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    application_id uuid, -- null: an operator asked for it
    origin text NOT NULL ${oneOf("origin", ["api", "dashboard"])},
    idempotency_key text,
    status text NOT NULL ${oneOf("status", PayoutStatus.literals)},
    method text NOT NULL ${oneOf("method", PayoutMethod.literals)},
    amount bigint NOT NULL CHECK (amount > 0), -- cents
    fee bigint NOT NULL CHECK (fee >= 0), -- cents
    description text,
    reference text,
    recipient_name text,
    recipient_document text,
    pix_key_type text ${oneOf("pix_key_type", PixKeyType.literals)}, -- null: a TED
    pix_key text,
    bank_account json, -- of a TED
    webhook_url text,
    webhook_secret text, -- sealed
    end_to_end_id text,
    failure_reason text,
    duplicate_of uuid, -- an equal payout within the account's window
    processed_at timestamptz,
    created_at timestamptz NOT NULL,
    sequence integer NOT NULL, -- grows with each change
    due_at timestamptz, -- the next request to the provider; null: paused, or not processing
    attempts integer NOT NULL DEFAULT 0, -- claims of it, for a request to the provider
    requested_at timestamptz, -- the first claim
    first_sent_at timestamptz, -- the first claim whose request may have left
    connection_id uuid, -- through which it is sent; null: the simulator's
    provider_reference text, -- what the provider named it before its money could move
    trace text -- the traceparent of the request that created it, where that is sampled
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX payouts_of_account ON payouts (account_id, id)`,
  `CREATE INDEX payouts_of_status ON payouts (account_id, status, method, id)`,
  `CREATE INDEX payouts_not_automatic ON payouts (status, id) WHERE status IN ('pending', 'failed', 'canceled')`,
  `CREATE INDEX payouts_of_reference ON payouts (reference, account_id, id) WHERE reference IS NOT NULL`,
  `CREATE INDEX payouts_of_document ON payouts (recipient_document, account_id, id) WHERE recipient_document IS NOT NULL`,
  `CREATE INDEX payouts_of_pix_key ON payouts (pix_key, account_id, id) WHERE pix_key IS NOT NULL`,
  `CREATE INDEX payouts_of_end_to_end_id ON payouts (end_to_end_id) WHERE end_to_end_id IS NOT NULL`,
  `CREATE INDEX payouts_of_provider_reference ON payouts (provider_reference) WHERE provider_reference IS NOT NULL`,
  `CREATE INDEX payouts_due ON payouts (due_at) WHERE status = 'processing'`,
  `CREATE INDEX payouts_due_of_account ON payouts (account_id, due_at)
    WHERE status = 'processing' AND due_at IS NOT NULL`,
  // Paused payouts by the connection that they wait for. Those that were never claimed follow their account's connection. No
  // other index has this condition, so that the planner has no choice.
  `CREATE INDEX payouts_paused ON payouts (account_id,
      (CASE WHEN attempts > 0 THEN coalesce(connection_id, '${SIMULATOR_CONNECTION}'::uuid)
        ELSE '00000000-0000-0000-0000-000000000000'::uuid END), id)
    WHERE status || '' = 'processing' AND due_at IS NULL`,
  `-- Words of payouts that a search finds by their beginning: of names and references; $cents of an amount.
  CREATE TABLE payout_words (
    word text COLLATE "C" NOT NULL,
    payout_id uuid NOT NULL,
    PRIMARY KEY (word, payout_id)
  )`,
  // The last barrier: the code decides it too.
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
  `-- Returns of a charge's money. One that the service ordered has the id of its order.
  CREATE TABLE refunds (
    id uuid PRIMARY KEY,
    charge_id uuid NOT NULL,
    account_id uuid NOT NULL,
    connection_id uuid, -- null: the simulator's
    origin text NOT NULL ${oneOf("origin", ["operator", "provider"])},
    status text NOT NULL ${oneOf("status", refundStatuses)},
    amount bigint NOT NULL CHECK (amount > 0), -- cents
    pending bigint NOT NULL DEFAULT 0 CHECK (pending >= 0 AND pending <= amount), -- cents of it that were not released yet
    description text,
    nature text,
    dispute_id uuid, -- the MED whose money it is, where its return was not the first news of it
    provider_id text,
    failure_reason text,
    created_at timestamptz NOT NULL,
    completed_at timestamptz
  )`,
  `CREATE INDEX refunds_of_charge ON refunds (charge_id, id)`,
  `CREATE INDEX refunds_of_account ON refunds (account_id, status, id)`,
  `CREATE INDEX refunds_of_provider_id ON refunds (provider_id) WHERE provider_id IS NOT NULL`,
  `CREATE INDEX refunds_unreported ON refunds (connection_id, completed_at) WHERE nature = 'dispute' AND provider_id IS NULL`,
  `CREATE INDEX refunds_by_status ON refunds (status, id)`,
  `CREATE INDEX refunds_completed ON refunds (completed_at) INCLUDE (account_id, amount) WHERE status = 'completed'`,

  `-- Contested payments (MED).
  CREATE TABLE disputes (
    id uuid PRIMARY KEY,
    charge_id uuid,
    exception_id uuid, -- of money that an account accepted; null: of a charge
    account_id uuid NOT NULL,
    application_id uuid, -- the charge's
    connection_id uuid, -- null: the simulator's
    external_id text, -- its id at the provider
    status text NOT NULL ${oneOf("status", DisputeStatus.literals)},
    amount bigint NOT NULL CHECK (amount > 0), -- cents
    reason text,
    reference text, -- the charge's
    opened_at timestamptz NOT NULL,
    defense_deadline_at timestamptz,
    resolved_at timestamptz,
    arrived_resolved boolean NOT NULL, -- it was lost before the service heard of it
    sequence integer NOT NULL,
    returned bigint NOT NULL DEFAULT 0 CHECK (returned >= 0), -- cents of an exception that went back with it; a charge has refunds
    return_id text, -- the provider's id of that return; null until it is reported
    CHECK (num_nonnulls(charge_id, exception_id) = 1)
  )`,
  `CREATE INDEX disputes_of_charge ON disputes (charge_id, id)`,
  `CREATE INDEX disputes_of_exception ON disputes (exception_id) WHERE exception_id IS NOT NULL`,
  `CREATE INDEX disputes_of_return ON disputes (return_id) WHERE return_id IS NOT NULL`,
  `CREATE INDEX disputes_unreported ON disputes (connection_id, resolved_at)
    WHERE exception_id IS NOT NULL AND status = 'lost' AND return_id IS NULL`,
  `CREATE INDEX disputes_of_account ON disputes (account_id, status, id)`,
  `CREATE INDEX disputes_of_status ON disputes (status, id)`,
  `CREATE INDEX disputes_by_deadline ON disputes (defense_deadline_at, id) WHERE status IN ('open', 'under_review')`,
  `CREATE UNIQUE INDEX disputes_of_provider ON disputes (connection_id, external_id) NULLS NOT DISTINCT
    WHERE external_id IS NOT NULL`,
  `-- Defenses of operators, and what the provider answers.
  CREATE TABLE dispute_messages (
    id uuid PRIMARY KEY,
    dispute_id uuid NOT NULL REFERENCES disputes,
    author text NOT NULL ${oneOf("author", ["operator", "platform"])},
    text text NOT NULL,
    at timestamptz NOT NULL
  )`,
  `CREATE INDEX dispute_messages_of_dispute ON dispute_messages (dispute_id, id)`,
  `-- Files of defenses.
  CREATE TABLE dispute_files (
    id uuid PRIMARY KEY,
    message_id uuid NOT NULL REFERENCES dispute_messages,
    name text NOT NULL,
    content_type text NOT NULL,
    content bytea NOT NULL
  )`,
  `CREATE INDEX dispute_files_of_message ON dispute_files (message_id, id)`
]
