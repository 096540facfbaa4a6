/** Tables of connections, accounts, their keys, and the ledger. */
import { AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account"
import { connectionKinds, exceptionRules, SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { oneOf } from "../Statements.ts"
import { callerGeneration, replacesGeneration } from "./generation.ts"

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

export const accountTables = [
  `-- A client at a provider, through which accounts collect and pay out. Every installation has that of the simulator.
  CREATE TABLE acquirer_connections (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    kind text NOT NULL ${oneOf("kind", connectionKinds)},
    profile text, -- which provider; null: the simulator
    settings json NOT NULL DEFAULT '{}',
    credentials text, -- sealed
    pix_key text,
    statement_account json, -- bank, branch and number by which programs find it in OFX
    exception_rule text NOT NULL DEFAULT 'hold' ${oneOf("exception_rule", exceptionRules)}, -- what becomes of money that fits no charge
    paused boolean NOT NULL DEFAULT false,
    payouts_paused boolean NOT NULL DEFAULT false,
    charges_paused boolean NOT NULL DEFAULT false,
    is_default boolean NOT NULL DEFAULT false, -- of accounts without a connection of their own
    pays_out boolean NOT NULL DEFAULT false,
    certificate_expires_at timestamptz,
    certificate_warned_days integer, -- the last warning: days before the certificate expires
    webhook_secret text, -- sealed
    webhook_registered_at timestamptz,
    checked_at timestamptz,
    check_result json,
    swept_until timestamptz, -- payments before it have been read from the provider
    last_days_from timestamptz, -- where the second reading of the last five days goes on; null: none is running
    last_days_at timestamptz, -- the last start of one
    last_days_failed timestamptz, -- the start of what it could not read or apply; null: nothing
    returns_from timestamptz, -- where the reading of returned payments goes on; null: none is running
    returns_at timestamptz, -- the last start of one
    due_at timestamptz, -- the next sweep
    foreign_entries integer NOT NULL DEFAULT 0, -- of other keys of the client, in the last sweep that met one
    foreign_at timestamptz, -- when that was
    version integer NOT NULL DEFAULT 1, -- grows with each change, so that a process sees that it must reconnect
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX acquirer_connections_default ON acquirer_connections (is_default) WHERE is_default`,
  `-- Every Pix key that a connection has or had. A key of a client is of one connection.
  CREATE TABLE connection_keys (
    client text NOT NULL, -- the digest of provider, its address, client id and current account
    pix_key text NOT NULL,
    connection_id uuid NOT NULL REFERENCES acquirer_connections,
    PRIMARY KEY (client, pix_key)
  )`,
  `CREATE INDEX connection_keys_of_connection ON connection_keys (connection_id)`,
  `INSERT INTO acquirer_connections (id, name, kind, pays_out, created_at)
    VALUES ('${SIMULATOR_CONNECTION}', 'Simulator', 'simulator', true, now())`,

  `-- A merchant of the installation, with its settings.
  CREATE TABLE accounts (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    legal_name text NOT NULL,
    document text NOT NULL, -- CPF or CNPJ without punctuation
    document_type text NOT NULL ${oneOf("document_type", ["cpf", "cnpj"])},
    phone text NOT NULL,
    status text NOT NULL ${oneOf("status", AccountStatus.literals)},
    onboarding_status text NOT NULL ${oneOf("onboarding_status", OnboardingStatus.literals)},
    auto_payout_enabled boolean NOT NULL, -- false: an operator approves each payout
    payout_fee_fixed bigint NOT NULL CHECK (payout_fee_fixed >= 0), -- cents
    payout_fee_basis_points integer NOT NULL CHECK (payout_fee_basis_points >= 0),
    payout_duplicate_window integer NOT NULL DEFAULT 0 CHECK (payout_duplicate_window >= 0), -- seconds
    default_expires_in integer NOT NULL CHECK (default_expires_in > 0), -- seconds
    release_delay integer NOT NULL CHECK (release_delay >= 0), -- seconds from pending to available
    approval_limit bigint CHECK (approval_limit >= 0), -- cents that one operator may approve; null: no limit
    payouts_paused boolean NOT NULL DEFAULT false,
    charges_paused boolean NOT NULL DEFAULT false,
    connection_id uuid REFERENCES acquirer_connections, -- null: the default one
    statement_account json, -- bank, branch and number by which programs find it in OFX
    moved_to text, -- the cell that it moves or has moved to; null: it lives here
    arrived_until xid8, -- of an account that came from another cell: its changes up to here were counted there
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX accounts_of_connection ON accounts (connection_id) WHERE connection_id IS NOT NULL`,
  `CREATE INDEX accounts_of_document ON accounts (document, id)`,

  `-- A client system of an account: its keys, and the scope of its idempotency keys and endpoints.
  CREATE TABLE applications (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    name text NOT NULL,
    active boolean NOT NULL,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX applications_of_account ON applications (account_id, id)`,

  `-- API keys. A key itself is stored nowhere.
  CREATE TABLE api_keys (
    id uuid PRIMARY KEY,
    application_id uuid NOT NULL REFERENCES applications,
    name text NOT NULL,
    prefix text NOT NULL, -- the first characters, for people
    hash text NOT NULL UNIQUE, -- SHA-256
    scopes text[] NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX api_keys_of_application ON api_keys (application_id, id)`,

  `-- Limits of accounts and API keys, and how much of them is used. Without a row there is none.
  CREATE TABLE limits (
    owner_id uuid PRIMARY KEY, -- an account or an API key
    requests_per_minute integer,
    payouts_per_hour integer,
    payouts_per_day integer,
    payout_cents_per_day bigint,
    recipients text[], -- the Pix keys that payouts may go to, in DICT's form
    hour timestamptz NOT NULL DEFAULT '-infinity', -- of the last payout that counts
    payouts_in_hour integer NOT NULL DEFAULT 0,
    day date NOT NULL DEFAULT '-infinity', -- the same, in the installation's zone
    payouts_in_day integer NOT NULL DEFAULT 0,
    cents_in_day bigint NOT NULL DEFAULT 0
  )`,

  ...callerGeneration,
  // All but the time of the last use.
  replacesGeneration("UPDATE OF application_id, hash, scopes, expires_at, revoked_at OR DELETE ON api_keys"),
  // All but what counts payouts.
  replacesGeneration(
    "INSERT OR UPDATE OF requests_per_minute, payouts_per_hour, payouts_per_day, payout_cents_per_day, recipients OR DELETE ON limits"
  ),
  replacesGeneration("UPDATE OR DELETE ON applications"),
  replacesGeneration("UPDATE OR DELETE ON accounts"),
  // All but what sweeps and checks write. A new connection may be the default one.
  replacesGeneration("INSERT OR UPDATE OF charges_paused, is_default, pays_out OR DELETE ON acquirer_connections"),

  `-- Balances of ledger accounts, in the commit of the transfers that change them.
  CREATE TABLE ledger_accounts (
    owner_id uuid NOT NULL, -- an account; of unallocated money, a connection
    kind text NOT NULL ${oneOf("kind", ledgerKinds)},
    balance bigint NOT NULL DEFAULT 0, -- cents
    position bigint NOT NULL DEFAULT 0, -- transfers of the owner so far; on its available, or unallocated, only
    day date, -- the next transfer's day is not before it; null: the owner has none
    open_day date, -- the first day with transfers that is not closed
    PRIMARY KEY (owner_id, kind)
  )`,
  `CREATE INDEX ledger_accounts_open ON ledger_accounts (open_day, owner_id) WHERE open_day IS NOT NULL`,
  `INSERT INTO ledger_accounts (owner_id, kind)
    VALUES ('${SIMULATOR_CONNECTION}', 'unallocated'), ('${SIMULATOR_CONNECTION}', 'acquirer')`,

  `-- Movements of money. One row has both ends, so no movement is unbalanced. Rows are inserted, never changed.
  CREATE TABLE ledger_transfers (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL, -- the owner of both ledger accounts
    resource_id uuid NOT NULL, -- the charge, payout, exception or adjustment that explains it
    connection_id uuid, -- of a movement at the bank: the connection of the bank account
    position bigint NOT NULL CHECK (position > 0), -- 1, 2, 3 of the owner, under the lock of its balances
    amount bigint NOT NULL CHECK (amount > 0), -- cents
    created_at timestamptz NOT NULL,
    debit_after bigint, -- the balance of the debit after it; null: neither available, pending nor blocked
    credit_after bigint, -- the same of the credit
    fee bigint, -- cents of the amount that are a fee; null: none
    source_id uuid, -- the refund, dispute or exception's return that it is of; null: the resource itself
    day date NOT NULL, -- in the installation's time zone; never before that of the position before
    debit text NOT NULL ${oneOf("debit", ledgerKinds)},
    credit text NOT NULL ${oneOf("credit", ledgerKinds)},
    reason text NOT NULL,
    CHECK (debit <> credit)
  )`,
  `CREATE INDEX ledger_transfers_of_resource ON ledger_transfers (resource_id)`,
  // Conditions that always hold, and that one of the two has, so that the planner has no choice between them.
  `CREATE INDEX ledger_transfers_of_account ON ledger_transfers (account_id, id) WHERE amount > 0`,
  `CREATE UNIQUE INDEX ledger_transfers_of_day ON ledger_transfers (account_id, day, position) WHERE position > 0`,
  `CREATE INDEX ledger_transfers_at_bank ON ledger_transfers (connection_id, day, id) WHERE connection_id IS NOT NULL`,
  // A payout of this amount, where one came back whose bank does not say which.
  `CREATE INDEX ledger_transfers_paid_out ON ledger_transfers (connection_id, amount, day) WHERE reason = 'payout.completed'`,
  `CREATE FUNCTION ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% cannot be changed or deleted', replace(TG_TABLE_NAME, '_', ' ');
    END
  $$`,
  `CREATE TRIGGER ledger_transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()`,

  `-- Corrections of balances by operators. Rows are inserted, never changed.
  CREATE TABLE adjustments (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts,
    amount bigint NOT NULL CHECK (amount <> 0), -- cents, below zero where the account gives them
    reason text NOT NULL,
    created_at timestamptz NOT NULL
  )`,
  `CREATE TRIGGER adjustments_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON adjustments
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()`,

  `-- Closed days of an account, or of a connection: the sums of its lines, chained by hashes. A day without lines has no row.
  -- Rows are inserted, never changed.
  CREATE TABLE closes (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL, -- an account, or a connection
    book text NOT NULL ${oneOf("book", ["ledger", "bank"])}, -- the transfers of the owner, or what a connection's bank moves
    day date NOT NULL,
    opening bigint NOT NULL, -- cents in available, or that the bank has moved in
    credits bigint NOT NULL, -- cents
    debits bigint NOT NULL, -- cents
    fees bigint NOT NULL, -- cents of the debits, less those of the credits
    closing bigint NOT NULL, -- opening + credits - debits
    lines bigint NOT NULL, -- transfers of the day
    last_position bigint NOT NULL, -- of its last transfer; of a bank book, transfers so far
    balances jsonb NOT NULL, -- of each ledger account at the end of the day, in cents
    lines_hash text NOT NULL, -- SHA-256 of the day's transfers
    previous_hash text, -- of the close before it; null: it is the first
    hash text NOT NULL, -- SHA-256 of this row and previous_hash
    closed_at timestamptz NOT NULL,
    UNIQUE (owner_id, book, day)
  )`,
  `CREATE INDEX closes_of_owner ON closes (owner_id, book, id)`,
  `CREATE INDEX closes_of_day ON closes (day)`,
  `CREATE TRIGGER closes_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON closes
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_is_append_only()`,

  `-- Money of paid charges that becomes available later.
  CREATE TABLE releases (
    charge_id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    amount bigint NOT NULL CHECK (amount >= 0), -- cents that are left to release
    due_at timestamptz NOT NULL,
    released_at timestamptz
  )`,
  `CREATE INDEX releases_due ON releases (due_at) WHERE released_at IS NULL`,
  `CREATE INDEX releases_due_of_account ON releases (account_id, due_at) WHERE released_at IS NULL`
]
