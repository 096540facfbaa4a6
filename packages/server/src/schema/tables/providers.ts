/** Tables of what providers say and are asked, and of the simulated institution. */
import { exceptionActions, exceptionKinds, exceptionStatuses } from "@pix-payments/domain/AcquirerException"
import { oneOf } from "../Statements.ts"

export const providerTables = [
  `-- Notifications of providers, each with its outcome. Partitioned by the month of receipt.
  CREATE TABLE notifications (
    id uuid NOT NULL,
    subject text NOT NULL, -- the charge, payout or settlement that it is about
    report json NOT NULL,
    outcome text NOT NULL ${oneOf("outcome", ["applied", "ignored", "unknown", "exception"])},
    received_at timestamptz NOT NULL,
    connection_id uuid -- null: the simulator's
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX notifications_of_subject ON notifications (subject)`,

  `-- Keys of the notifications that had an effect: each fact has one once.
  CREATE TABLE notification_keys (
    key text PRIMARY KEY,
    notification_id uuid NOT NULL -- or the id of the order whose return it is
  )`,

  `-- Returns and MEDs that wait for the payment of their Pix.
  CREATE TABLE early_reversals (
    id uuid PRIMARY KEY, -- of its notification, and of its exception
    connection_id uuid NOT NULL REFERENCES acquirer_connections,
    end_to_end_id text NOT NULL,
    is_taken boolean NOT NULL, -- a MED's return that exceptions gave: it waits for the account that accepts their rest
    notification json NOT NULL
  )`,
  `CREATE INDEX early_reversals_of_pix ON early_reversals (end_to_end_id, connection_id)`,

  `-- Orders to providers, stored before they are sent: refunds, cancellations, returns of exceptions, defenses.
  CREATE TABLE acquirer_orders (
    id uuid PRIMARY KEY,
    kind text NOT NULL ${oneOf("kind", ["refund", "cancel", "return", "defend"])},
    charge_id uuid,
    exception_id uuid,
    dispute_id uuid,
    account_id uuid,
    connection_id uuid, -- null: the simulator's
    end_to_end_id text, -- of the payment that is returned
    amount bigint NOT NULL CHECK (amount >= 0), -- cents
    pending bigint NOT NULL CHECK (pending >= 0 AND pending <= amount), -- cents of it that were not released yet
    returned bigint NOT NULL DEFAULT 0 CHECK (returned >= 0 AND returned <= amount), -- cents of it that the books have as returned
    state text NOT NULL ${oneOf("state", ["ordered", "done", "refused"])},
    attempts integer NOT NULL DEFAULT 1,
    due_at timestamptz, -- the next request to the provider
    requested_at timestamptz, -- the first request to the provider
    accepted_at timestamptz, -- the provider has it; a later refusal says nothing
    created_at timestamptz NOT NULL
  )`,
  `CREATE UNIQUE INDEX acquirer_orders_open ON acquirer_orders (charge_id) WHERE state = 'ordered'`,
  `CREATE UNIQUE INDEX acquirer_orders_of_exception ON acquirer_orders (exception_id) WHERE state = 'ordered'`,
  `CREATE UNIQUE INDEX acquirer_orders_of_dispute ON acquirer_orders (dispute_id) WHERE state = 'ordered'`,
  `CREATE INDEX acquirer_orders_due ON acquirer_orders (due_at) WHERE state = 'ordered' AND due_at IS NOT NULL`,
  `CREATE INDEX acquirer_orders_oldest ON acquirer_orders (created_at) WHERE state = 'ordered'`,
  `CREATE INDEX acquirer_orders_of_connection ON acquirer_orders (connection_id, kind, due_at)
    WHERE state = 'ordered' AND due_at IS NOT NULL`,
  `CREATE INDEX acquirer_orders_of_charge ON acquirer_orders (charge_id, id) WHERE charge_id IS NOT NULL`,

  `-- Money and notifications that fit nothing, for operators.
  CREATE TABLE acquirer_exceptions (
    id uuid PRIMARY KEY,
    connection_id uuid NOT NULL REFERENCES acquirer_connections, -- none is stored for a connection that has moved away
    kind text NOT NULL ${oneOf("kind", exceptionKinds)},
    status text NOT NULL ${oneOf("status", exceptionStatuses)},
    amount bigint NOT NULL CHECK (amount > 0 OR kind = 'unreadable'), -- cents
    expected_amount bigint, -- cents
    unallocated bigint NOT NULL, -- cents of it that are still in the connection's ledger account of that name
    end_to_end_id text,
    txid text,
    external_id text, -- the provider's id of the return or MED
    pix_key text,
    payer json,
    received text, -- what arrived, where it cannot be read
    occurred_at timestamptz NOT NULL,
    charge_id uuid,
    account_id uuid,
    payout_id uuid, -- the payout that came back, or whose outcome or amount it contradicts
    refund_id uuid, -- the refund, the order of an exception's return, or the MED of accepted money, whose outcome or amount it contradicts
    provider_outcome text ${oneOf("provider_outcome", ["completed", "failed"])}, -- what the provider says of it
    action text ${oneOf("action", exceptionActions)},
    reason text,
    failure_reason text,
    resolved_by text,
    resolved_at timestamptz,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX acquirer_exceptions_by_status ON acquirer_exceptions (status, id)`,
  `CREATE INDEX acquirer_exceptions_by_kind ON acquirer_exceptions (kind, id)`,
  `CREATE INDEX acquirer_exceptions_of_account ON acquirer_exceptions (account_id, status, id) WHERE account_id IS NOT NULL`,
  `CREATE INDEX acquirer_exceptions_of_charge ON acquirer_exceptions (charge_id) WHERE charge_id IS NOT NULL`,
  `CREATE INDEX acquirer_exceptions_of_payout ON acquirer_exceptions (payout_id) WHERE payout_id IS NOT NULL`,
  `CREATE INDEX acquirer_exceptions_of_external_id ON acquirer_exceptions (external_id) WHERE external_id IS NOT NULL`,
  `CREATE INDEX acquirer_exceptions_of_pix ON acquirer_exceptions (end_to_end_id) WHERE end_to_end_id IS NOT NULL`,
  // Those that are not in force are resolved without an action.
  `CREATE UNIQUE INDEX acquirer_exceptions_contradicting ON acquirer_exceptions (coalesce(payout_id, refund_id))
    WHERE kind = 'contradictory_outcome' AND (status = 'open' OR action IS NOT NULL)`,
  `CREATE INDEX acquirer_exceptions_of_txid ON acquirer_exceptions (txid) WHERE txid IS NOT NULL`,

  `-- Returns of exceptions' money that a provider has named. The transfers of each name it as their source.
  CREATE TABLE exception_returns (
    id uuid PRIMARY KEY,
    exception_id uuid NOT NULL,
    return_id text NOT NULL -- the provider's id of it
  )`,
  `CREATE INDEX exception_returns_of_return ON exception_returns (return_id)`,

  `-- Entries of providers' lists that cannot be read, or fail to be applied. They are read again.
  CREATE TABLE unreadable_entries (
    connection_id uuid NOT NULL,
    digest text NOT NULL, -- of what arrived
    list text NOT NULL ${oneOf("list", ["received", "returned", "payouts", "disputes"])},
    from_at timestamptz NOT NULL, -- the range of the list that has it
    to_at timestamptz NOT NULL,
    failures integer NOT NULL,
    exception_id uuid, -- null: it is not set aside
    read_at timestamptz NOT NULL,
    read_by text NOT NULL, -- the version of the service
    PRIMARY KEY (connection_id, digest)
  )`,

  `-- Charges that the simulated institution has accepted.
  CREATE TABLE simulator_charges (
    txid text PRIMARY KEY,
    accepted_at timestamptz NOT NULL
  )`,
  `-- Payouts that were sent to the simulated institution, and their outcomes.
  CREATE TABLE simulator_payouts (
    order_id uuid PRIMARY KEY,
    amount bigint NOT NULL, -- cents
    pix_key text NOT NULL,
    fails boolean NOT NULL,
    reason text,
    end_to_end_id text NOT NULL,
    due_at timestamptz
  )`,
  `-- Notifications that the simulated institution will send, or has sent.
  CREATE TABLE simulator_notifications (
    id uuid PRIMARY KEY,
    report json NOT NULL,
    due_at timestamptz NOT NULL,
    sent_at timestamptz
  )`,
  `CREATE INDEX simulator_notifications_due ON simulator_notifications (due_at) WHERE sent_at IS NULL`
]
