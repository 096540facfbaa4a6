/**
 * Is the process alive, and is it ready: for load balancers and orchestrators. No token needed.
 *
 * Guarantees:
 * - Readiness depends on this process alone: it has started, which it does only on a schema that fits, and it is not
 *   stopping. In an outage of the database every server stays in the balancer, and callers get its 503.
 * - The state of the database is a field of the answer. The answer waits for nothing.
 *
 * Source: operator-api.md (`/health/live`, `/health/ready`).
 */
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { Drain } from "../Drain.ts"
import { jsonResponse } from "../Json.ts"
import { DatabaseState } from "../../sql/DatabaseState.ts"

const live = HttpRouter.add("GET", "/health/live", Effect.succeed(jsonResponse({ status: "ok" }, 200)))

const ready = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const drain = yield* Drain
    const { current } = yield* DatabaseState
    yield* router.add(
      "GET",
      "/health/ready",
      Effect.map(current, (database) =>
        drain.phase === "ready"
          ? jsonResponse({ status: "ok", database, migrations: true }, 200)
          : jsonResponse({ status: drain.phase, database, migrations: true }, 503)
      )
    )
  })
)

export const routes = Layer.mergeAll(live, ready)
