/**
 * The life of this process as a load balancer sees it: starting, ready, stopping.
 *
 * Guarantees:
 * - Readiness depends on this process alone. An outage of the database does not take every server out of the balancer.
 * - After SIGTERM the listeners go on answering for `SHUTDOWN_DELAY_MS`. Readiness fails at once, and every answer
 *   carries `Connection: close`. The ports close after that.
 *
 * Source: operator-api.md (`/health/ready`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Settings } from "../Settings.ts"

export type Phase = "starting" | "ready" | "stopping"

export class Drain extends Context.Service<Drain, { phase: Phase }>()("@pix-payments/server/Drain") {
  static readonly layer = Layer.sync(Drain, (): { phase: Phase } => ({ phase: "starting" }))
}

/** Ready once built, and drains before anything below it is closed: put it on top of the listeners. */
export const whileServing = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain
    const { shutdownDelayMs } = yield* Settings
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        drain.phase = "ready"
      }),
      () =>
        Effect.suspend(() => {
          drain.phase = "stopping"
          return Effect.sleep(shutdownDelayMs)
        })
    )
  })
)
