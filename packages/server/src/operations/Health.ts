/**
 * Is the process alive, and is it ready: for load balancers and orchestrators. No token needed.
 *
 * Guarantees:
 * - Readiness depends on this process alone: it has started, the schema fits, and it is not stopping.
 * - The state of the database is a field of the answer and never its status. The answer waits for it for a moment only,
 *   so that a balancer's check does not time out in an outage.
 *
 * Source: operator-api.md (`/health/live`, `/health/ready`).
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Drain } from "../http/Drain.ts"
import { jsonResponse } from "../http/Json.ts"
import * as Migrations from "../sql/Migrations.ts"
import { orUnavailableWithin } from "../sql/Unavailable.ts"

const live = HttpRouter.add("GET", "/health/live", Effect.succeed(jsonResponse({ status: "ok" }, 200)))

const ready = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const drain = yield* Drain
    // A process does not start on a schema that does not fit.
    let migrations = true
    const database = Migrations.areApplied.pipe(
      Effect.provideService(SqlClient, sql),
      (check) => orUnavailableWithin(check, DATABASE_PATIENCE_MS),
      Effect.map((applied) => {
        migrations = applied
        return true
      }),
      Effect.orElseSucceed(() => false)
    )
    yield* router.add(
      "GET",
      "/health/ready",
      Effect.map(database, (answers) => {
        const isReady = drain.phase === "ready" && migrations
        const status = isReady ? "ok" : drain.phase === "ready" ? "unavailable" : drain.phase
        return jsonResponse({ status, database: answers, migrations }, isReady ? 200 : 503)
      })
    )
  })
)

const DATABASE_PATIENCE_MS = 300

export const routes = Layer.mergeAll(live, ready)
