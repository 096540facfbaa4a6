/**
 * The steps that make the schema, in order.
 *
 * Guarantees: all pending steps are one transaction, under an advisory lock that a second process waits for.
 * Ids have no gaps, which a test checks: a step with an id below the newest applied one would never run.
 */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import foundation from "./migrations/0001_foundation.ts"
import money from "./migrations/0002_money.ts"

export const migrations = {
  "0001_foundation": foundation,
  "0002_money": money
}

/** Brings the schema up to date. */
export const run = Effect.scoped(
  Effect.gen(function* () {
    const sql = yield* SqlClient
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
    return yield* Migrator.make({})({ loader: Migrator.fromRecord(migrations) })
  })
)

/** True when every step of this release has been applied. */
export const areApplied = Effect.map(
  Effect.flatMap(SqlClient, (sql) => sql<{ count: bigint }>`SELECT count(*) AS count FROM effect_sql_migrations`),
  ([row]) => row !== undefined && Number(row.count) >= Object.keys(migrations).length
)

// "pix" in ASCII, as a number of this service's own.
const MIGRATION_LOCK = 7_366_008
