/** Deliveries of which a statement fails for each of them alone. */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Metrics } from "../../base/observability/Metrics.ts"
import { attemptWrite, type StatementFailed } from "../../database/batching/Bisection.ts"
import type { makeCooldown } from "../deliveries/Cooldown.ts"
import { failAttempted, failDue } from "../deliveries/DeliveryOutcomes.ts"

export type FailAlone = ReturnType<typeof makeFailures>

/** Fails a delivery: one that is due, or the attempt with this number. If that fails too, this process skips it for a while. */
export const makeFailures =
  (sql: SqlClient, metrics: Metrics["Service"], cooldown: ReturnType<typeof makeCooldown>) =>
  (id: string, failure: StatementFailed, attemptsMade?: number) =>
    Effect.gen(function* () {
      yield* Effect.logError(`delivery ${id} fails alone: ${failure.code}`)
      // A timeout may pass: the delivery is tried again later.
      if (failure.isTimeout) return cooldown.add(id)
      metrics.setAside("delivery")
      const reason = failure.message
      const fail = attemptsMade === undefined ? failDue({ id, reason }) : failAttempted({ id, reason, attemptsMade })
      yield* attemptWrite(sql, sql.unsafe(...fail)).pipe(
        Effect.catchTag("StatementFailed", (again) => {
          cooldown.add(id)
          return Effect.logError(`delivery ${id} cannot be marked as failed: ${again.code}`)
        })
      )
    })
