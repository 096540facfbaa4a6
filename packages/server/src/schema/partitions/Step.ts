/**
 * Statements that lock a table exclusively, while it is in use.
 *
 * Guarantees:
 * - The step is one statement: it is done as a whole or not at all, whenever its connection ends.
 * - Other statements wait behind it for `LOCK_TIMEOUT_MS` at most. Then it gives way, pauses, and is repeated.
 * - A step that takes longer than its timeout, usually `STEP_TIMEOUT_MS`, is canceled and changes nothing. The next maintenance
 *   repeats it.
 *
 * Deadlocks: a step locks one partitioned table first, then its partitions, as every statement does.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { LOCK_NOT_AVAILABLE, sqlStateOf } from "../../database/SqlState.ts"

/**
 * Runs statements as one step. Fails with `LOCK_NOT_AVAILABLE` where no attempt got the locks, and with `QUERY_CANCELED`
 * where the step takes too long.
 */
export const runStep = (
  statements: ReadonlyArray<string>,
  { attempts = ATTEMPTS, timeoutMs = STEP_TIMEOUT_MS }: { readonly attempts?: number; readonly timeoutMs?: number } = {}
): Effect.Effect<void, SqlError, SqlClient> => {
  const step = runOnce(
    `DO $step$ BEGIN
      PERFORM set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true);
      ${statements.map((statement) => `${statement};`).join("\n")}
    END $step$`,
    timeoutMs
  )
  return Effect.gen(function* () {
    for (let attempt = 1; ; attempt++) {
      const error = yield* step.pipe(Effect.as(undefined), Effect.catchIf(isLocked, Effect.succeed))
      if (error === undefined) return
      if (attempt === attempts) return yield* error
      yield* Effect.sleep(PAUSE_MS)
    }
  })
}

/** The timeout is that of the connection, because it counts from before the statement. */
const runOnce = (statement: string, timeoutMs: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const connection = yield* sql.reserve
    yield* Effect.acquireRelease(connection.executeRaw(`SET statement_timeout = ${timeoutMs}`, []), () =>
      Effect.ignore(connection.executeRaw("RESET statement_timeout", []))
    )
    yield* connection.executeRaw(statement, [])
  }).pipe(Effect.scoped)

const isLocked = (error: SqlError): boolean => sqlStateOf(error) === LOCK_NOT_AVAILABLE

/** Longer than a statement of the service usually takes, and shorter than its callers notice. */
const LOCK_TIMEOUT_MS = 100
/** Most steps take tens of milliseconds. Until it is canceled, every write to its table waits. */
const STEP_TIMEOUT_MS = 1000
const PAUSE_MS = 500
const ATTEMPTS = 60
