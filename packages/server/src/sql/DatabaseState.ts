/**
 * What the database does for this process, for those who watch: `/health/ready` shows it, `/metrics` too.
 *
 * Guarantees: it is looked at every two seconds, and within two seconds; nothing is written for it. It decides nothing:
 * calls find out for themselves.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { SqlClient } from "effect/sql/SqlClient"
import { orUnavailableWithin } from "./Unavailable.ts"

/**
 * - `ok`;
 * - `read_only`: it answers, and refuses to write (a standby, or a primary that was made so);
 * - `commits_wait`: it writes, and a commit has waited for a standby for longer than its caller did;
 * - `away`: it does not answer.
 */
export type State = "ok" | "read_only" | "commits_wait" | "away"

const states: ReadonlyArray<State> = ["ok", "read_only", "commits_wait", "away"]

const gauges = new Map(
  states.map((state) => [
    state,
    Metric.withAttributes(
      Metric.gauge("database_state", { description: "1 for the state that the database is in, 0 for all others." }),
      { state }
    )
  ])
)

export class DatabaseState extends Context.Service<
  DatabaseState,
  {
    /** As it was found last. */
    readonly current: Effect.Effect<State>
  }
>()("@pix-payments/server/DatabaseState") {
  /** Looks at once, and then again and again. */
  static readonly layer = Layer.effect(
    DatabaseState,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      let current: State = "away"
      const look = sql.unsafe<Found>(query).pipe(
        (asked) => orUnavailableWithin(asked, WITHIN_MS),
        Effect.map(([found]): State => {
          if (found === undefined) return "away"
          if (found.read_only) return "read_only"
          return found.commit_waits ? "commits_wait" : "ok"
        }),
        Effect.catchCause(() => Effect.succeed<State>("away")),
        Effect.tap((state) =>
          Effect.gen(function* () {
            current = state
            for (const [each, gauge] of gauges) yield* Metric.update(gauge, each === state ? 1 : 0)
          })
        )
      )
      yield* look
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(EVERY_MS), look)))
      return DatabaseState.of({ current: Effect.sync(() => current) })
    })
  )
}

const EVERY_MS = 2000
const WITHIN_MS = 2000

interface Found {
  readonly read_only: boolean
  readonly commit_waits: boolean
}

// A role sees what its own sessions wait for. A session's query began when its commit did, or before.
const query = `
  SELECT current_setting('transaction_read_only') = 'on' AS read_only,
    EXISTS (
      SELECT FROM pg_stat_activity
      WHERE wait_event = 'SyncRep' AND usename = current_user AND query_start < now() - interval '6 seconds'
    ) AS commit_waits`
