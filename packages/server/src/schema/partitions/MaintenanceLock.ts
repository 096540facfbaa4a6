/**
 * The advisory locks of the maintenance.
 *
 * Guarantees:
 * - `MAINTENANCE_LOCK`: one process at a time changes partitions: a start, the hourly round, or the command.
 * - `REBUILD_LOCK`: one process at a time rebuilds indexes. A rebuild may take an hour, so it has a lock that nothing else
 *   waits for. Its connection runs the rebuild, so `withoutRebuild` can cancel it.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import { describeCause } from "../../base/observability/SafeCause.ts"

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

/**
 * Runs the effect while no index is rebuilt. A running rebuild is canceled. Where that takes longer than some seconds, it is
 * logged and the effect runs all the same.
 */
export const withoutRebuild = <A, E, R>(
  connection: Connection,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  Effect.acquireUseRelease(
    stopRebuild(connection),
    () => effect,
    (isLocked) => unlock(connection, REBUILD_LOCK, isLocked)
  )

const stopRebuild = Effect.fnUntraced(function* (connection: Connection) {
  for (let attempt = 1; attempt <= CANCEL_ATTEMPTS; attempt++) {
    if (yield* tryLock(connection, REBUILD_LOCK)) return true
    yield* Effect.catchCause(connection.executeRaw(cancelHolder, [REBUILD_LOCK]), (cause) =>
      Effect.logWarning("the rebuild of an index cannot be canceled", describeCause(cause))
    )
    yield* Effect.sleep(CANCEL_PAUSE_MS)
  }
  yield* Effect.logWarning(
    "An index is still being rebuilt, which may keep migrations from their locks (pg_locks, locktype advisory)"
  )
  return false
})

const cancelHolder = `SELECT pg_cancel_backend(pid) FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32) + objid::bigint = $1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

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

/** Ten seconds: a rebuild notices a cancellation within milliseconds. */
const CANCEL_ATTEMPTS = 50
const CANCEL_PAUSE_MS = 200
