/**
 * Accounts, applications, keys, charges, events, deliveries, the ledger and the logs.
 *
 * Statuses are text with a CHECK made from the state lists of `domain`. Entries of the ledger can be
 * inserted and nothing else.
 */
import { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const oneOf = (column: string, values: ReadonlyArray<string>) =>
  `CHECK (${column} IN (${values.map((value) => `'${value}'`).join(", ")}))`

export const storedChargeStates = ChargeStatus.literals.filter((status) => status !== "expired")

const ledgerKinds = ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]

const statements = [
  `CREATE TABLE installation (
    name text PRIMARY KEY,
    value text NOT NULL
  )`,

  `CREATE TABLE accounts (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    legal_name text NOT NULL,
    document text NOT NULL,
    document_type text NOT NULL ${oneOf("document_type", ["cpf", "cnpj"])},
    phone text NOT NULL,
    status text NOT NULL ${oneOf("status", AccountStatus.literals)},
    onboarding_status text NOT NULL ${oneOf("onboarding_status", OnboardingStatus.literals)},
    auto_payout_enabled boolean NOT NULL,
    payout_fee_fixed bigint NOT NULL CHECK (payout_fee_fixed >= 0),
    payout_fee_basis_points integer NOT NULL CHECK (payout_fee_basis_points >= 0),
    default_expires_in integer NOT NULL CHECK (default_expires_in > 0),
    release_delay integer NOT NULL CHECK (release_delay >= 0),
    created_at timestamptz NOT NULL
  )`,

  `CREATE TABLE applications (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    name text NOT NULL,
    active boolean NOT NULL,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX applications_of_account ON applications (account_id, id)`,

  `CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    application_id uuid NOT NULL REFERENCES applications,
    name text NOT NULL,
    prefix text NOT NULL,
    hash text NOT NULL UNIQUE,
    scopes text[] NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX api_keys_of_application ON api_keys (application_id, id)`,

  `CREATE TABLE charges (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    origin text NOT NULL ${oneOf("origin", ["api", "checkout"])},
    idempotency_key text,
    status text NOT NULL ${oneOf("status", storedChargeStates)},
    method text NOT NULL ${oneOf("method", ChargeMethod.literals)},
    amount bigint NOT NULL CHECK (amount > 0),
    description text,
    reference text,
    customer_name text,
    customer_email text,
    customer_document text,
    customer_phone text,
    webhook_url text,
    webhook_secret text,
    br_code text,
    end_to_end_id text,
    receiver json,
    expires_at timestamptz,
    paid_at timestamptz,
    failure_reason text,
    created_at timestamptz NOT NULL,
    sequence integer NOT NULL,
    recover_at timestamptz
  )`,
  `CREATE UNIQUE INDEX charges_idempotency ON charges (application_id, origin, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  `CREATE INDEX charges_of_account ON charges (account_id, origin, id)`,
  `CREATE INDEX charges_by_status ON charges (account_id, status, id)`,
  `CREATE INDEX charges_by_reference ON charges (account_id, reference) WHERE reference IS NOT NULL`,
  // The last barrier against crediting one settlement twice.
  `CREATE UNIQUE INDEX charges_settlement ON charges (end_to_end_id) WHERE end_to_end_id IS NOT NULL`,
  `CREATE INDEX charges_to_recover ON charges (recover_at) WHERE status = 'processing'`,

  `CREATE TABLE acquirer_reports (
    id uuid PRIMARY KEY,
    subject text NOT NULL,
    report json NOT NULL,
    outcome text NOT NULL ${oneOf("outcome", ["applied", "ignored", "unknown"])},
    received_at timestamptz NOT NULL
  )`,
  `CREATE INDEX acquirer_reports_of_subject ON acquirer_reports (subject)`,

  // data is JSON, kept as the text that receivers verify.
  `CREATE TABLE changes (
    id uuid PRIMARY KEY,
    resource_id uuid NOT NULL,
    account_id uuid NOT NULL,
    application_id uuid,
    kind text NOT NULL,
    actions text[] NOT NULL,
    status text NOT NULL,
    sequence integer NOT NULL,
    data text NOT NULL,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX changes_of_resource ON changes (resource_id, sequence)`,
  // One row for each event, for people who look.
  `CREATE VIEW events AS
    SELECT c.id AS change_id, c.resource_id, c.account_id, c.application_id, c.kind || '.' || a.action AS name, c.status,
      c.sequence, c.data, c.created_at
    FROM changes c CROSS JOIN LATERAL unnest(c.actions) AS a(action)`,

  `CREATE TABLE deliveries (
    id uuid PRIMARY KEY,
    change_id uuid NOT NULL,
    event text NOT NULL,
    resource_id uuid NOT NULL,
    account_id uuid NOT NULL,
    endpoint_id uuid,
    url text NOT NULL,
    secret text,
    status text NOT NULL ${oneOf("status", ["scheduled", "delivering", "delivered", "failed", "canceled"])},
    attempts_made integer NOT NULL DEFAULT 0,
    due_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  // While a delivery is under way, due_at is the end of its lease.
  `CREATE INDEX deliveries_due ON deliveries (due_at) WHERE status IN ('scheduled', 'delivering')`,
  `CREATE INDEX deliveries_of_resource ON deliveries (resource_id, id)`,

  `CREATE TABLE delivery_attempts (
    id uuid PRIMARY KEY,
    delivery_id uuid NOT NULL,
    at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    address text,
    status_code integer,
    error text,
    response_body text
  )`,
  `CREATE INDEX delivery_attempts_of_delivery ON delivery_attempts (delivery_id, id)`,

  `CREATE TABLE ledger_accounts (
    owner_id uuid NOT NULL,
    kind text NOT NULL ${oneOf("kind", ledgerKinds)},
    balance bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (owner_id, kind)
  )`,
  // A transfer is one row with two ends, so that it cannot be unbalanced. The ends `acquirer` and `fees` are the
  // installation's ledger accounts, the others those of the account.
  `CREATE TABLE ledger_transfers (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    debit text NOT NULL ${oneOf("debit", ledgerKinds)},
    credit text NOT NULL ${oneOf("credit", ledgerKinds)},
    amount bigint NOT NULL CHECK (amount > 0),
    resource_id uuid NOT NULL,
    reason text NOT NULL,
    created_at timestamptz NOT NULL,
    CHECK (debit <> credit)
  )`,
  `CREATE INDEX ledger_transfers_of_resource ON ledger_transfers (resource_id)`,
  `CREATE INDEX ledger_transfers_of_account ON ledger_transfers (account_id, id)`,
  `CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'ledger transfers cannot be changed or deleted';
    END
  $$`,
  `CREATE TRIGGER ledger_transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()`,
  `INSERT INTO ledger_accounts (owner_id, kind) VALUES
    ('00000000-0000-0000-0000-000000000000', 'acquirer'),
    ('00000000-0000-0000-0000-000000000000', 'fees')`,

  `CREATE TABLE requests (
    id uuid PRIMARY KEY,
    request_id text NOT NULL,
    key_id uuid,
    account_id uuid,
    route text NOT NULL,
    status integer NOT NULL,
    duration_us integer NOT NULL,
    at timestamptz NOT NULL
  )`,

  `CREATE TABLE audit (
    id uuid PRIMARY KEY,
    operator text NOT NULL,
    action text NOT NULL,
    resource_id uuid,
    request_id text NOT NULL,
    at timestamptz NOT NULL
  )`,

  `CREATE TABLE simulator_charges (
    txid text PRIMARY KEY,
    accepted_at timestamptz NOT NULL
  )`,
  `CREATE TABLE simulator_reports (
    id uuid PRIMARY KEY,
    report json NOT NULL,
    due_at timestamptz NOT NULL,
    reported_at timestamptz
  )`,
  `CREATE INDEX simulator_reports_due ON simulator_reports (due_at) WHERE reported_at IS NULL`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
