/**
 * Runs the fan-out at each commit and by polling, and hands its leased deliveries to the lane of first attempts.
 *
 * Guarantees: a round is not interrupted, so that every delivery that it leases is either sent or given back.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import type { DeliveryLane } from "./DeliveryLane.ts"
import { belowFanOut } from "./DeliveryTrace.ts"
import { FanOut } from "../fan-out/FanOut.ts"
import { STORE_AFTER_MS } from "../queue/LeasedChanges.ts"

/** Runs until the scope ends. */
export const run = Effect.fnUntraced(function* (first: DeliveryLane, leaseMs: number) {
  const fanOut = yield* FanOut
  const signal = yield* DeliverySignal
  let idleMs = POLL_MS

  const round = Effect.gen(function* () {
    yield* signal.rest
    const startedAt = yield* Clock.currentTimeNanos
    const result = yield* fanOut.round({ mayLease: first.hasRoom(), leaseMs })
    yield* first.offer(yield* belowFanOut(result.leased, startedAt))
    if (result.hasScheduled) first.wake()
    idleMs = result.waiting > 0 ? LOCKED_ENDPOINT_IDLE_MS : POLL_MS
    return result.isMore && result.waiting === 0 ? 1 : 0
  }).pipe(Effect.uninterruptible)

  const quarantine = Effect.map(fanOut.quarantine, (completed) => {
    if (completed > 0) first.wake()
    return completed
  })

  const idle = Effect.raceFirst(
    signal.await,
    Effect.suspend(() => Effect.sleep(idleMs))
  )
  yield* Effect.forkScoped(BackgroundLoop.run("fan-out", round, idle))
  yield* Effect.forkScoped(BackgroundLoop.run("fan-out, storing", first.storeOverdue, Effect.sleep(STORE_AFTER_MS / 2)))
  yield* Effect.forkScoped(BackgroundLoop.run("fan-out, quarantine", quarantine, Effect.sleep(POLL_MS)))
})

const POLL_MS = 500
const LOCKED_ENDPOINT_IDLE_MS = 20
