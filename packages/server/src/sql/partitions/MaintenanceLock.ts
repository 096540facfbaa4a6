/**
 * The advisory lock under which one process at a time changes partitions: a start, the hourly round, or the command.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"

/** Runs the effect while the connection has the lock. `None` where another process has it. */
export const exclusively = <A, E, R>(
  connection: Connection,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<A>, E | SqlError, R> =>
  Effect.acquireUseRelease(
    connection.execute("SELECT pg_try_advisory_lock($1) AS got", [MAINTENANCE_LOCK], undefined),
    ([lock]) => (lock?.["got"] === true ? Effect.asSome(effect) : Effect.succeedNone),
    ([lock]) =>
      lock?.["got"] === true
        ? Effect.ignore(connection.executeRaw("SELECT pg_advisory_unlock($1)", [MAINTENANCE_LOCK]))
        : Effect.void
  )

// "pix" in ASCII, and one.
export const MAINTENANCE_LOCK = 7_366_009
