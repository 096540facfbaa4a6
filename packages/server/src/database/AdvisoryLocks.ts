/**
 * The advisory locks of the service.
 *
 * Guarantees:
 * - `MAINTENANCE_LOCK`: one process at a time changes partitions: a start, the hourly round, or the command.
 * - `REBUILD_LOCK`: one process at a time rebuilds indexes, which delays no change of partitions.
 * - `CLOSING_LOCK`: one process at a time closes days of the books.
 * - `ERASURE_LOCK`: one process at a time erases payers of unpaid charges, which delays no change of partitions.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"

/** Runs the effect while the connection has the lock. `None` where another process has it. */
export const exclusively = <A, E, R>(
  connection: Connection,
  effect: Effect.Effect<A, E, R>,
  lock = MAINTENANCE_LOCK
): Effect.Effect<Option.Option<A>, E | SqlError, R> =>
  Effect.acquireUseRelease(
    tryLock(connection, lock),
    (isLocked) => (isLocked ? Effect.asSome(effect) : Effect.succeedNone),
    (isLocked) => unlock(connection, lock, isLocked)
  )

const tryLock = (connection: Connection, lock: number) =>
  Effect.map(
    connection.execute("SELECT pg_try_advisory_lock($1) AS got", [lock], undefined),
    ([row]) => row?.["got"] === true
  )

const unlock = (connection: Connection, lock: number, isLocked: boolean) =>
  isLocked ? Effect.ignore(connection.executeRaw("SELECT pg_advisory_unlock($1)", [lock])) : Effect.void

// "pix" in ASCII, and one.
export const MAINTENANCE_LOCK = 7_366_009
export const REBUILD_LOCK = 7_366_010
export const CLOSING_LOCK = 7_366_011
export const ERASURE_LOCK = 7_366_012
