/**
 * A lane of deliveries, first attempts or retries: claims them, sends them and records their attempts.
 *
 * Guarantees:
 * - each lane has its own capacity;
 * - a claim is not interrupted, so that every claimed delivery is either sent or released;
 * - after a resend or a resume in this process, a claim reads deliveries of any age; those of other processes that are weeks
 *   old are left to the sweeps;
 * - when the scope ends, attempts are interrupted first and their leases released afterwards.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { makeClaimCursor } from "../queue/ClaimCursor.ts"
import type { ClaimedDelivery, CompletedAttempt, Lane } from "../deliveries/Delivery.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { type Capacity, makeInFlightDeliveries } from "../queue/InFlightDeliveries.ts"
import { makeLeasedChanges } from "../queue/LeasedChanges.ts"

export type DeliveryLane = Effect.Success<ReturnType<typeof makeDeliveryLane>>

/** Runs a lane until the scope ends. */
export const makeDeliveryLane = Effect.fnUntraced(function* (options: {
  readonly lane: Lane
  /** The name of its loops in logs. */
  readonly name: string
  readonly maxInFlight: number
  readonly maxPerClaim: number
  readonly leaseMs: number
  readonly send: (delivery: ClaimedDelivery) => Effect.Effect<CompletedAttempt>
}) {
  const { lane, leaseMs, maxInFlight, maxPerClaim, name, send } = options
  const queue = yield* DeliveryQueue
  const signal = (yield* DeliverySignal)[lane]
  const capacityFreed = Latch.makeUnsafe(false)
  const inFlight = makeInFlightDeliveries(maxInFlight, maxPerClaim, () => void capacityFreed.openUnsafe())
  const leasedChanges = makeLeasedChanges(queue, leaseMs)
  const cursor = makeClaimCursor()
  // Whether deliveries of any age may have become due since the last claim that read them all.
  let isOfAllTime = true
  let claimIdleMs = POLL_MS
  let sweepIdleMs = POLL_MS

  // Before the fibers, so that it runs after they are interrupted.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      const unrecorded = inFlight.all()
      const released = unrecorded.length === 0 ? Effect.void : Effect.ignore(queue.release(unrecorded))
      return Effect.andThen(released, leasedChanges.release)
    })
  )
  const fibers = yield* FiberSet.make<void>()

  const deliver = (delivery: ClaimedDelivery) =>
    Effect.gen(function* () {
      const completed = yield* send(delivery)
      yield* Effect.uninterruptible(
        leasedChanges.record(completed).pipe(
          // Its lease expires, and the same bytes are sent again.
          Effect.catchCause((cause) =>
            Effect.logWarning("a delivery attempt could not be recorded", describeCause(cause))
          ),
          Effect.andThen(Effect.sync(() => inFlight.remove(delivery)))
        )
      )
    })

  const start = Effect.fnUntraced(function* (claimed: ReadonlyArray<ClaimedDelivery>) {
    yield* leasedChanges.add(claimed)
    for (const delivery of claimed) {
      inFlight.add(delivery)
      yield* FiberSet.run(fibers, deliver(delivery))
    }
  })

  const claim = Effect.gen(function* () {
    if (yield* signal.rest) isOfAllTime = true
    yield* capacityFreed.close
    const capacity = inFlight.capacity()
    if (capacity === undefined) return 0
    const next = cursor.nextClaim(capacity)
    const result = yield* queue.claim(lane, { ...capacity, ...next, isOfAllTime, leaseMs })
    isOfAllTime = isOfAllTime && !result.isCaughtUp
    yield* start(result.claimed)
    claimIdleMs = Math.min(POLL_MS, Math.max(MIN_IDLE_MS, result.nextInMs ?? POLL_MS))
    const isMore = cursor.claimed(result, next.backlogged, capacity)
    // Only locked endpoints are left: pause before trying them again.
    if (result.isCaughtUp && result.claimed.length === 0 && result.locked.size > 0) {
      claimIdleMs = MIN_IDLE_MS
      return 0
    }
    return isMore ? 1 : 0
  }).pipe(Effect.uninterruptible)

  const sweep = Effect.gen(function* () {
    const capacity = inFlight.capacity()
    if (capacity === undefined) return 0
    const result = yield* queue.sweep(lane, { ...capacity, ...cursor.nextSweep(capacity), leaseMs })
    yield* start(result.claimed)
    return cursor.swept(result, capacity) ? 1 : 0
  }).pipe(
    Effect.uninterruptible,
    Effect.timed,
    Effect.map(([took, count]) => {
      sweepIdleMs = Math.min(MAX_SWEEP_IDLE_MS, Math.max(POLL_MS, IDLE_PER_SWEEP * Duration.toMillis(took)))
      return count
    })
  )

  yield* Effect.forkScoped(
    BackgroundLoop.run(
      name,
      claim,
      Effect.raceAllFirst([signal.await, capacityFreed.await, Effect.suspend(() => Effect.sleep(claimIdleMs))])
    )
  )
  yield* Effect.forkScoped(
    BackgroundLoop.run(
      `${name}, sweep`,
      sweep,
      Effect.suspend(() => Effect.sleep(sweepIdleMs))
    )
  )

  return {
    capacity: inFlight.capacity,
    /** Backlogged destinations that have half of their capacity in flight. */
    busy: ({ perDestination }: Capacity): ReadonlyArray<string> =>
      cursor.backlogged().filter((destination) => inFlight.countOf(destination) * BUSY_PART >= perDestination),
    addBacklogged: cursor.addBacklogged,
    storeOverdue: leasedChanges.storeOverdue,
    /** Sends deliveries that are leased to this process. */
    start
  }
})

// Of a backlogged destination. Where less is in flight, the receiver is fast and its backlog ends soon.
const BUSY_PART = 2
const POLL_MS = 500
// Retries fall due one by one; a claim waits until some are due together.
const MIN_IDLE_MS = 20
// A sweep takes one part in so many of the time, unless it is very slow.
const IDLE_PER_SWEEP = 20
const MAX_SWEEP_IDLE_MS = 5000
