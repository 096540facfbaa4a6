/**
 * Liveness and readiness probes.
 *
 * Guarantees:
 * - Readiness depends on this process alone: it has started (which needs a current schema) and is not stopping. In an outage
 *   of the database every process stays in the load balancer, and callers get 503.
 * - The answer has the last known state of the database, and waits for no query. It says whether anybody is called.
 *
 * Rules: OPR-8.
 */
import * as Effect from "effect/Effect"
import { Outward } from "../../base/Outward.ts"
import { DatabaseState } from "../../database/DatabaseState.ts"
import { Drain } from "../pipeline/Drain.ts"
import { probe } from "../pipeline/HttpServer.ts"

export const healthProbes = Effect.gen(function* () {
  const drain = yield* Drain
  const { current } = yield* DatabaseState
  const outward = yield* Outward
  return [
    probe("/health/live", Effect.succeed(json(200, { status: "ok" }))),
    probe(
      "/health/ready",
      Effect.map(current, (database) =>
        drain.phase === "ready"
          ? json(200, { status: "ok", database, migrations: true, outward: outward.state() })
          : json(503, { status: drain.phase, database, migrations: true, outward: outward.state() })
      )
    )
  ]
})

const json = (status: number, body: unknown) => ({
  status,
  contentType: "application/json",
  text: JSON.stringify(body)
})
