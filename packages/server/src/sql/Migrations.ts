/**
 * The steps that make the schema, in order.
 *
 * Guarantees: all pending steps are one transaction, under an advisory lock that a second process waits for.
 * Ids have no gaps, which a test checks: a step with an id below the newest applied one would never run.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import foundation from "./migrations/0001_foundation.ts"
import money from "./migrations/0002_money.ts"
import webhookEndpoints from "./migrations/0003_webhook_endpoints.ts"
import chargeRecoveries from "./migrations/0004_charge_recoveries.ts"
import deliveriesByDueTime from "./migrations/0005_deliveries_by_due_time.ts"
import ledgerPerAccount from "./migrations/0006_ledger_per_account.ts"
import outbox from "./migrations/0007_outbox.ts"
import acquirerNotifications from "./migrations/0008_acquirer_notifications.ts"
import listIndexes from "./migrations/0009_list_indexes.ts"

export const migrations = {
  "0001_foundation": foundation,
  "0002_money": money,
  "0003_webhook_endpoints": webhookEndpoints,
  "0004_charge_recoveries": chargeRecoveries,
  "0005_deliveries_by_due_time": deliveriesByDueTime,
  "0006_ledger_per_account": ledgerPerAccount,
  "0007_outbox": outbox,
  "0008_acquirer_notifications": acquirerNotifications,
  "0009_list_indexes": listIndexes
}

/** The database server is too old. */
export class DatabaseTooOld extends Schema.TaggedError<DatabaseTooOld>()("DatabaseTooOld", {
  message: Schema.String
}) {}

/** Brings the schema up to date, and does `after` before another process's turn comes. */
export const runWith = Effect.fnUntraced(
  function* <E, R>(after: Effect.Effect<unknown, E, R>) {
    const sql = yield* SqlClient
    const [server] = yield* sql<{ version: string }>`SELECT current_setting('server_version_num') AS version`
    if (Number(server?.version) < OLDEST_SERVER) {
      return yield* new DatabaseTooOld({ message: "The database of DATABASE_URL is not PostgreSQL 18 or later." })
    }
    const connection = yield* sql.reserve
    // Waiting for another process's migrations may take longer than a statement otherwise may.
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
    const applied = yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations) })
    yield* after
    return applied
  },
  (effect) => Effect.scoped(effect)
)

/** Brings the schema up to date. */
export const run = runWith(Effect.void)

/** The schema is not there, or is that of an earlier release, and this role may not change it. */
export class SchemaBehind extends Schema.TaggedError<SchemaBehind>()("SchemaBehind", { message: Schema.String }) {}

/** Brings the schema up to date where the role may; where it may not, somebody else must have. */
export const runOrCheck = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [role] = yield* sql<{ may: boolean }>`
    SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may`
  if (role?.may === true) return yield* Effect.asVoid(run)
  if (yield* Effect.orElseSucceed(areApplied, () => false)) return
  return yield* new SchemaBehind({
    message:
      "The schema of the database of DATABASE_URL is older than this release, and its role may not change it. " +
      "Run `pnpm run migrate` with MIGRATIONS_DATABASE_URL, or set that."
  })
})

/** How many more steps have been applied than this release knows. */
const stepsAhead = Effect.map(
  Effect.flatMap(SqlClient, (sql) => sql<{ count: bigint }>`SELECT count(*) AS count FROM effect_sql_migrations`),
  ([row]) => Number(row?.count ?? 0) - Object.keys(migrations).length
)

/** True when every step of this release has been applied. */
export const areApplied = Effect.map(stepsAhead, (ahead) => ahead >= 0)

/** True when steps of a later release have been applied as well. */
export const isOfLaterRelease = Effect.map(stepsAhead, (ahead) => ahead > 0)

// uuidv7() is the server's own since then.
const OLDEST_SERVER = 180_000

// "pix" in ASCII, as a number of this service's own.
const MIGRATION_LOCK = 7_366_008
