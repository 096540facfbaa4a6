/**
 * The state of the database as this process sees it, for `/health/ready`, `/metrics` and the log.
 *
 * Guarantees:
 * - It is checked every two seconds by a query that writes nothing; no answer within two seconds is `away`.
 * - The log has one line with the reason when the database goes away, and one with the duration when it is back.
 * - Nothing depends on it: a request finds out for itself.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Metrics } from "../base/observability/Metrics.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import { writeSlotUse } from "./WriteSlots.ts"
import { Unavailable, within } from "./Unavailable.ts"

/**
 * - `ok`
 * - `read_only`: it answers and refuses writes (a standby, or a read-only primary).
 * - `commits_wait`: a commit has waited for a standby for longer than its caller did.
 * - `away`: it does not answer.
 */
export type State = "ok" | "read_only" | "commits_wait" | "away"

const states: ReadonlyArray<State> = ["ok", "read_only", "commits_wait", "away"]

export class DatabaseState extends Context.Service<
  DatabaseState,
  {
    /** The state at the last check. */
    readonly current: Effect.Effect<State>
  }
>()("@pix-payments/server/DatabaseState") {
  /** Checks once before it is built, then repeatedly. */
  static readonly layer = Layer.effect(
    DatabaseState,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      const clock = yield* Clock.Clock
      let current: State = "away"
      let since: number | undefined

      /** Logs the change from one state to another. A start waits for the database before this. */
      const changeTo = (state: State, reason: string) =>
        Effect.suspend(() => {
          const nowMs = clock.currentTimeMillisUnsafe()
          const [before, beforeMs] = [since === undefined ? state : current, since ?? nowMs]
          if (state !== before || since === undefined) since = nowMs
          current = state
          for (const each of states) metrics.gauges({ database_state: Number(each === state) }, { state: each })
          if (state === before) return Effect.void
          const seconds = Math.round((nowMs - beforeMs) / 1000)
          return state === "ok"
            ? Effect.annotateLogs(Effect.logInfo("the database is back"), { was: before, seconds })
            : Effect.annotateLogs(Effect.logWarning(`the database is ${words[state]}`), { was: before, reason })
        })

      const check = Effect.suspend(() => {
        const startedAt = clock.currentTimeMillisUnsafe()
        return within(sql.unsafe<StateRow>(query), CHECK_TIMEOUT_MS).pipe(
          Effect.map(([row]) => row),
          Effect.matchCauseEffect({
            onFailure: (cause) => changeTo("away", reasonOf(cause)),
            onSuccess: (row) => {
              metrics.gauges({
                database_check_seconds: (clock.currentTimeMillisUnsafe() - startedAt) / 1000,
                database_oldest_transaction_seconds: row?.oldest_transaction ?? 0,
                database_archive_failing: Number(row?.archive_failing ?? false)
              })
              if (row?.read_only) return changeTo("read_only", "it refuses writes")
              return row?.commit_waits
                ? changeTo("commits_wait", "a commit has waited for its standby for more than six seconds")
                : changeTo("ok", "")
            }
          })
        )
      })
      metrics.onRead(() => {
        for (const [state, count] of Object.entries(writeSlotUse(sql))) {
          metrics.gauges({ database_write_slots: count }, { state })
        }
      })
      yield* check
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(CHECK_EVERY_MS), check)))
      return DatabaseState.of({ current: Effect.sync(() => current) })
    })
  )
}

const CHECK_EVERY_MS = 2000
const CHECK_TIMEOUT_MS = 2000

const words = { read_only: "read-only", commits_wait: "waiting for its standby", away: "away" }

/** In one line, without parameters and rows. */
const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (isSqlError(error) && error.reason.cause instanceof Error) return error.reason.cause.message
  return error instanceof Unavailable ? "no answer within two seconds" : (describeCause(cause).split("\n")[0] ?? "")
}

interface StateRow {
  readonly read_only: boolean
  readonly commit_waits: boolean
  readonly oldest_transaction: number
  readonly archive_failing: boolean
}

// A role sees the wait events of its own sessions. `query_start` is at or before the start of the commit.
const query = `
  SELECT current_setting('transaction_read_only') = 'on' AS read_only,
    EXISTS (
      SELECT FROM pg_stat_activity
      WHERE wait_event = 'SyncRep' AND usename = current_user AND query_start < now() - interval '6 seconds'
    ) AS commit_waits,
    coalesce((
      SELECT extract(epoch FROM now() - min(xact_start))::float8 FROM pg_stat_activity
      WHERE usename = current_user AND datname = current_database()
    ), 0) AS oldest_transaction,
    coalesce((
      SELECT last_failed_time > coalesce(last_archived_time, '-infinity') FROM pg_stat_archiver
    ), false) AS archive_failing`
