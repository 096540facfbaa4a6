/**
 * The database: a pool of connections to `DATABASE_URL`, or to an embedded PostgreSQL.
 *
 * Guarantees: a start waits for a server that is away; migrations have run before anybody gets a connection; a second
 * process waits for the first one's migrations; a statement or a lock is waited for five seconds at most; commits are durable.
 *
 * Statement plans are pinned to nested loops over indexes, for all that the service does by id: a statement
 * prepared on an empty table otherwise keeps a sequential scan for as long as its connection lives
 * (measured: four times the database's work), and are made once for a statement, not for each call of it. What an index
 * gives in order is not sorted group by group instead (`Seek`). Reports over whole tables lift the pins with
 * `withReportPlanner`.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Settings } from "../Settings.ts"
import { firstConnection } from "./FirstConnection.ts"
import * as Migrations from "./Migrations.ts"
import * as Privileges from "./Privileges.ts"
import { withWatchedListen } from "./WatchedListen.ts"

/** Where the data is, for the lines that a person reads at start. */
export class DatabaseLocation extends Context.Service<
  DatabaseLocation,
  {
    readonly url: Redacted.Redacted<string>
    /** Of the role that makes the schema, where it is not the service's own. */
    readonly migrationsUrl?: Redacted.Redacted<string> | undefined
    readonly embeddedIn: string | undefined
  }
>()("@pix-payments/server/DatabaseLocation") {
  static readonly layer = Layer.effect(
    DatabaseLocation,
    Effect.gen(function* () {
      const settings = yield* Settings
      if (Option.isSome(settings.databaseUrl)) {
        return DatabaseLocation.of({
          url: settings.databaseUrl.value,
          migrationsUrl: Option.getOrUndefined(settings.migrationsDatabaseUrl),
          embeddedIn: undefined
        })
      }
      const embedded = yield* EmbeddedPostgres.start({ dataDir: settings.dataDir, database: "payments" }).pipe(
        Effect.mapError(
          (error) =>
            new NoDatabase({
              message: error.explain({
                "another-folder": "set DATA_DIR to another folder",
                "another-server": "set DATABASE_URL to a PostgreSQL server of yours"
              })
            })
        )
      )
      return DatabaseLocation.of({ url: embedded.url, embeddedIn: embedded.dataDir })
    })
  )
}

/** The embedded PostgreSQL cannot start. */
export class NoDatabase extends Schema.TaggedError<NoDatabase>()("NoDatabase", { message: Schema.String }) {}

const client = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { url } = yield* DatabaseLocation
    return closedWithin(
      CLOSED_WITHIN_MS,
      PgClient.layer({
        url,
        applicationName: "pix-payments",
        maxConnections: settings.databaseConnections,
        connectTimeout: "3 seconds",
        keepAlive: "15 seconds",
        startupParameters: yield* firstConnection(url)
      })
    )
  })
)

/** A statement takes five seconds at most. What takes longer waits for a standby, and does so in the server too. */
const CLOSED_WITHIN_MS = 6000

/** The same layer; what it does at its end is waited for that long, and then left to itself. */
const closedWithin = <A, E, R>(ms: number, layer: Layer.Layer<A, E, R>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) =>
        Effect.gen(function* () {
          const closing = yield* Effect.forkDetach(Scope.close(scope, exit))
          const ended = yield* Effect.interruptible(Effect.timeoutOption(Fiber.await(closing), ms))
          if (Option.isSome(ended)) return
          yield* Effect.logWarning("Commits wait for a standby and are left to PostgreSQL: they may be done, or not.")
        })
      )
      return yield* Layer.buildWithScope(layer, scope)
    })
  )

/** Makes the schema, as the role of `MIGRATIONS_DATABASE_URL`, and lets the service's role do what it needs. */
const migrateAs = Effect.fnUntraced(
  function* (owner: Redacted.Redacted<string>, serviceRole: string) {
    const made = yield* Layer.build(
      PgClient.layer({
        url: owner,
        applicationName: "pix-payments migrations",
        maxConnections: 3,
        connectTimeout: "3 seconds"
      })
    )
    yield* Migrations.runWith(Privileges.grantTo(serviceRole)).pipe(Effect.provide(made))
  },
  Effect.scoped,
  Effect.mapError((error) =>
    isSqlError(error)
      ? new CannotMigrate({
          message: `the schema cannot be made with MIGRATIONS_DATABASE_URL (${String(error.reason.cause)}).`
        })
      : error
  )
)

/** The role that makes the schema cannot connect, or may not. */
export class CannotMigrate extends Schema.TaggedError<CannotMigrate>()("CannotMigrate", { message: Schema.String }) {}

const migrated = Effect.gen(function* () {
  const { migrationsUrl } = yield* DatabaseLocation
  if (migrationsUrl === undefined) return yield* Migrations.runOrCheck
  const sql = yield* SqlClient
  const [service] = yield* sql<{ name: string }>`SELECT current_user AS name`
  return yield* migrateAs(migrationsUrl, service?.name ?? "")
})

const watched = Layer.effectDiscard(Effect.map(PgClient.PgClient, (pool) => withWatchedListen(pool)))

/** The pool, migrated. */
export const layer = Layer.merge(Layer.effectDiscard(migrated), watched).pipe(Layer.provideMerge(client))

/** Runs a report that reads whole tables, in a transaction of its own with the planner left free. */
export const withReportPlanner = <A, E, R>(report: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient, (sql) =>
    sql.withTransaction(
      Effect.andThen(
        sql`SELECT set_config('enable_seqscan', 'on', true), set_config('enable_hashjoin', 'on', true),
          set_config('enable_mergejoin', 'on', true), set_config('enable_incremental_sort', 'on', true),
          set_config('plan_cache_mode', 'auto', true),
          set_config('statement_timeout', '60s', true)`,
        report
      )
    )
  )
