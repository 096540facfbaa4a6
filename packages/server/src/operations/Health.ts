/**
 * Is the process alive, and can it serve: for load balancers and orchestrators. No token needed.
 *
 * Source: operator-api.md (`/health/live`, `/health/ready`: database and migrations).
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { jsonResponse } from "../http/Json.ts"
import * as Migrations from "../sql/Migrations.ts"
import { orUnavailableWithin } from "../sql/Unavailable.ts"

const live = HttpRouter.add("GET", "/health/live", Effect.succeed(jsonResponse({ status: "ok" }, 200)))

const ready = HttpRouter.use((router) =>
  Effect.flatMap(SqlClient, (sql) =>
    router.add(
      "GET",
      "/health/ready",
      Migrations.areApplied.pipe(
        Effect.provideService(SqlClient, sql),
        (check) => orUnavailableWithin(check, 2000),
        Effect.map((applied) => ({ database: true, migrations: applied })),
        Effect.orElseSucceed(() => ({ database: false, migrations: false })),
        Effect.map((checks) => {
          const ok = checks.database && checks.migrations
          return jsonResponse({ status: ok ? "ok" : "unavailable", ...checks }, ok ? 200 : 503)
        })
      )
    )
  )
)

export const routes = Layer.mergeAll(live, ready)
