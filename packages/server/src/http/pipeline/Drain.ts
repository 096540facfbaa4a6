/**
 * The phase of this process as a load balancer sees it: starting, ready, stopping.
 *
 * Guarantees:
 * - Readiness depends on this process alone. An outage of the database does not take every server out of the balancer.
 * - After SIGTERM readiness fails at once, and every answer has `Connection: close`. The listeners answer for
 *   `SHUTDOWN_DELAY_MS` before their ports close.
 *
 * Rules: OPR-8.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Settings } from "../../base/Settings.ts"

export type Phase = "starting" | "ready" | "stopping"

export class Drain extends Context.Service<Drain, { phase: Phase }>()("@pix-payments/server/Drain") {
  static readonly layer = Layer.sync(Drain, (): { phase: Phase } => ({ phase: "starting" }))
}

/** Sets `ready` when built, and drains before the layers below it close. It must be above the listeners. */
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
