/**
 * Fans committed changes out, sends what is due, and says when a failed delivery is due again.
 *
 * Guarantees: deliveries go out in parallel, bounded in number, for each account and for each destination, so that one
 * that hangs does not hold up the others; first attempts have places of their own and never wait behind retries; the
 * retry curve is kept in rows, so that a restart loses none; what a stopping process has claimed and not sent is given
 * back.
 *
 * A first attempt normally comes straight from the fan-out. Claims find what it inserted without a lease, retries, and
 * what the previous release inserted. Rows are the truth and are polled; `DeliverySignal` wakes the poll at a commit.
 *
 * Rules: DLV-1 to DLV-9, END-5.
 */
import { describeCause } from "../observability/SafeCause.ts"
import { retrySchedule } from "@pix-payments/domain/RetryCurve"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import { DeliverySignal } from "../events/DeliverySignal.ts"
import * as BackgroundLoop from "../observability/BackgroundLoop.ts"
import { Metrics } from "../observability/Metrics.ts"
import { Settings } from "../Settings.ts"
import type { Lane } from "./Claimed.ts"
import { type Attempt, type Claimed, DeliveryQueue, type Due, type Recorded } from "./DeliveryQueue.ts"
import { FanOut } from "./FanOut.ts"
import { makeClaimCursor } from "./ClaimCursor.ts"
import { makeInFlightDeliveries } from "./InFlightDeliveries.ts"
import { isSuccess, WebhookSender } from "./WebhookSender.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* DeliveryQueue
    const outbox = yield* FanOut
    const sender = yield* WebhookSender
    const settings = yield* Settings
    const signal = yield* DeliverySignal
    const metrics = yield* Metrics
    const nextDelay = yield* Schedule.toStep(retrySchedule(settings.webhookRetryDelaysMs))
    const leaseMs = Math.max(LEAST_LEASE_MS, LEASE_TIMEOUTS * settings.webhookTimeoutMs)

    /** A share of the places, with what is claimed for it. */
    const lane = Effect.fnUntraced(function* (
      name: string,
      of: Lane,
      { atOnce, places }: Share,
      nudged: { readonly rest: Effect.Effect<void>; readonly await: Effect.Effect<void> }
    ) {
      const eased = Latch.makeUnsafe(false)
      const underWay = makeInFlightDeliveries(places, atOnce, () => void eased.openUnsafe())
      const lookout = makeClaimCursor()
      let idleMs = POLL_MS
      let fanOutIdleMs = POLL_MS
      let sweepIdleMs = POLL_MS

      // Runs last: what the interrupted attempts below held.
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          const claimed = underWay.all()
          return claimed.length === 0 ? Effect.void : Effect.ignore(store.release(claimed))
        })
      )
      const sending = yield* FiberSet.make<void>()

      const deliver = (delivery: Claimed) =>
        Effect.gen(function* () {
          const attempt = yield* sender.send(delivery)
          const outcome = yield* outcomeOf(delivery, attempt, nextDelay)
          metrics.attempt(outcome.outcome.status === "delivered" ? "delivered" : "failed", attempt.durationMs)
          yield* Effect.uninterruptible(
            store.record(outcome).pipe(
              // Not recorded: the lease runs out and the same bytes are sent again.
              Effect.catchCause((cause) =>
                Effect.logWarning("a delivery attempt could not be recorded", describeCause(cause))
              ),
              Effect.andThen(Effect.sync(() => underWay.remove(delivery)))
            )
          )
        })

      // What is claimed is known of, so that a stopping process can give it back.
      const begin = Effect.fnUntraced(function* ({ claimed }: Pick<Due, "claimed">) {
        for (const delivery of claimed) {
          underWay.add(delivery)
          yield* FiberSet.run(sending, deliver(delivery))
        }
      })

      const claim = Effect.gen(function* () {
        yield* nudged.rest
        yield* eased.close
        const room = underWay.room()
        if (room === undefined) return 0
        const { behind, except, from } = lookout.ask(room)
        const due = yield* store.claim(of, { ...room, leaseMs, from, except, behind })
        yield* begin(due)
        idleMs = Math.min(POLL_MS, Math.max(LEAST_IDLE_MS, due.nextInMs ?? POLL_MS))
        const isMore = lookout.claimed(due, behind, room)
        // What waits for an endpoint is not asked for again without a pause.
        if (due.isCaughtUp && due.claimed.length === 0 && due.locked.size > 0) {
          idleMs = LEAST_IDLE_MS
          return 0
        }
        return isMore ? 1 : 0
      }).pipe(Effect.uninterruptible)

      const sweep = Effect.gen(function* () {
        const room = underWay.room()
        if (room === undefined) return 0
        const due = yield* store.sweep(of, { ...room, leaseMs, ...lookout.sweep(room) })
        yield* begin(due)
        return lookout.swept(due, room) ? 1 : 0
      }).pipe(
        Effect.uninterruptible,
        Effect.timed,
        Effect.map(([took, count]) => {
          sweepIdleMs = Math.min(LONGEST_SWEEP_IDLE_MS, Math.max(POLL_MS, SWEEP_SHARE * Duration.toMillis(took)))
          return count
        })
      )

      const fanOut = Effect.gen(function* () {
        yield* signal.rest
        const room = underWay.room()
        const except = room === undefined ? [] : lookout.ask(room).except
        const round = yield* outbox.round({ room, leaseMs, except })
        yield* begin(round)
        lookout.left(round.left)
        if (round.left.length > 0) signal.wake()
        fanOutIdleMs = round.waiting > 0 ? LEAST_IDLE_MS : POLL_MS
        return round.isMore && round.waiting === 0 ? 1 : 0
      }).pipe(Effect.uninterruptible)

      const fanOutApart = Effect.map(outbox.apart, ({ ended, left }) => {
        lookout.left(left)
        if (left.length > 0) signal.wake()
        return ended
      })

      const idle = Effect.raceAllFirst([nudged.await, eased.await, Effect.suspend(() => Effect.sleep(idleMs))])
      yield* Effect.forkScoped(BackgroundLoop.run(name, claim, idle))
      if (of === "first") {
        const fanOutIdle = Effect.raceFirst(
          signal.await,
          Effect.suspend(() => Effect.sleep(fanOutIdleMs))
        )
        yield* Effect.forkScoped(BackgroundLoop.run("fan-out", fanOut, fanOutIdle))
        yield* Effect.forkScoped(BackgroundLoop.run("fan-out, apart", fanOutApart, Effect.sleep(POLL_MS)))
      }
      yield* Effect.forkScoped(
        BackgroundLoop.run(
          `${name}, sweep`,
          sweep,
          Effect.suspend(() => Effect.sleep(sweepIdleMs))
        )
      )
    })

    yield* lane("first attempts", "first", FIRST, signal.first)
    yield* lane("retries", "repeated", RETRIES, signal.retries)
  })
)

/** How much a lane may have under way, and take at once. */
interface Share {
  readonly places: number
  readonly atOnce: number
}

const FIRST: Share = { places: 768, atOnce: 100 }
const RETRIES: Share = { places: 256, atOnce: 100 }
const POLL_MS = 500
// Retries fall due one by one and go out so; a claim is worth its statement for some of them.
const LEAST_IDLE_MS = 20
// Sweeps take one part in so many of the time, unless they take very long.
const SWEEP_SHARE = 20
const LONGEST_SWEEP_IDLE_MS = 5000
// A lease outlasts an attempt and its recording, with room for a process that is short of breath.
const LEASE_TIMEOUTS = 3
const LEAST_LEASE_MS = 5000

/** A step of the retry curve, from the number of attempts made. */
type NextDelay = Effect.Success<ReturnType<typeof Schedule.toStep<Duration.Duration, number, never, never>>>

/** The state of a delivery after an attempt. A resend starts the curve again at `curveFrom`. */
const outcomeOf = (delivery: Claimed, attempt: Attempt, nextDelay: NextDelay): Effect.Effect<Recorded> => {
  if (isSuccess(attempt.statusCode) && attempt.error === null) {
    return Effect.succeed({ delivery, attempt, outcome: { status: "delivered" } })
  }
  const attemptsMade = delivery.attemptsMade - delivery.curveFrom + 1
  return Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    nextDelay(nowMs, attemptsMade).pipe(
      Effect.map(([, delay]): Recorded["outcome"] => ({ status: "scheduled", delayMs: Duration.toMillis(delay) })),
      Pull.catchDone(() => Effect.succeed<Recorded["outcome"]>({ status: "failed" })),
      Effect.map((outcome) => ({ delivery, attempt, outcome }))
    )
  )
}
