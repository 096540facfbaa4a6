/**
 * Connections to providers, returns in transit, refunds of a part of a charge, and money that fits nothing.
 *
 * The simulator is a connection that every database has. A charge or payout without a connection belongs to it.
 *
 * Orders of this release have `ask_at` instead of `due_at`, so that the release before, which would settle their money
 * otherwise, never claims them. It still counts them as open.
 */
import { connectionKinds, exceptionRules, SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { exceptionActions, exceptionKinds, exceptionStatuses } from "@pix-payments/domain/AcquirerException"
import { refundStatuses } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const ledgerKinds = [
  "available",
  "pending",
  "blocked",
  "payouts_in_transit",
  "returns_in_transit",
  "acquirer",
  "fees",
  "unallocated"
]

/** Replaces the check of a column; rows of before fit the new one as well. */
const recheck = (table: string, column: string, values: ReadonlyArray<string>) => [
  `ALTER TABLE ${table} DROP CONSTRAINT ${table}_${column}_check`,
  `ALTER TABLE ${table} ADD CONSTRAINT ${table}_${column}_check ${oneOf(column, values)} NOT VALID`
]

const statements = [
  // Making an index of a large table takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  ...recheck("ledger_accounts", "kind", ledgerKinds),
  ...recheck("ledger_transfers", "debit", ledgerKinds),
  ...recheck("ledger_transfers", "credit", ledgerKinds),
  // An account that the release before creates gets its ledger accounts from the trigger.
  `CREATE OR REPLACE FUNCTION ledger_account_is_whole() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO ledger_accounts (owner_id, kind)
        VALUES (NEW.owner_id, 'acquirer'), (NEW.owner_id, 'fees'), (NEW.owner_id, 'returns_in_transit')
        ON CONFLICT (owner_id, kind) DO NOTHING;
      RETURN NULL;
    END
  $$`,
  `INSERT INTO ledger_accounts (owner_id, kind)
    SELECT owner_id, 'returns_in_transit' FROM ledger_accounts WHERE kind = 'available'
    ON CONFLICT (owner_id, kind) DO NOTHING`,

  // credentials and webhook_secret are sealed. version grows with each change, so that a process sees that it must reconnect.
  `CREATE TABLE acquirer_connections (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    kind text NOT NULL ${oneOf("kind", connectionKinds)},
    profile text,
    settings json NOT NULL DEFAULT '{}',
    credentials text,
    pix_key text,
    exception_rule text NOT NULL DEFAULT 'hold' ${oneOf("exception_rule", exceptionRules)},
    paused boolean NOT NULL DEFAULT false,
    is_default boolean NOT NULL DEFAULT false,
    pays_out boolean NOT NULL DEFAULT false,
    certificate_expires_at timestamptz,
    certificate_warned_days integer,
    webhook_secret text,
    webhook_registered_at timestamptz,
    checked_at timestamptz,
    check_result json,
    swept_until timestamptz,
    deep_swept_at timestamptz,
    sweep_at timestamptz,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX acquirer_connections_default ON acquirer_connections (is_default) WHERE is_default`,
  `INSERT INTO acquirer_connections (id, name, kind, pays_out, created_at)
    VALUES ('${SIMULATOR_CONNECTION}', 'Simulator', 'simulator', true, now())`,
  `INSERT INTO ledger_accounts (owner_id, kind)
    VALUES ('${SIMULATOR_CONNECTION}', 'unallocated'), ('${SIMULATOR_CONNECTION}', 'acquirer')`,
  `ALTER TABLE accounts ADD COLUMN connection_id uuid REFERENCES acquirer_connections`,
  `ALTER TABLE charges ADD COLUMN connection_id uuid`,
  // provider_reference: what the provider named the payout before its money could move.
  `ALTER TABLE payouts ADD COLUMN connection_id uuid, ADD COLUMN provider_reference text`,

  `ALTER TABLE acquirer_reports ADD COLUMN connection_id uuid`,
  ...recheck("acquirer_reports", "outcome", ["applied", "deferred", "ignored", "unknown", "exception"]),

  // A return of a charge's money. One that the service ordered has the id of its order. pending: the cents that were taken of
  // the charge's unreleased money.
  `CREATE TABLE refunds (
    id uuid PRIMARY KEY,
    charge_id uuid NOT NULL,
    account_id uuid NOT NULL,
    connection_id uuid,
    origin text NOT NULL ${oneOf("origin", ["operator", "provider"])},
    status text NOT NULL ${oneOf("status", refundStatuses)},
    amount bigint NOT NULL CHECK (amount > 0),
    pending bigint NOT NULL DEFAULT 0 CHECK (pending >= 0 AND pending <= amount),
    description text,
    nature text,
    provider_id text,
    failure_reason text,
    created_at timestamptz NOT NULL,
    completed_at timestamptz
  )`,
  `CREATE INDEX refunds_of_charge ON refunds (charge_id, id)`,
  `CREATE INDEX refunds_by_status ON refunds (status, id)`,
  `INSERT INTO refunds (id, charge_id, account_id, origin, status, amount, pending, created_at, completed_at)
    SELECT id, charge_id, account_id, 'operator',
      CASE state WHEN 'done' THEN 'completed' WHEN 'refused' THEN 'failed' ELSE 'processing' END,
      amount, pending, created_at, CASE WHEN state <> 'ordered' THEN created_at END
    FROM acquirer_orders WHERE kind = 'refund'`,

  `ALTER TABLE acquirer_orders
    ALTER COLUMN charge_id DROP NOT NULL,
    ALTER COLUMN account_id DROP NOT NULL,
    ADD COLUMN exception_id uuid,
    ADD COLUMN dispute_id uuid,
    ADD COLUMN connection_id uuid,
    ADD COLUMN end_to_end_id text,
    ADD COLUMN ask_at timestamptz`,
  ...recheck("acquirer_orders", "kind", ["refund", "cancel", "return", "defend"]),
  `CREATE INDEX acquirer_orders_to_ask ON acquirer_orders (ask_at) WHERE state = 'ordered' AND ask_at IS NOT NULL`,
  `CREATE UNIQUE INDEX acquirer_orders_of_exception ON acquirer_orders (exception_id) WHERE state = 'ordered'`,
  `CREATE UNIQUE INDEX acquirer_orders_of_dispute ON acquirer_orders (dispute_id) WHERE state = 'ordered'`,

  // unallocated: the cents of it that are still in the connection's ledger account of that name.
  `CREATE TABLE acquirer_exceptions (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL,
    kind text NOT NULL ${oneOf("kind", exceptionKinds)},
    status text NOT NULL ${oneOf("status", exceptionStatuses)},
    amount bigint NOT NULL CHECK (amount > 0),
    expected_amount bigint,
    unallocated bigint NOT NULL,
    end_to_end_id text,
    txid text,
    external_id text,
    pix_key text,
    payer json,
    occurred_at timestamptz NOT NULL,
    charge_id uuid,
    account_id uuid,
    action text ${oneOf("action", exceptionActions)},
    reason text,
    failure_reason text,
    resolved_by text,
    resolved_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX acquirer_exceptions_by_status ON acquirer_exceptions (status, id)`,
  `CREATE INDEX acquirer_exceptions_by_kind ON acquirer_exceptions (kind, id)`,
  `CREATE INDEX acquirer_exceptions_of_pix ON acquirer_exceptions (end_to_end_id) WHERE end_to_end_id IS NOT NULL`,
  `CREATE INDEX acquirer_exceptions_of_charge ON acquirer_exceptions (charge_id) WHERE charge_id IS NOT NULL`,

  // external_id: the dispute's id at the provider.
  `ALTER TABLE disputes ADD COLUMN connection_id uuid, ADD COLUMN external_id text`,
  `CREATE UNIQUE INDEX disputes_of_provider ON disputes (connection_id, external_id) NULLS NOT DISTINCT
    WHERE external_id IS NOT NULL`,
  `CREATE TABLE dispute_files (
    id uuid PRIMARY KEY,
    message_id uuid NOT NULL REFERENCES dispute_messages,
    name text NOT NULL,
    content_type text NOT NULL,
    content bytea NOT NULL
  )`,
  `CREATE INDEX dispute_files_of_message ON dispute_files (message_id, id)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
