/**
 * Liveness and readiness, for load balancers and orchestrators. They need no token.
 *
 * Guarantees:
 * - Readiness depends on this process alone: it has started, which needs a schema that fits, and it is not stopping. In an
 *   outage of the database every server stays in the balancer, and callers get its 503.
 * - The state of the database is a field of the answer. The answer waits for nothing.
 */
import * as Effect from "effect/Effect"
import { DatabaseState } from "../../sql/DatabaseState.ts"
import { Drain } from "../Drain.ts"
import { probe } from "../HttpServer.ts"

export const healthProbes = Effect.gen(function* () {
  const drain = yield* Drain
  const { current } = yield* DatabaseState
  return [
    probe("/health/live", Effect.succeed(json(200, { status: "ok" }))),
    probe(
      "/health/ready",
      Effect.map(current, (database) =>
        drain.phase === "ready"
          ? json(200, { status: "ok", database, migrations: true })
          : json(503, { status: drain.phase, database, migrations: true })
      )
    )
  ]
})

const json = (status: number, body: unknown) => ({
  status,
  contentType: "application/json",
  text: JSON.stringify(body)
})
