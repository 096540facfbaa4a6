/**
 * The privileges of the service's role, for each table. They apply where `MIGRATIONS_DATABASE_URL` names another role.
 *
 * Guarantees:
 * - The role owns no table, and creates and drops none.
 * - It deletes only rows of finished work, and updates no append-only table (the ledger, the history, the logs).
 * - It cannot read a table that is not listed. A test compares the list with the schema.
 * - Privileges that a later release granted stay as they are, because both releases run side by side.
 *
 * Why: docs/decisions/0018-least-privilege-role.md.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isOfLaterRelease } from "./Migrations.ts"

type Privilege = "SELECT" | "INSERT" | "UPDATE" | "DELETE"

const read: ReadonlyArray<Privilege> = ["SELECT"]
const append: ReadonlyArray<Privilege> = ["SELECT", "INSERT"]
const update: ReadonlyArray<Privilege> = ["SELECT", "INSERT", "UPDATE"]
/** For rows of pending work, which are deleted once it is done. */
const all: ReadonlyArray<Privilege> = ["SELECT", "INSERT", "UPDATE", "DELETE"]

export const privileges: Readonly<Record<string, ReadonlyArray<Privilege>>> = {
  effect_sql_migrations: read,
  installation: append,
  secrets_keys: all,
  installation_settings: ["SELECT", "UPDATE"],
  accounts: update,
  applications: update,
  api_keys: update,
  limits: update,
  caller_generation: ["SELECT", "UPDATE"],
  charges: update,
  idempotency_keys: append,
  charge_settlements: update,
  charge_states: all,
  charge_words: ["SELECT", "INSERT", "DELETE"],
  payout_words: append,
  charge_recoveries: all,
  receivers: append,
  payouts: update,
  disputes: update,
  dispute_messages: append,
  releases: update,
  ledger_accounts: update,
  ledger_transfers: append,
  closes: append,
  adjustments: append,
  changes: append,
  status_counts: all,
  status_counts_position: update,
  daily_volumes: update,
  hourly_volumes: update,
  deliveries: update,
  delivery_attempts: append,
  delivery_totals: all,
  webhook_endpoints: update,
  webhook_endpoint_health: update,
  webhook_endpoint_counters: update,
  webhook_endpoint_versions: all,
  outbox: all,
  outbox_failures: all,
  notifications: append,
  notification_keys: append,
  acquirer_orders: update,
  early_reversals: ["SELECT", "INSERT", "DELETE"],
  acquirer_connections: update,
  connection_keys: append,
  acquirer_exceptions: update,
  exception_returns: append,
  unreadable_entries: all,
  bank_statements: update,
  bank_statement_lines: update,
  reconciliations: update,
  reconciliation_lines: all,
  refunds: update,
  dispute_files: append,
  approvals: update,
  alert_channels: update,
  alerts: all,
  alert_messages: all,
  operators: update,
  operator_order_keys: all,
  operator_tokens: update,
  operator_sessions: update,
  operator_identities: append,
  requests: append,
  removed_partitions: read,
  audit: append,
  simulator_charges: append,
  simulator_payouts: update,
  simulator_notifications: update
}

/** Grants a role these privileges and revokes all others. It changes nothing where they are granted already. */
export const grantTo = Effect.fn("Privileges.grantTo")(function* (role: string) {
  const sql = yield* SqlClient
  const [self] = yield* sql<{ name: string }>`SELECT current_user AS name`
  // An owner keeps all its privileges.
  if (self?.name === role) return
  if (yield* isOfLaterRelease) return
  const granted = yield* sql<{ table: string; privilege: string }>`
    SELECT table_name::text AS table, privilege_type::text AS privilege FROM information_schema.role_table_grants
    WHERE grantee = ${role} AND table_schema = current_schema()`
  const present = yield* sql<{ name: string }>`
    SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()`
  const given = Object.entries(privileges).filter(([table]) => present.some(({ name }) => name === table))
  const has = granted.map(({ privilege, table }) => `${privilege} ${table}`)
  const wanted = given.flatMap(([table, list]) => list.map((privilege) => `${privilege} ${table}`))
  if (has.length === wanted.length && wanted.every((each) => has.includes(each))) return
  const to = `"${role.replaceAll('"', '""')}"`
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql.unsafe(
        `DO $$ BEGIN EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM ${to}', current_schema()); END $$`
      )
      yield* sql.unsafe(`DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO ${to}', current_schema()); END $$`)
      for (const [table, list] of given) {
        yield* sql.unsafe(`GRANT ${list.join(", ")} ON ${table} TO ${to}`)
      }
    })
  )
})
