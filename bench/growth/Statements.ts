/**
 * The statements of the service while charges are paid and its background loops run: how often, how long, and how many
 * pages of 8 KiB each execution touches, by `pg_stat_statements`.
 */
import { start as startPostgres } from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { join } from "node:path"
import { withDatabase } from "../measure/Database.ts"
import { BenchError } from "../measure/Processes.ts"

export interface StatementCost {
  /** The first words. */
  readonly text: string
  readonly calls: number
  readonly meanMs: number
  readonly slowestMs: number
  /** Of an execution, on average. */
  readonly pages: number
  readonly rows: number
}

/** Makes the PostgreSQL of a bench's folder, and configures it to count statements from its next start on. */
export const prepareStatementCounts = (folder: string) =>
  startPostgres({ dataDir: join(folder, "postgres"), maxConnections: 10 }).pipe(
    Effect.mapError(({ message }) => new BenchError({ message })),
    Effect.flatMap(({ url }) =>
      withDatabase(Redacted.value(url), async (database) => {
        await database.query("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        await database.query("ALTER SYSTEM SET pg_stat_statements.max = 10000")
      })
    ),
    Effect.scoped
  )

/** Runs `work`, and returns the statements that touched the most pages meanwhile. */
export const measureStatements = Effect.fnUntraced(function* <E, R>(
  databaseUrl: string,
  work: Effect.Effect<unknown, E, R>
) {
  yield* withDatabase(databaseUrl, async (database) => {
    await database.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    await database.query("SELECT pg_stat_statements_reset()")
  })
  yield* work
  return yield* withDatabase(databaseUrl, async (database): Promise<ReadonlyArray<StatementCost>> => {
    const { rows } = await database.query<{
      text: string
      calls: string
      mean: number
      slowest: number
      pages: number
      rows: number
    }>(
      `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 110) AS text, calls, mean_exec_time AS mean,
         max_exec_time AS slowest, (shared_blks_hit + shared_blks_read)::float8 / calls AS pages, rows::float8 / calls AS rows
       FROM pg_stat_statements
       WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query NOT LIKE '%pg_stat%'
       ORDER BY (shared_blks_hit + shared_blks_read) DESC LIMIT ${MOST}`
    )
    return rows.map(({ calls, mean, pages, rows: count, slowest, text }) => ({
      text,
      calls: Number(calls),
      meanMs: mean,
      slowestMs: slowest,
      pages,
      rows: count
    }))
  })
})

const MOST = 60
