/**
 * Liveness and readiness probes.
 *
 * Guarantees:
 * - Readiness depends on this process alone: it has started (which needs a current schema) and is not stopping. In an outage
 *   of the database every process stays in the load balancer, and callers get 503.
 * - The answer has the last known state of the database, and waits for no query.
 *
 * Rules: OPR-8.
 */
import * as Effect from "effect/Effect"
import { DatabaseState } from "../../database/DatabaseState.ts"
import { Drain } from "../pipeline/Drain.ts"
import { probe } from "../pipeline/HttpServer.ts"

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
