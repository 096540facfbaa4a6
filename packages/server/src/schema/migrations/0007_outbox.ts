/**
 * The transactional outbox: state changes commit one narrow row, deliveries are inserted by a second step.
 *
 * Guarantees:
 * - no index contains text that a tenant wrote: destinations and normalised URLs are indexed by a digest of fixed width;
 * - triggers write the versions of an application's subscriptions, so that endpoints changed by the previous release
 *   have versions too.
 *
 * Why: `deliveries.destination_hash` is a column with a constant default, not a stored generated column, because that
 * would rewrite the table under an exclusive lock. Rows of the previous release share the default; their first claim
 * replaces it. A column of `webhook_endpoints` is filled by a trigger: that table is small and rarely written.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const NO_HASH = "'00000000-0000-0000-0000-000000000000'"
const CURRENT = "9223372036854775807"

const first = "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0"
const repeated = "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0"

const statements = [
  // Making an index of a large table takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  // The first 16 bytes of SHA-256; `textDigest` in Outbox.ts computes the same.
  `CREATE FUNCTION text_digest(text) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT encode(substr(sha256(convert_to($1, 'UTF8')), 1, 16), 'hex')::uuid $$`,

  // disabled_at: when an operator disabled the endpoint, which its tenant cannot undo.
  `ALTER TABLE webhook_endpoints
    ADD COLUMN destination_hash uuid NOT NULL DEFAULT ${NO_HASH},
    ADD COLUMN normalized_hash uuid NOT NULL DEFAULT ${NO_HASH},
    ADD COLUMN disabled_at timestamptz`,
  `UPDATE webhook_endpoints
    SET destination_hash = text_digest(destination), normalized_hash = text_digest(normalized_url)`,
  `CREATE FUNCTION webhook_endpoint_hashes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.destination_hash := text_digest(NEW.destination);
      NEW.normalized_hash := text_digest(NEW.normalized_url);
      RETURN NEW;
    END
  $$`,
  `CREATE TRIGGER webhook_endpoint_hashes BEFORE INSERT OR UPDATE ON webhook_endpoints
    FOR EACH ROW EXECUTE FUNCTION webhook_endpoint_hashes()`,

  // An account has a counter once it had an endpoint. live: how many endpoints it has.
  `CREATE TABLE webhook_endpoint_counters (
    account_id uuid PRIMARY KEY,
    version bigint NOT NULL,
    live integer NOT NULL
  )`,
  `INSERT INTO webhook_endpoint_counters (account_id, version, live)
    SELECT account_id, 1, count(*) FILTER (WHERE deleted_at IS NULL) FROM webhook_endpoints GROUP BY account_id`,
  // Who was subscribed to what, and under which URL, in the versions from_version to to_version - 1 of the account.
  // removable_from: a later transaction cannot have read a version that this one ended; see OutboxMaintenance.ts.
  `CREATE TABLE webhook_endpoint_versions (
    endpoint_id uuid NOT NULL,
    from_version bigint NOT NULL,
    to_version bigint NOT NULL DEFAULT ${CURRENT},
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    normalized_hash uuid NOT NULL,
    events text[] NOT NULL,
    ended_at timestamptz,
    removable_from xid8,
    PRIMARY KEY (endpoint_id, from_version)
  )`,
  `CREATE INDEX webhook_endpoint_versions_of_application ON webhook_endpoint_versions (application_id, to_version)`,
  `CREATE INDEX webhook_endpoint_versions_of_account ON webhook_endpoint_versions (account_id, to_version)`,
  `CREATE INDEX webhook_endpoint_versions_ended ON webhook_endpoint_versions (ended_at) WHERE ended_at IS NOT NULL`,
  `INSERT INTO webhook_endpoint_versions (endpoint_id, from_version, account_id, application_id, normalized_hash, events)
    SELECT id, 1, account_id, application_id, normalized_hash, events FROM webhook_endpoints WHERE deleted_at IS NULL`,
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
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER webhook_endpoint_version AFTER INSERT OR UPDATE ON webhook_endpoints
    FOR EACH ROW EXECUTE FUNCTION webhook_endpoint_version()`,

  // Changes whose deliveries are not inserted yet. The hashes are of the resource's own webhook_url, where it has one.
  `CREATE TABLE outbox (
    account_id uuid NOT NULL,
    change_id uuid NOT NULL,
    endpoints_version bigint NOT NULL,
    normalized_hash uuid,
    destination_hash uuid,
    PRIMARY KEY (account_id, change_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
  // What the fan-out set aside. retried_at: when an operator put the change back into the outbox.
  `CREATE TABLE outbox_failures (
    id uuid PRIMARY KEY,
    change_id uuid NOT NULL,
    endpoint_id uuid,
    account_id uuid NOT NULL,
    endpoints_version bigint NOT NULL,
    normalized_hash uuid,
    destination_hash uuid,
    error text NOT NULL,
    failures integer NOT NULL DEFAULT 1,
    first_failed_at timestamptz NOT NULL,
    last_failed_at timestamptz NOT NULL,
    retried_at timestamptz
  )`,
  `CREATE UNIQUE INDEX outbox_failures_of_change ON outbox_failures (change_id, endpoint_id) NULLS NOT DISTINCT`,
  `CREATE INDEX outbox_failures_of_account ON outbox_failures (account_id, endpoints_version)`,

  // application_id: whose delivery it is, for those parked with their application. reason: why it ended without success.
  `ALTER TABLE deliveries
    ADD COLUMN destination_hash uuid NOT NULL DEFAULT ${NO_HASH},
    ADD COLUMN application_id uuid,
    ADD COLUMN reason text`,
  `DROP INDEX deliveries_first`,
  `DROP INDEX deliveries_repeated`,
  `CREATE INDEX deliveries_first_places ON deliveries (account_id, destination_hash, due_at) WHERE ${first}`,
  `CREATE INDEX deliveries_repeated_places ON deliveries (account_id, destination_hash, due_at) WHERE ${repeated}`,
  `CREATE INDEX deliveries_parked ON deliveries ((coalesce(endpoint_id, application_id, account_id)), id)
    WHERE held_due_at IS NOT NULL`,
  // However few destinations the statistics have seen, what is due to one of them is read by its index.
  `ALTER TABLE deliveries ALTER COLUMN destination_hash SET (n_distinct = -0.01)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
