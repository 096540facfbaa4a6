/**
 * A lane of deliveries, first attempts or retries: claims them, sends them and records their attempts.
 *
 * Guarantees:
 * - Each lane has its own capacity. `Admission.ts` decides which deliveries it sends, whether they come from a claim or from
 *   the fan-out.
 * - No due delivery is skipped for good. What a look finds and does not claim is in the backlog; what no look finds is found
 *   by the sweeps, which visit all accounts and destinations.
 * - A claim is not interrupted, so that every claimed delivery is either sent or given back.
 * - After a resend or a resume in this process, a look reads deliveries of any age; those of other processes that are weeks
 *   old are left to the sweeps.
 * - When the scope ends, attempts are interrupted first and their leases given back afterwards.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import type { ClaimedDelivery, CompletedAttempt, Lane } from "../deliveries/Delivery.ts"
import { makeBacklog } from "../queue/Backlog.ts"
import { now } from "../queue/DeliveryClaims.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import { makeSweepPosition } from "../queue/DeliverySweeps.ts"
import { makeInFlightDeliveries } from "../queue/InFlightDeliveries.ts"
import { makeLeasedChanges } from "../queue/LeasedChanges.ts"

interface LaneOptions {
  readonly lane: Lane
  /** The name of its loops in logs. */
  readonly name: string
  readonly maxInFlight: number
  readonly maxPerClaim: number
  readonly leaseMs: number
  readonly send: (delivery: ClaimedDelivery) => Effect.Effect<CompletedAttempt>
}

export type DeliveryLane = Effect.Success<ReturnType<typeof makeDeliveryLane>>

/** Runs a lane until the scope ends. */
export const makeDeliveryLane = Effect.fnUntraced(function* (options: LaneOptions) {
  const { lane, name } = options
  const queue = yield* DeliveryQueue
  const signal = (yield* DeliverySignal)[lane]
  /** Opens when a claim is worthwhile before the next poll. */
  const claimable = Latch.makeUnsafe(false)
  const wake = () => void claimable.openUnsafe()
  const backlog = makeBacklog()
  const sending = yield* makeSending(options, backlog, wake)
  const claims = makeClaimRounds(options, { queue, backlog, sending, rest: signal.rest })
  const sweeps = makeSweepRounds(options, { queue, backlog, wake })

  yield* Effect.forkScoped(
    BackgroundLoop.run(
      name,
      Effect.andThen(claimable.close, claims.round),
      Effect.raceAllFirst([signal.await, claimable.await, Effect.suspend(() => Effect.sleep(claims.idleMs()))])
    )
  )
  yield* Effect.forkScoped(
    BackgroundLoop.run(
      `${name}, sweep`,
      sweeps.round,
      Effect.suspend(() => Effect.sleep(sweeps.idleMs()))
    )
  )
  return {
    /** Whether the fan-out may lease more deliveries to this process. */
    hasRoom: sending.hasRoom,
    /** Sends deliveries that are leased to this process, or leaves them to claims. */
    offer: sending.offer,
    storeOverdue: sending.storeOverdue,
    wake
  }
})

type Sending = Effect.Success<ReturnType<typeof makeSending>>

/** Sends deliveries and records their attempts. */
const makeSending = Effect.fnUntraced(function* (
  { leaseMs, maxInFlight, send }: LaneOptions,
  backlog: ReturnType<typeof makeBacklog>,
  wake: () => void
) {
  const queue = yield* DeliveryQueue
  const inFlight = makeInFlightDeliveries(maxInFlight)
  const leasedChanges = makeLeasedChanges({ queue, leaseMs, onScheduled: wake })
  const unrecorded = new Set<ClaimedDelivery>()

  // Before the fibers, so that it runs after they are interrupted.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      const givenBack = unrecorded.size === 0 ? Effect.void : Effect.ignore(queue.giveBack([...unrecorded]))
      return Effect.andThen(givenBack, leasedChanges.giveBack)
    })
  )
  const fibers = yield* FiberSet.make<void>()

  const deliver = (delivery: ClaimedDelivery): Effect.Effect<void> =>
    Effect.gen(function* () {
      const completed = yield* send(delivery)
      yield* Effect.uninterruptible(
        Effect.gen(function* () {
          yield* leasedChanges.record(completed).pipe(
            // Its lease expires, and the same bytes are sent again.
            Effect.catchCause((cause) =>
              Effect.logWarning("a delivery attempt could not be recorded", describeCause(cause))
            )
          )
          unrecorded.delete(delivery)
          if (!inFlight.remove(delivery)) return
          wake()
          yield* sendWaiting
        })
      )
    })

  const start = (deliveries: ReadonlyArray<ClaimedDelivery>) =>
    Effect.forEach(
      deliveries,
      (delivery) => {
        unrecorded.add(delivery)
        return FiberSet.run(fibers, deliver(delivery))
      },
      { discard: true }
    )

  /** Beyond half of its limit, a destination with a backlog is left to claims: the backlog is older. */
  const isLeftToClaims = ({ destination }: ClaimedDelivery) =>
    backlog.has(destination) && inFlight.isHalfFull(destination)

  const sendWaiting = Effect.suspend(() => {
    const waiting = leasedChanges.waiting().filter((delivery) => !isLeftToClaims(delivery))
    const admitted = inFlight.admit(waiting, Infinity)
    admitted.forEach(leasedChanges.start)
    return start(admitted)
  })

  return {
    inFlight,

    /** Sends claimed deliveries, in the place of those that were admitted. */
    replace: (admitted: Parameters<typeof inFlight.admit>[0], claimed: ReadonlyArray<ClaimedDelivery>) =>
      Effect.suspend(() => {
        claimed.forEach(inFlight.add)
        admitted.forEach(inFlight.remove)
        return start(claimed)
      }),

    /**
     * Sends those for which there is capacity. Others wait for it, unless their destination has a backlog, or its account or
     * origin is full too.
     */
    offer: (leased: ReadonlyArray<ClaimedDelivery>) =>
      Effect.gen(function* () {
        yield* leasedChanges.add(leased)
        yield* sendWaiting
        const left = leasedChanges
          .waiting()
          .filter(({ destination }) => backlog.has(destination) || inFlight.fullScope(destination) !== destination)
        yield* leasedChanges.leaveToClaims(left)
      }),

    hasRoom: leasedChanges.hasRoom,
    storeOverdue: leasedChanges.storeOverdue
  }
})

/** Rounds that find what is due, admit some of it, and claim that. */
const makeClaimRounds = (
  { lane, leaseMs, maxPerClaim }: LaneOptions,
  of: {
    readonly queue: DeliveryQueue["Service"]
    readonly backlog: ReturnType<typeof makeBacklog>
    readonly sending: Sending
    readonly rest: Effect.Effect<boolean>
  }
) => {
  const { backlog, queue, rest } = of
  const { inFlight, replace } = of.sending
  let from = now
  // Whether deliveries of any age may have become due since the last look that read them all.
  let isOfAllTime = true
  let idleMs = POLL_MS

  const isFree = (destination: string) => inFlight.fullScope(destination) === undefined

  const round = Effect.gen(function* () {
    if (yield* rest) isOfAllTime = true
    const backlogged = backlog.next(isFree, MAX_TURNS)
    const perDestination = Math.min(
      Math.ceil((2 * maxPerClaim) / Math.max(1, backlogged.length)),
      Math.max(1, ...backlogged.map(inFlight.roomAt))
    )
    const look = yield* queue.look(lane, { from, isOfAllTime, backlogged, perDestination })
    // What is newly due at a destination with a backlog comes after the backlog.
    const due = look.due.filter(({ destination, isNewlyDue }) => !isNewlyDue || !backlog.has(destination))
    const admitted = inFlight.admit(due, maxPerClaim)
    const { changed, claimed, left } =
      admitted.length === 0
        ? { changed: 0, claimed: [], left: [] }
        : yield* Effect.tapCause(queue.claim(admitted, leaseMs), () => replace(admitted, []))
    yield* replace(admitted, claimed)
    from = look.reached
    isOfAllTime = isOfAllTime && !look.isCaughtUp

    const taken = new Set(admitted)
    const refused = due.filter((delivery) => !taken.has(delivery)).map(({ destination }) => destination)
    // There may be more where a look reads as many as it may.
    const counts = Map.groupBy(look.due, ({ destination }) => destination)
    const emptied = backlogged.filter((destination) => (counts.get(destination)?.length ?? 0) < perDestination)
    emptied.forEach(backlog.remove)
    for (const destination of [...refused, ...left]) backlog.add(destination)

    idleMs = left.length > 0 ? MIN_IDLE_MS : Math.min(POLL_MS, Math.max(MIN_IDLE_MS, look.nextInMs ?? POLL_MS))
    const isProgress = changed + emptied.length > 0
    return !look.isCaughtUp || (isProgress && backlog.hasNext(isFree)) ? 1 : 0
  }).pipe(Effect.uninterruptible)
  return { round, idleMs: () => idleMs }
}

/** Rounds that add destinations with due deliveries to the backlog, whenever they fell due. */
const makeSweepRounds = (
  { lane }: LaneOptions,
  of: {
    readonly queue: DeliveryQueue["Service"]
    readonly backlog: ReturnType<typeof makeBacklog>
    readonly wake: () => void
  }
) => {
  const position = makeSweepPosition()
  let idleMs = POLL_MS
  const round = Effect.suspend(() => of.queue.sweep(lane, position.next())).pipe(
    Effect.timed,
    Effect.map(([took, swept]) => {
      position.swept(swept)
      idleMs = Math.min(MAX_SWEEP_IDLE_MS, Math.max(POLL_MS, IDLE_PER_SWEEP * Duration.toMillis(took)))
      for (const destination of swept.due ?? []) of.backlog.add(destination)
      if (swept.due !== null) of.wake()
      return 0
    })
  )
  return { round, idleMs: () => idleMs }
}

/** Destinations with a backlog in one look. */
const MAX_TURNS = 100
const POLL_MS = 500
// Retries fall due one by one; a claim waits until some are due together.
const MIN_IDLE_MS = 20
// A sweep takes one part in so many of the time, unless it is very slow.
const IDLE_PER_SWEEP = 20
const MAX_SWEEP_IDLE_MS = 5000
