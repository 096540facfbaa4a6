/**
 * The migrations of the schema, in order.
 *
 * Guarantees:
 * - A new schema is made in one transaction, and each pending migration of an older one has its own, under an advisory lock
 *   that a second process waits for.
 * - A pending migration cancels the rebuild of an index, which a later round of the maintenance repeats.
 * - Large tables are partitioned afterwards: a constraint is validated, which reads the table and stops no writer, and
 *   a short transaction swaps the tables. Where that fails, the service starts and works, and the next start or
 *   maintenance repeats it.
 * - Ids have no gaps (a test checks it). A migration with an id below the newest applied one would never run.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { isSqlError } from "effect/sql/SqlError"
import { describeCause } from "../base/observability/SafeCause.ts"
import foundation from "./migrations/0001_foundation.ts"
import money from "./migrations/0002_money.ts"
import webhookEndpoints from "./migrations/0003_webhook_endpoints.ts"
import chargeRecoveries from "./migrations/0004_charge_recoveries.ts"
import deliveriesByDueTime from "./migrations/0005_deliveries_by_due_time.ts"
import ledgerPerAccount from "./migrations/0006_ledger_per_account.ts"
import outbox from "./migrations/0007_outbox.ts"
import acquirerNotifications from "./migrations/0008_acquirer_notifications.ts"
import listIndexes from "./migrations/0009_list_indexes.ts"
import acquirerConnections from "./migrations/0010_acquirer_connections.ts"
import eventStream from "./migrations/0011_event_stream.ts"
import operators from "./migrations/0012_operators.ts"
import accountIndexes from "./migrations/0013_account_indexes.ts"
import installation from "./migrations/0014_installation.ts"
import approvals from "./migrations/0015_approvals.ts"
import identityProviders from "./migrations/0016_identity_providers.ts"
import ledgerCheckpoints from "./migrations/0017_ledger_checkpoints.ts"
import keyTables from "./migrations/0018_key_tables.ts"
import partitions from "./migrations/0019_partitions.ts"
import connectionBrakes from "./migrations/0020_connection_brakes.ts"
import statistics from "./migrations/0021_statistics.ts"
import boundedReads from "./migrations/0022_bounded_reads.ts"
import auditByAction from "./migrations/0023_audit_by_action.ts"
import eventData from "./migrations/0024_event_data.ts"
import fillFactors from "./migrations/0025_fill_factors.ts"
import firstAttempts from "./migrations/0026_first_attempts.ts"
import deliveryTotals from "./migrations/0027_delivery_totals.ts"
import requestIds from "./migrations/0028_request_ids.ts"
import receivers from "./migrations/0029_receivers.ts"
import leasedChanges from "./migrations/0030_leased_changes.ts"
import fillFactorOfCharges from "./migrations/0031_fill_factor_of_charges.ts"
import subscribedEvents from "./migrations/0032_subscribed_events.ts"
import subscribedEventsFilled from "./migrations/0033_subscribed_events_filled.ts"
import chargeStates from "./migrations/0034_charge_states.ts"
import settlementClaims from "./migrations/0035_settlement_claims.ts"
import brCodeTemplates from "./migrations/0036_br_code_templates.ts"
import recoveryRanges from "./migrations/0037_recovery_ranges.ts"
import waitingCharges from "./migrations/0038_waiting_charges.ts"
import earlyReversals from "./migrations/0039_early_reversals.ts"
import { exclusively, withoutRebuild } from "./partitions/MaintenanceLock.ts"
import { prepare } from "./partitions/Partitions.ts"
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE, sqlStateOf } from "../database/SqlState.ts"

export const migrations = {
  "0001_foundation": foundation,
  "0002_money": money,
  "0003_webhook_endpoints": webhookEndpoints,
  "0004_charge_recoveries": chargeRecoveries,
  "0005_deliveries_by_due_time": deliveriesByDueTime,
  "0006_ledger_per_account": ledgerPerAccount,
  "0007_outbox": outbox,
  "0008_acquirer_notifications": acquirerNotifications,
  "0009_list_indexes": listIndexes,
  "0010_acquirer_connections": acquirerConnections,
  "0011_event_stream": eventStream,
  "0012_operators": operators,
  "0013_account_indexes": accountIndexes,
  "0014_installation": installation,
  "0015_approvals": approvals,
  "0016_identity_providers": identityProviders,
  "0017_ledger_checkpoints": ledgerCheckpoints,
  "0018_key_tables": keyTables,
  "0019_partitions": partitions,
  "0020_connection_brakes": connectionBrakes,
  "0021_statistics": statistics,
  "0022_bounded_reads": boundedReads,
  "0023_audit_by_action": auditByAction,
  "0024_event_data": eventData,
  "0025_fill_factors": fillFactors,
  "0026_first_attempts": firstAttempts,
  "0027_delivery_totals": deliveryTotals,
  "0028_request_ids": requestIds,
  "0029_receivers": receivers,
  "0030_leased_changes": leasedChanges,
  "0031_fill_factor_of_charges": fillFactorOfCharges,
  "0032_subscribed_events": subscribedEvents,
  "0033_subscribed_events_filled": subscribedEventsFilled,
  "0034_charge_states": chargeStates,
  "0035_settlement_claims": settlementClaims,
  "0036_br_code_templates": brCodeTemplates,
  "0037_recovery_ranges": recoveryRanges,
  "0038_waiting_charges": waitingCharges,
  "0039_early_reversals": earlyReversals
}

/** The database server is too old. */
export class DatabaseTooOld extends Schema.TaggedError<DatabaseTooOld>()("DatabaseTooOld", {
  message: Schema.String
}) {}

/** A migration did not get its locks in time. It changed nothing; those before it stay. */
export class TablesInUse extends Schema.TaggedError<TablesInUse>()("TablesInUse", { message: Schema.String }) {}

const TABLES_IN_USE =
  "The schema was not migrated to its end: other transactions use the tables, such as a dump or a report. " +
  "End it (pg_stat_activity shows it) and repeat."

/** Runs pending migrations, then `after`, then prepares the partitions, all under the lock. */
export const runWith = Effect.fnUntraced(
  function* <E, R>(after: Effect.Effect<unknown, E, R>) {
    const sql = yield* SqlClient
    const [server] = yield* sql<{ version: string }>`SELECT current_setting('server_version_num') AS version`
    if (Number(server?.version) < OLDEST_SERVER) {
      return yield* new DatabaseTooOld({ message: "The database of DATABASE_URL is not PostgreSQL 18 or later." })
    }
    const connection = yield* sql.reserve
    // Another process's migrations may take longer than `statement_timeout`.
    yield* connection.executeRaw("SET statement_timeout = 0", [])
    yield* connection.executeRaw("SET lock_timeout = 0", [])
    yield* connection.executeRaw("SELECT pg_advisory_lock($1)", [MIGRATION_LOCK])
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* connection.executeRaw("SELECT pg_advisory_unlock($1)", [MIGRATION_LOCK])
        yield* connection.executeRaw("RESET statement_timeout", [])
        yield* connection.executeRaw("RESET lock_timeout", [])
      }).pipe(Effect.ignore)
    )
    const applied = yield* Effect.catchIf(
      applyPending(connection),
      ({ cause }) => isOf(LOCK_NOT_AVAILABLE, cause) || isOf(DEADLOCK_DETECTED, cause),
      () => new TablesInUse({ message: TABLES_IN_USE })
    )
    // Before the partitions, which may take minutes: servers without these privileges start meanwhile.
    yield* after
    if (!(yield* isOfLaterRelease)) yield* exclusively(connection, preparePartitions)
    return applied
  },
  (effect) => Effect.scoped(effect)
)

/**
 * Each migration in a transaction of its own, so that none waits for a table while it has locked those of the ones before:
 * the service would deadlock with it. A new schema is made at once.
 */
const applyPending = Effect.fnUntraced(function* (connection: Connection) {
  const names = Object.keys(migrations)
  const count = yield* Effect.orElseSucceed(appliedCount, () => 0)
  if (count === 0) return yield* applyUntil(names.length)
  const pending = names.slice(count)
  if (pending.length === 0) return []
  const applied = yield* withoutRebuild(
    connection,
    Effect.forEach(pending, (_, at) => applyUntil(count + at + 1))
  )
  return applied.flat()
})

/** Applies the pending ones of the first `count` migrations. One that deadlocks with the service is repeated. */
const applyUntil = (count: number) =>
  Effect.retry(
    Migrator.make({})({ loader: Migrator.fromRecord(Object.fromEntries(Object.entries(migrations).slice(0, count))) }),
    { times: 5, while: ({ cause }) => isOf(DEADLOCK_DETECTED, cause) }
  )

const isOf = (code: string, cause: unknown): boolean => isSqlError(cause) && sqlStateOf(cause) === code

const preparePartitions = Effect.catchCause(prepare, (cause) =>
  Effect.logWarning("the partitions could not be made; the next start or maintenance repeats it", describeCause(cause))
)

/** Runs pending migrations. */
export const run = runWith(Effect.void)

/** The schema is missing or older than this release, and the role may not change it. */
export class SchemaOutdated extends Schema.TaggedError<SchemaOutdated>()("SchemaOutdated", {
  message: Schema.String
}) {}

/** Runs pending migrations where the role may create tables. Otherwise it fails unless all have run. */
export const runOrCheck = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [role] = yield* sql<{ may: boolean }>`
    SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may`
  if (role?.may === true) return yield* Effect.asVoid(run)
  if (yield* Effect.orElseSucceed(areApplied, () => false)) return
  return yield* new SchemaOutdated({
    message:
      "The schema of DATABASE_URL is older than this release, and its role may not change it. " +
      "Run `pnpm run migrate` with MIGRATIONS_DATABASE_URL, or start with it set."
  })
})

const appliedCount = Effect.map(
  Effect.flatMap(SqlClient, (sql) => sql<{ count: bigint }>`SELECT count(*) AS count FROM effect_sql_migrations`),
  ([row]) => Number(row?.count ?? 0)
)

/** How many more migrations have been applied than this release has. */
const appliedAhead = Effect.map(appliedCount, (count) => count - Object.keys(migrations).length)

/** True when every migration of this release has been applied. */
export const areApplied = Effect.map(appliedAhead, (ahead) => ahead >= 0)

/** True when migrations of a later release have been applied too. */
export const isOfLaterRelease = Effect.map(appliedAhead, (ahead) => ahead > 0)

// The first version with uuidv7().
const OLDEST_SERVER = 180_000

// "pix" in ASCII.
const MIGRATION_LOCK = 7_366_008
