/**
 * Liveness and readiness probes.
 *
 * Guarantees:
 * - Readiness depends on this process alone: it has started (which needs a current schema) and is not stopping. In an outage
 *   of the database every process stays in the load balancer, and callers get 503.
 * - The answer has the last known state of the database, and waits for no query. It says which acquirer and cell it is, whether anybody is
 *   called, which release this is, and which background loops stall.
 *
 * Rules: OPR-8.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Heartbeats } from "../../base/observability/Heartbeats.ts"
import { Outward } from "../../base/Outward.ts"
import { Settings } from "../../base/Settings.ts"
import { version } from "../../base/Version.ts"
import { DatabaseState } from "../../database/DatabaseState.ts"
import { Drain } from "../pipeline/Drain.ts"
import { probe } from "../pipeline/HttpServer.ts"

export const healthProbes = Effect.gen(function* () {
  const drain = yield* Drain
  const { current } = yield* DatabaseState
  const outward = yield* Outward
  const heartbeats = yield* Heartbeats
  const { acquirer, cell } = yield* Settings
  const stalled = () => heartbeats.all().flatMap(({ isStalled, name }) => (isStalled ? [name] : []))
  return [
    probe("/health/live", Effect.succeed(json(200, { status: "ok" }))),
    probe(
      "/health/ready",
      Effect.map(current, (database) =>
        json(drain.phase === "ready" ? 200 : 503, {
          status: drain.phase === "ready" ? "ok" : drain.phase,
          version,
          database,
          migrations: true,
          acquirer,
          cell: Option.getOrNull(cell),
          outward: outward.state(),
          stalled_loops: stalled()
        })
      )
    )
  ]
})

const json = (status: number, body: unknown) => ({
  status,
  contentType: "application/json",
  text: JSON.stringify(body)
})
