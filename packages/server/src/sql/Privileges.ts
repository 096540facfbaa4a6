/**
 * What the role of the running service may do, table by table.
 *
 * Guarantees: it owns nothing, makes and drops nothing, deletes nothing but notes on work that is done; what is only
 * ever added to (the ledger, the history, the logs) it cannot change; what is not named here it does not see. A test
 * holds this list against the schema, so that a new table needs a line. Where a later release has made the schema, its
 * privileges stay as they are: it runs beside this one.
 *
 * The service runs with it when migrations are made by another role: `MIGRATIONS_DATABASE_URL`.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isOfLaterRelease } from "./Migrations.ts"

type Privilege = "SELECT" | "INSERT" | "UPDATE" | "DELETE"

const read: ReadonlyArray<Privilege> = ["SELECT"]
const append: ReadonlyArray<Privilege> = ["SELECT", "INSERT"]
const keep: ReadonlyArray<Privilege> = ["SELECT", "INSERT", "UPDATE"]
/** Of notes on work that is due, which are crossed out once it is done. */
const note: ReadonlyArray<Privilege> = ["SELECT", "INSERT", "UPDATE", "DELETE"]

export const privileges: Readonly<Record<string, ReadonlyArray<Privilege>>> = {
  effect_sql_migrations: read,
  installation: append,
  accounts: keep,
  applications: keep,
  api_keys: keep,
  charges: keep,
  charge_recoveries: note,
  payouts: keep,
  disputes: keep,
  dispute_messages: append,
  releases: keep,
  ledger_accounts: keep,
  ledger_transfers: append,
  changes: append,
  deliveries: keep,
  delivery_attempts: append,
  webhook_endpoints: keep,
  webhook_endpoint_health: keep,
  webhook_endpoint_counters: keep,
  webhook_endpoint_versions: note,
  outbox: note,
  outbox_failures: note,
  acquirer_reports: append,
  acquirer_notifications: append,
  acquirer_orders: keep,
  deferred_reports: note,
  requests: append,
  audit: append,
  simulator_charges: append,
  simulator_payouts: keep,
  simulator_reports: keep
}

/** Gives a role these privileges, and takes all others; changes nothing where they are so already. */
export const grantTo = Effect.fn("Privileges.grantTo")(function* (role: string) {
  const sql = yield* SqlClient
  const [self] = yield* sql<{ name: string }>`SELECT current_user AS name`
  // An owner takes nothing from itself.
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
