/**
 * The state of the database as this process sees it, for `/health/ready` and `/metrics`.
 *
 * Guarantees:
 * - It is checked every two seconds by a query that writes nothing; no answer within two seconds is `away`.
 * - Nothing depends on it: a request finds out for itself.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { SqlClient } from "effect/sql/SqlClient"
import { orUnavailableWithin } from "./Unavailable.ts"

/**
 * - `ok`
 * - `read_only`: it answers and refuses writes (a standby, or a read-only primary).
 * - `commits_wait`: a commit has waited for a standby for longer than its caller did.
 * - `away`: it does not answer.
 */
export type State = "ok" | "read_only" | "commits_wait" | "away"

const states: ReadonlyArray<State> = ["ok", "read_only", "commits_wait", "away"]

const gauges = new Map(
  states.map((state) => [
    state,
    Metric.withAttributes(
      Metric.gauge("database_state", { description: "1 for the current state of the database, 0 for the others." }),
      { state }
    )
  ])
)

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
      let current: State = "away"
      const check = sql.unsafe<StateRow>(query).pipe(
        (checked) => orUnavailableWithin(checked, CHECK_TIMEOUT_MS),
        Effect.map(([row]): State => {
          if (row === undefined) return "away"
          if (row.read_only) return "read_only"
          return row.commit_waits ? "commits_wait" : "ok"
        }),
        Effect.catchCause(() => Effect.succeed<State>("away")),
        Effect.tap((state) =>
          Effect.gen(function* () {
            current = state
            for (const [each, gauge] of gauges) yield* Metric.update(gauge, each === state ? 1 : 0)
          })
        )
      )
      yield* check
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(CHECK_EVERY_MS), check)))
      return DatabaseState.of({ current: Effect.sync(() => current) })
    })
  )
}

const CHECK_EVERY_MS = 2000
const CHECK_TIMEOUT_MS = 2000

interface StateRow {
  readonly read_only: boolean
  readonly commit_waits: boolean
}

// A role sees the wait events of its own sessions. `query_start` is at or before the start of the commit.
const query = `
  SELECT current_setting('transaction_read_only') = 'on' AS read_only,
    EXISTS (
      SELECT FROM pg_stat_activity
      WHERE wait_event = 'SyncRep' AND usename = current_user AND query_start < now() - interval '6 seconds'
    ) AS commit_waits`
