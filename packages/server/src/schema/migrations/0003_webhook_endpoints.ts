/**
 * Registered webhook endpoints, their health, and deliveries to them.
 *
 * First attempts and retries are read through an index each, so that no first attempt waits behind retries; both part
 * the destinations, so that one with a backlog is passed by.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `CREATE TABLE webhook_endpoints (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    application_id uuid NOT NULL,
    url text NOT NULL,
    normalized_url text NOT NULL,
    destination text NOT NULL,
    description text,
    events text[] NOT NULL,
    active boolean NOT NULL,
    secret text,
    created_at timestamptz NOT NULL,
    deleted_at timestamptz
  )`,
  `CREATE INDEX webhook_endpoints_of_application ON webhook_endpoints (application_id, id) WHERE deleted_at IS NULL`,
  `CREATE INDEX webhook_endpoints_of_account ON webhook_endpoints (account_id) WHERE deleted_at IS NULL`,

  // Apart from the endpoints, so that counting attempts locks nobody out of reading where they go.
  `CREATE TABLE webhook_endpoint_health (
    endpoint_id uuid PRIMARY KEY REFERENCES webhook_endpoints,
    consecutive_failures integer NOT NULL DEFAULT 0,
    successes bigint NOT NULL DEFAULT 0,
    failures bigint NOT NULL DEFAULT 0,
    last_success_at timestamptz,
    last_failure_at timestamptz
  )`,

  // held_due_at: where a paused endpoint's delivery waits, the time that it was due; due_at is then null.
  // destination: the origin of the URL, by which deliveries that share a receiver are counted.
  // curve_from: how many attempts were made before the curve began again, at a resend.
  `ALTER TABLE deliveries
    ADD COLUMN held_due_at timestamptz,
    ADD COLUMN destination text NOT NULL,
    ADD COLUMN curve_from integer NOT NULL DEFAULT 0`,
  `CREATE INDEX deliveries_held ON deliveries (endpoint_id) WHERE held_due_at IS NOT NULL`,
  `CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, id) WHERE endpoint_id IS NOT NULL`,
  `DROP INDEX deliveries_due`,
  `CREATE INDEX deliveries_first ON deliveries (destination, due_at)
    WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0`,
  `CREATE INDEX deliveries_repeated ON deliveries (destination, due_at)
    WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
