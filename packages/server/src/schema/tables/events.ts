/** Tables of events, webhook endpoints and deliveries. */
import { FAILURES_IN_A_ROW } from "@pix-payments/domain/Alert"
import { oneOf } from "../Statements.ts"

/** The `to_version` of what holds now. */
const CURRENT = "9223372036854775807"

const firstDue = "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0"
const retryDue = "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0"

export const eventTables = [
  `-- State changes, each with the events that it is. Rows are inserted, never changed. Partitioned by the month of the change.
  CREATE TABLE changes (
    id uuid NOT NULL,
    resource_id uuid NOT NULL,
    account_id uuid NOT NULL,
    application_id uuid,
    kind text NOT NULL, -- the first two parts of the names of its events
    actions text[] NOT NULL, -- the third parts
    status text NOT NULL,
    sequence integer NOT NULL,
    data text NOT NULL, -- JSON: the resource after the change, or of a charge what the change changed
    created_at timestamptz NOT NULL,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id() -- the order of the event stream
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX changes_of_resource ON changes (resource_id, sequence)`,
  // A stream of one account reads past the others' changes in the index, without their rows.
  `CREATE INDEX changes_in_commit_order ON changes (transaction_id, id) INCLUDE (account_id)`,
  // One row for each event, for people who look.
  `CREATE VIEW events AS
    SELECT c.id AS change_id, c.resource_id, c.account_id, c.application_id, c.kind || '.' || a.action AS name, c.status,
      c.sequence, c.data, c.created_at
    FROM changes c CROSS JOIN LATERAL unnest(c.actions) AS a(action)`,

  // The first 16 bytes of SHA-256; textDigest in events/Outbox.ts computes the same.
  `CREATE FUNCTION text_digest(text) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT encode(substr(sha256(convert_to($1, 'UTF8')), 1, 16), 'hex')::uuid $$`,

  `-- Registered webhook endpoints.
  CREATE TABLE webhook_endpoints (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    url text NOT NULL,
    normalized_url text NOT NULL, -- equal addresses have the same one
    normalized_hash uuid NOT NULL GENERATED ALWAYS AS (text_digest(normalized_url)) STORED,
    destination text NOT NULL, -- the origin of the URL
    destination_hash uuid NOT NULL GENERATED ALWAYS AS (text_digest(destination)) STORED,
    description text,
    events text[] NOT NULL,
    active boolean NOT NULL,
    secret text, -- sealed
    created_at timestamptz NOT NULL,
    deleted_at timestamptz,
    disabled_at timestamptz -- when an operator disabled it, which its tenant cannot undo
  )`,
  `CREATE INDEX webhook_endpoints_list ON webhook_endpoints (id) WHERE deleted_at IS NULL`,
  `CREATE INDEX webhook_endpoints_of_account ON webhook_endpoints (account_id, id) WHERE deleted_at IS NULL`,
  `CREATE INDEX webhook_endpoints_of_application ON webhook_endpoints (application_id, id)`,

  // Apart from the endpoints, so that counting attempts locks nobody out of reading where they go.
  `-- Attempts of each endpoint, counted.
  CREATE TABLE webhook_endpoint_health (
    endpoint_id uuid PRIMARY KEY REFERENCES webhook_endpoints,
    consecutive_failures integer NOT NULL DEFAULT 0,
    successes bigint NOT NULL DEFAULT 0,
    failures bigint NOT NULL DEFAULT 0,
    last_success_at timestamptz,
    last_failure_at timestamptz
  )`,
  `CREATE INDEX webhook_endpoint_health_failing ON webhook_endpoint_health (endpoint_id) WHERE consecutive_failures > 0`,
  // Writes nothing for an endpoint that works. A failed attempt changes the index above anyway.
  `CREATE INDEX webhook_endpoint_health_alerts ON webhook_endpoint_health (last_failure_at)
    WHERE consecutive_failures >= ${FAILURES_IN_A_ROW}`,

  `-- The version of an account's endpoints, which a change records.
  CREATE TABLE webhook_endpoint_counters (
    account_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    live integer NOT NULL, -- how many endpoints it has
    events text[] NOT NULL DEFAULT '{}' -- what any of them subscribes to
  )`,
  `-- Who was subscribed to what in the versions from_version to to_version - 1 of an account.
  CREATE TABLE webhook_endpoint_versions (
    endpoint_id uuid NOT NULL,
    from_version bigint NOT NULL,
    to_version bigint NOT NULL DEFAULT ${CURRENT},
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    normalized_hash uuid NOT NULL,
    events text[] NOT NULL,
    ended_at timestamptz,
    removable_from xid8, -- no later transaction can have read a version that this one ended
    PRIMARY KEY (endpoint_id, from_version)
  )`,
  `CREATE INDEX webhook_endpoint_versions_of_application ON webhook_endpoint_versions (application_id, to_version)`,
  `CREATE INDEX webhook_endpoint_versions_of_account ON webhook_endpoint_versions (account_id, to_version)`,
  `CREATE INDEX webhook_endpoint_versions_ended ON webhook_endpoint_versions (ended_at) WHERE ended_at IS NOT NULL`,
  `CREATE FUNCTION webhook_endpoint_version() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      was boolean := TG_OP = 'UPDATE' AND OLD.deleted_at IS NULL;
      is_now boolean := NEW.deleted_at IS NULL;
      next bigint;
    BEGIN
      IF NOT was AND NOT is_now THEN
        RETURN NULL;
      END IF;
      IF was AND is_now AND OLD.normalized_hash = NEW.normalized_hash AND OLD.events = NEW.events THEN
        RETURN NULL;
      END IF;
      INSERT INTO webhook_endpoint_counters AS c (account_id, version, live) VALUES (NEW.account_id, 1, 1)
        ON CONFLICT (account_id) DO UPDATE
          SET version = c.version + 1, live = c.live + is_now::integer - was::integer
        RETURNING version INTO next;
      IF was THEN
        UPDATE webhook_endpoint_versions SET to_version = next, ended_at = now()
          WHERE endpoint_id = NEW.id AND to_version = ${CURRENT};
      END IF;
      IF is_now THEN
        INSERT INTO webhook_endpoint_versions (endpoint_id, from_version, account_id, application_id, normalized_hash,
          events)
        VALUES (NEW.id, next, NEW.account_id, NEW.application_id, NEW.normalized_hash, NEW.events);
      END IF;
      UPDATE webhook_endpoint_counters SET events = ARRAY(
        SELECT DISTINCT e.event FROM webhook_endpoint_versions v CROSS JOIN LATERAL unnest(v.events) AS e(event)
        WHERE v.account_id = NEW.account_id AND v.to_version = ${CURRENT} ORDER BY 1
      ) WHERE account_id = NEW.account_id;
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER webhook_endpoint_version AFTER INSERT OR UPDATE ON webhook_endpoints
    FOR EACH ROW EXECUTE FUNCTION webhook_endpoint_version()`,

  `-- Changes whose deliveries are not all stored yet.
  CREATE TABLE outbox (
    account_id uuid NOT NULL,
    change_id uuid NOT NULL,
    endpoints_version bigint NOT NULL, -- of the account, when the change was committed
    normalized_hash uuid, -- of the resource's webhook_url, where it has one
    destination_hash uuid, -- of the same
    leased_until timestamptz, -- its first deliveries are being sent; a past one: they may have been sent
    PRIMARY KEY (account_id, change_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
  `-- Changes whose deliveries could not be made, for operators.
  CREATE TABLE outbox_failures (
    id uuid PRIMARY KEY,
    change_id uuid NOT NULL,
    endpoint_id uuid, -- null: all endpoints
    account_id uuid NOT NULL,
    endpoints_version bigint NOT NULL,
    normalized_hash uuid,
    destination_hash uuid,
    error text NOT NULL,
    failures integer NOT NULL DEFAULT 1,
    first_failed_at timestamptz NOT NULL,
    last_failed_at timestamptz NOT NULL,
    retried_at timestamptz -- when an operator put the change back into the outbox
  )`,
  `CREATE UNIQUE INDEX outbox_failures_of_change ON outbox_failures (change_id, endpoint_id) NULLS NOT DISTINCT`,
  `CREATE INDEX outbox_failures_of_account ON outbox_failures (account_id, endpoints_version)`,
  `CREATE INDEX outbox_failures_unretried ON outbox_failures (id) WHERE retried_at IS NULL`,

  `-- Deliveries of events. Partitioned by the month of creation.
  CREATE TABLE deliveries (
    id uuid NOT NULL,
    change_id uuid NOT NULL,
    event text NOT NULL,
    resource_id uuid NOT NULL,
    account_id uuid NOT NULL,
    application_id uuid,
    endpoint_id uuid, -- null: it goes to the resource's webhook_url
    url text NOT NULL,
    secret text, -- sealed
    destination text NOT NULL, -- the origin of the URL
    destination_hash uuid NOT NULL,
    status text NOT NULL ${oneOf("status", ["scheduled", "delivering", "delivered", "failed", "canceled"])},
    attempts_made integer NOT NULL DEFAULT 0,
    curve_from integer NOT NULL DEFAULT 0, -- attempts before a resend began the retry delays again
    due_at timestamptz, -- the next attempt; while delivering, the end of the lease
    paused_due_at timestamptz, -- when it was due before it was paused; due_at is then null
    reason text, -- why it ended without success
    created_at timestamptz NOT NULL,
    first_attempt_at timestamptz, -- a first attempt that succeeds is stored here
    first_duration_ms integer,
    first_status_code smallint,
    first_address text,
    first_response_body text
  ) PARTITION BY RANGE (id)`,
  // However few destinations the statistics have seen, what is due to one of them is read by its index.
  `ALTER TABLE deliveries ALTER COLUMN destination SET (n_distinct_inherited = -0.01),
    ALTER COLUMN destination_hash SET (n_distinct_inherited = -0.01)`,
  `CREATE INDEX deliveries_of_resource ON deliveries (resource_id, id)`,
  `CREATE INDEX deliveries_of_event ON deliveries (endpoint_id, event, status, id) WHERE endpoint_id IS NOT NULL`,
  `CREATE INDEX deliveries_of_no_endpoint ON deliveries (event, status, id) WHERE endpoint_id IS NULL`,
  `CREATE INDEX deliveries_of_account ON deliveries (account_id, event, status, id) WHERE endpoint_id IS NULL`,
  `CREATE INDEX deliveries_ended ON deliveries (status, event, id) WHERE status IN ('failed', 'canceled')`,
  `CREATE INDEX deliveries_failed ON deliveries (endpoint_id, id) WHERE status = 'failed'`,
  // In the order of due times, for claims; first attempts and retries apart, so that neither waits for the other.
  `CREATE INDEX deliveries_first_due ON deliveries (due_at, id) WHERE ${firstDue}`,
  `CREATE INDEX deliveries_repeated_due ON deliveries (due_at, id) WHERE ${retryDue}`,
  `CREATE INDEX deliveries_first_places ON deliveries (account_id, destination_hash, due_at) WHERE ${firstDue}`,
  `CREATE INDEX deliveries_repeated_places ON deliveries (account_id, destination_hash, due_at) WHERE ${retryDue}`,
  `CREATE INDEX deliveries_paused_of_endpoint ON deliveries (endpoint_id) WHERE paused_due_at IS NOT NULL`,
  `CREATE INDEX deliveries_paused ON deliveries ((coalesce(endpoint_id, application_id, account_id)), id)
    WHERE paused_due_at IS NOT NULL`,

  `-- Attempts, except a first one that succeeds. Partitioned by the month of the attempt.
  CREATE TABLE delivery_attempts (
    id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    address text, -- to which the connection went
    status_code integer,
    error text,
    response_body text -- 1 KiB at most
  ) PARTITION BY RANGE (id)`,
  `CREATE INDEX delivery_attempts_of_delivery ON delivery_attempts (delivery_id, id)`,
  `-- Attempts of each account and day, counted.
  CREATE TABLE delivery_totals (
    account_id uuid NOT NULL,
    date date NOT NULL,
    attempts bigint NOT NULL,
    successes bigint NOT NULL,
    PRIMARY KEY (account_id, date)
  ) WITH (fillfactor = 50)`
]
