/**
 * The connection pool, to `DATABASE_URL` or to an embedded PostgreSQL.
 *
 * Guarantees:
 * - A start waits for a server that is away.
 * - PostgreSQL cancels a statement, or a wait for a lock, after five seconds.
 * - Commits are durable.
 *
 * Why plans are pinned to nested loops over indexes: docs/decisions/0003-pinned-plans.md. Reports over whole tables use
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
import { addressOf } from "../base/DatabaseUrl.ts"
import { Settings } from "../base/Settings.ts"
import { firstConnection } from "./FirstConnection.ts"
import { withAwaitedTransactions } from "./RunToCompletion.ts"
import { withWatchedListen } from "./WatchedListen.ts"

/** Where the database is. The startup message shows it. */
export class DatabaseLocation extends Context.Service<
  DatabaseLocation,
  {
    readonly url: Redacted.Redacted<string>
    /** The URL of the role that migrates the schema, where it is not the service's role. */
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
            new EmbeddedPostgresFailed({
              message: error.explain({
                "another-folder": "set DATA_DIR to another folder",
                "another-server": "set DATABASE_URL to your own PostgreSQL server"
              })
            })
        )
      )
      return DatabaseLocation.of({ url: embedded.url, embeddedIn: embedded.dataDir })
    })
  )
}

/** The embedded PostgreSQL cannot start. */
export class EmbeddedPostgresFailed extends Schema.TaggedError<EmbeddedPostgresFailed>()("EmbeddedPostgresFailed", {
  message: Schema.String
}) {}

const client = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { url } = yield* DatabaseLocation
    return withCloseTimeout(
      CLOSE_TIMEOUT_MS,
      PgClient.layer({
        url,
        // Spans have these, and not what the driver finds in the URL.
        ...addressOf(url),
        applicationName: "pix-payments",
        maxConnections: settings.databaseConnections,
        connectTimeout: "3 seconds",
        keepAlive: "15 seconds",
        startupParameters: yield* firstConnection(url)
      })
    )
  })
)

/** Longer than any statement takes. After that only commits that wait for a standby are left. */
const CLOSE_TIMEOUT_MS = 6000

/** The layer with a limit on how long its finalizers are waited for. */
const withCloseTimeout = <A, E, R>(ms: number, layer: Layer.Layer<A, E, R>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) =>
        Effect.gen(function* () {
          const closing = yield* Effect.forkDetach(Scope.close(scope, exit))
          const closed = yield* Effect.interruptible(Effect.timeoutOption(Fiber.await(closing), ms))
          if (Option.isSome(closed)) return
          yield* Effect.logWarning("Stopped while commits wait for a standby. They may or may not succeed.")
        })
      )
      return yield* Layer.buildWithScope(layer, scope)
    })
  )

const watched = Layer.effectDiscard(
  Effect.map(PgClient.PgClient, (pool) => withAwaitedTransactions(withWatchedListen(pool)))
)

/** The pool. */
export const layer = watched.pipe(Layer.provideMerge(client))

/** Runs a report over whole tables, in a transaction whose plans are not pinned. */
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
