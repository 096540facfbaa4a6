/**
 * The migrations of the schema, in order.
 *
 * Guarantees:
 * - A new schema is made in one transaction, and each pending migration has its own, under an advisory lock that a second process
 *   waits for. One that does not get its locks gives way to what uses the tables, and changes nothing.
 * - A database with another baseline was made before the first release, and is refused before anything changes.
 * - Partitions are made afterwards. Where that fails, the service starts and works, and the next start or maintenance repeats it.
 * - Ids have no gaps (a test checks it). A migration with an id below the newest applied one would never run.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { describeCause } from "../base/observability/SafeCause.ts"
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE, sqlStateOf } from "../database/SqlState.ts"
import { BASELINE, baseline, baselineDigest } from "./Baseline.ts"
import { exclusively } from "../database/AdvisoryLocks.ts"
import { prepare } from "./partitions/Partitions.ts"

/** By their names, in order. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, SqlError, SqlClient>>>

/** The migrations of this release. */
export const migrations: Migrations = { "0001_baseline": baseline }

/** The database server is too old. */
export class DatabaseTooOld extends Schema.TaggedError<DatabaseTooOld>()("DatabaseTooOld", {
  message: Schema.String
}) {}

/** The database was made by an earlier commit. */
export class AnotherBaseline extends Schema.TaggedError<AnotherBaseline>()("AnotherBaseline", {
  message: Schema.String
}) {}

/** A migration did not get its locks in time. It changed nothing; those before it stay. */
export class TablesInUse extends Schema.TaggedError<TablesInUse>()("TablesInUse", { message: Schema.String }) {}

const TABLES_IN_USE =
  "The schema was not migrated to its end: other transactions use the tables, such as a dump or a report. " +
  "End it (pg_stat_activity shows it) and repeat."

const ANOTHER_BASELINE =
  "The database of DATABASE_URL was made by an earlier commit, from before the first release, which no upgrade leads from. " +
  "Use a new database. For the embedded one, remove the folder of DATA_DIR (.data)."

/** Runs pending migrations, then `after`, then prepares the partitions, all under the lock. Returns the names of the applied ones. */
export const runWith = Effect.fnUntraced(
  function* <E, R>(after: Effect.Effect<unknown, E, R>, ofRelease: Migrations = migrations) {
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
    const applied = yield* applyPending(ofRelease)
    // Before the partitions, which may take minutes: servers without these privileges start meanwhile.
    yield* after
    if (!(yield* isOfLaterRelease)) yield* exclusively(connection, preparePartitions)
    return applied
  },
  (effect) => Effect.scoped(effect)
)

/**
 * Each migration in a transaction of its own, so that none waits for a table while it has locked those of the ones before:
 * the service would deadlock with it.
 */
const applyPending = Effect.fnUntraced(function* (ofRelease: Migrations) {
  const names = Object.keys(ofRelease)
  const count = yield* Effect.orElseSucceed(appliedCount, () => 0)
  if (count > 0) yield* requireBaseline
  const applied = yield* Effect.forEach(names.slice(count), (_, at) => applyUntil(ofRelease, count + at + 1))
  return applied.flat().map(([, name]) => name)
})

/** Applies the pending ones of the first `count` migrations. One that deadlocks with the service is repeated. */
const applyUntil = (ofRelease: Migrations, count: number) =>
  Migrator.make({})({
    loader: Migrator.fromRecord(Object.fromEntries(Object.entries(ofRelease).slice(0, count)))
  }).pipe(
    Effect.retry({ times: 5, while: ({ cause }) => isOf(DEADLOCK_DETECTED, cause) }),
    Effect.catchIf(
      ({ cause }) => isOf(LOCK_NOT_AVAILABLE, cause) || isOf(DEADLOCK_DETECTED, cause),
      () => new TablesInUse({ message: TABLES_IN_USE })
    )
  )

const isOf = (code: string, cause: unknown): boolean => isSqlError(cause) && sqlStateOf(cause) === code

const requireBaseline = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ value: string }>`SELECT value FROM installation WHERE name = ${BASELINE}`
  if (row?.value !== baselineDigest) return yield* new AnotherBaseline({ message: ANOTHER_BASELINE })
})

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
  if (yield* Effect.orElseSucceed(areApplied, () => false)) return yield* requireBaseline
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
