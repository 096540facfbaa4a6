/**
 * The maintenance of partitions: makes those of the next periods and removes expired ones. It also erases the payers of old unpaid
 * charges. The command also rebuilds indexes of past ones (`IndexRebuild.ts`), which may take hours.
 *
 * Guarantees:
 * - One process at a time, under an advisory lock. The others go on.
 * - It runs as the role that owns the tables: that of `MIGRATIONS_DATABASE_URL`, or the service's role where it owns them.
 *   Where neither may, each process says so in its log and metrics, and `pnpm run maintain` does it.
 *
 * Rules: OPR-190 to OPR-192.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { Metrics } from "../../base/observability/Metrics.ts"
import { Settings } from "../../base/Settings.ts"
import { DatabaseLocation } from "../../database/Database.ts"
import { databaseTime, partitionsOf } from "./Catalog.ts"
import { forEachTable } from "./EachTable.ts"
import * as IndexRebuild from "./IndexRebuild.ts"
import type { RebuildOptions } from "./IndexRebuild.ts"
import { ERASURE_LOCK, exclusively } from "../../database/AdvisoryLocks.ts"
import * as PayerRetention from "../../operations/PayerRetention.ts"
import { hasRetention, partitionedTables, type RetentionDays } from "./PartitionedTables.ts"
import { coveredUntil, prepareTable } from "./Partitions.ts"
import { expired, limitOf, removeExpired } from "./Retention.ts"

/** The work of one run. `done` is false where the role may not, or another process runs it. */
export interface Maintained {
  readonly done: boolean
  readonly made: number
  readonly removed: ReadonlyArray<{ readonly table: string; readonly name: string }>
  /** Tables whose locks were not free, or whose steps took too long. They wait for the next run. */
  readonly postponed: ReadonlyArray<string>
}

/** One run. It rebuilds no index. */
export const run = Effect.gen(function* () {
  const settings = yield* Settings
  return Option.getOrElse(yield* asOwner(maintain(settings)), () => nothing)
})

/** Rebuilds indexes. `None` where the role may not, or another process does. */
export const rebuildIndexes = Effect.fnUntraced(function* (options?: RebuildOptions) {
  const settings = yield* Settings
  return yield* asOwner(IndexRebuild.rebuildIndexes(settings, options))
})

/** Erases the payers of old unpaid charges; returns of how many. `None` where the role may not, or another process does. */
export const expirePayers = Effect.gen(function* () {
  const { retentionUnpaidPayersDays } = yield* Settings
  return yield* asOwner(
    Effect.gen(function* () {
      const connection = yield* Effect.flatMap(SqlClient, (sql) => sql.reserve)
      const expiring = Effect.flatMap(databaseTime, (now) =>
        PayerRetention.expirePayers(retentionUnpaidPayersDays, now)
      )
      return yield* exclusively(connection, expiring, ERASURE_LOCK)
    }).pipe(Effect.scoped)
  )
})

const nothing: Maintained = { done: false, made: 0, removed: [], postponed: [] }

/** Connects as the role that owns the tables. `None` where there is no such role. */
const asOwner = Effect.fnUntraced(function* <A, E>(work: Effect.Effect<Option.Option<A>, E, SqlClient>) {
  const { migrationsUrl, url } = yield* DatabaseLocation
  const client = yield* Layer.build(
    Layer.fresh(
      PgClient.layer({
        url: migrationsUrl ?? url,
        applicationName: "pix-payments maintenance",
        maxConnections: 2,
        connectTimeout: "3 seconds",
        keepAlive: "15 seconds"
      })
    )
  )
  const sql = Context.get(client, SqlClient)
  const [role] = yield* sql<{ owns: boolean }>`
    SELECT bool_and(pg_has_role(relowner, 'USAGE')) AS owns FROM pg_class
    WHERE oid = ANY (SELECT to_regclass(t) FROM unnest(${partitionedTables.map(({ name }) => name)}::text[]) t)`
  if (role?.owns !== true) return Option.none<A>()
  return yield* Effect.provideService(work, SqlClient, sql)
}, Effect.scoped)

const maintain = Effect.fnUntraced(function* (days: RetentionDays) {
  const connection = yield* Effect.flatMap(SqlClient, (sql) => sql.reserve)
  const maintained: Effect.Effect<Option.Option<Maintained>, SqlError, SqlClient> = exclusively(
    connection,
    Effect.gen(function* () {
      const now = yield* databaseTime
      const { postponed, results } = yield* forEachTable((table) =>
        Effect.gen(function* () {
          const made = yield* prepareTable(table, now)
          const names = hasRetention(table) ? yield* removeExpired(table, limitOf(table, days, now)) : []
          return { made, removed: names.map((name) => ({ table: table.name, name })) }
        })
      )
      const made = results.reduce((sum, each) => sum + each.made, 0)
      return { done: true, made, removed: results.flatMap(({ removed }) => removed), postponed }
    })
  )
  return yield* maintained
}, Effect.scoped)

/** Measures the partitions, and warns where they end soon. */
const inspect = Effect.gen(function* () {
  const sql = yield* SqlClient
  const metrics = yield* Metrics
  const settings = yield* Settings
  const now = yield* databaseTime
  for (const table of partitionedTables) {
    const known = yield* partitionsOf(table.name).pipe(Effect.provideService(SqlClient, sql))
    const aheadSeconds = (coveredUntil(table.period, known, now) - now) / 1000
    metrics.gauges(
      {
        partitions_ahead_seconds: aheadSeconds,
        partitions_expired: hasRetention(table) ? expired(known, limitOf(table, settings, now)).length : 0
      },
      { table: table.name }
    )
    metrics.partitionRemoved(table.name, 0)
    if (aheadSeconds < WARNING_SECONDS) {
      yield* Effect.logWarning(
        `${table.name} has partitions for less than a month ahead: run \`pnpm run maintain\` as the owner of the schema`
      )
    }
  }
})

/** Every process measures. The first that gets the lock maintains. A start has made what is missing, and measures only. */
export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const metrics = yield* Metrics
    let isStarted = false
    const round = Effect.gen(function* () {
      if (isStarted) {
        const { removed } = yield* run
        for (const { table } of removed) metrics.partitionRemoved(table)
        yield* expirePayers
      }
      yield* inspect
      return 0
    })
    const pause = Effect.suspend(() => {
      const first = !isStarted
      isStarted = true
      return Effect.sleep(first ? "1 minute" : "1 hour")
    })
    yield* Effect.forkScoped(BackgroundLoop.run("maintenance of partitions", round, pause, { within: "2 hours" }))
  })
)

const WARNING_SECONDS = 30 * 86_400
