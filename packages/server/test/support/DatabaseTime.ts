/** A database whose clock is ahead for its maintenance, for tests of what is old. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export const DAY_MS = 86_400_000

/**
 * Runs with new connections of the maintenance, for which the database's clock is `ms` ahead. Others that are opened meanwhile
 * have the true time: the service keeps them.
 */
export const ahead = <A, E, R>(ms: number, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [database] = yield* sql<{ name: string }>`SELECT quote_ident(current_database()) AS name`
    yield* sql`CREATE OR REPLACE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
      SELECT pg_catalog.now() + CASE WHEN current_setting('application_name') = 'pix-payments maintenance'
        THEN current_setting('test.ahead_ms')::double precision ELSE 0 END * interval '1 millisecond' $$`
    yield* sql.unsafe(`ALTER DATABASE ${database!.name} SET test.ahead_ms = '${ms}'`)
    yield* sql.unsafe(`ALTER DATABASE ${database!.name} SET search_path = public, pg_catalog`)
    return yield* Effect.ensuring(
      effect,
      Effect.ignore(sql.unsafe(`ALTER DATABASE ${database!.name} RESET search_path`))
    )
  })
