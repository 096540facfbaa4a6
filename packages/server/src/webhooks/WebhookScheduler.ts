/**
 * Sends what is due, and says when a failed delivery is due again.
 *
 * Guarantees: deliveries go out in parallel, bounded in number and for each destination, so that one that hangs
 * does not hold up the others; first attempts have places of their own and never wait behind retries; the retry curve
 * is kept in rows, so that a restart loses none; what a stopping process has claimed and not sent is given back.
 *
 * Rows are the truth and are polled; `Nudge` wakes the poll at a commit.
 *
 * Source: payments-api-v1.md "Delivery"; decisions.md "Webhooks".
 */
import { describeCause } from "../operations/Defects.ts"
import { nextAttemptDelayMs } from "@pix-payments/domain/RetryCurve"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { Nudge } from "../events/Nudge.ts"
import { forever } from "../Loops.ts"
import { Metrics } from "../operations/Metrics.ts"
import { Settings } from "../Settings.ts"
import { type Attempt, type Claimed, DeliveryQueue, type Due, type Lane, type Recorded } from "./DeliveryQueue.ts"
import { makeLookout } from "./Lookout.ts"
import { DESTINATION_LIMIT, isSuccess, WebhookSender } from "./WebhookSender.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* DeliveryQueue
    const sender = yield* WebhookSender
    const settings = yield* Settings
    const nudge = yield* Nudge
    const metrics = yield* Metrics
    const leaseMs = Math.max(LEAST_LEASE_MS, LEASE_TIMEOUTS * settings.webhookTimeoutMs)

    /** A share of the places, with what is claimed for it. */
    const lane = Effect.fnUntraced(function* (
      name: string,
      of: Lane,
      places: number,
      nudged: { readonly rest: Effect.Effect<void>; readonly await: Effect.Effect<void> }
    ) {
      const eased = Latch.makeUnsafe(false)
      const underWay = makeUnderWay(places, () => void eased.openUnsafe())
      const lookout = makeLookout(POLL_MS)

      // Runs last: what the interrupted attempts below held.
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => (underWay.ids.size === 0 ? Effect.void : Effect.ignore(store.release([...underWay.ids]))))
      )
      const sending = yield* FiberSet.make<void>()

      const deliver = (delivery: Claimed) =>
        Effect.gen(function* () {
          const attempt = yield* sender.send(delivery)
          const jitter = yield* Random.next
          const outcome = recorded(delivery, attempt, settings.webhookRetryDelaysMs, jitter)
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

      const begin = Effect.fnUntraced(function* ({ claimed }: Due) {
        for (const delivery of claimed) {
          underWay.add(delivery)
          yield* FiberSet.run(sending, deliver(delivery))
        }
      })

      /** What a claim may take now; nothing where all places are taken. */
      const limitsNow = () => {
        const room = places - underWay.ids.size
        return room > 0 ? { limit: Math.min(room, CLAIM_LIMIT), perDestination: DESTINATION_LIMIT, leaseMs } : undefined
      }

      const claim = Effect.gen(function* () {
        const limits = limitsNow()
        if (limits === undefined) return 0
        const asked = lookout.ask(underWay.full)
        const due = yield* store.claim(of, { ...limits, ...asked })
        lookout.claimed(due, asked.behind, limits)
        yield* begin(due)
        return due.isCaughtUp ? due.count : due.count + 1
        // What is claimed is known of, so that a stopping process can give it back.
      }).pipe(Effect.uninterruptible)

      const sweep = Effect.gen(function* () {
        const startedMs = yield* Clock.currentTimeMillis
        const limits = limitsNow()
        if (limits === undefined || !lookout.wantsSweep(startedMs)) return 0
        const due = yield* store.sweep(of, { ...limits, ...lookout.sweep(underWay.full) })
        lookout.swept(due, limits, startedMs, yield* Clock.currentTimeMillis)
        yield* begin(due)
        return due.count
      }).pipe(Effect.uninterruptible)

      const round = Effect.gen(function* () {
        yield* nudged.rest
        yield* eased.close
        return (yield* claim) + (yield* sweep)
      })

      const idle = Effect.raceAllFirst([nudged.await, eased.await, Effect.sleep(POLL_MS)])
      yield* Effect.forkScoped(forever(name, round, idle))
    })

    yield* lane("first attempts", "first", FIRST_PLACES, nudge)
    yield* lane("retries", "repeated", RETRY_PLACES, nudge.retries)
  })
)

const FIRST_PLACES = 768
const RETRY_PLACES = 256
const CLAIM_LIMIT = 100
const POLL_MS = 500
// A lease outlasts an attempt and its recording, with room for a process that is short of breath.
const LEASE_TIMEOUTS = 3
const LEAST_LEASE_MS = 5000

/** What a lane has claimed and not recorded, by destination. `eased` is called when a bound has room again. */
const makeUnderWay = (places: number, eased: () => void) => {
  const ids = new Set<string>()
  const byDestination = new Map<string, number>()
  // Claimed for again once half has gone, so that a claim is worth its statement.
  const full = new Set<string>()
  return {
    ids,
    full,
    add: ({ destination, id }: Claimed) => {
      ids.add(id)
      const count = (byDestination.get(destination) ?? 0) + 1
      byDestination.set(destination, count)
      if (count >= DESTINATION_LIMIT) full.add(destination)
    },
    remove: ({ destination, id }: Claimed) => {
      if (!ids.delete(id)) return
      const count = (byDestination.get(destination) ?? 1) - 1
      if (count === 0) byDestination.delete(destination)
      else byDestination.set(destination, count)
      if (count <= DESTINATION_LIMIT / 2 && full.delete(destination)) eased()
      if (ids.size === places - CLAIM_LIMIT) eased()
    }
  }
}

/** What becomes of a delivery after an attempt. */
const recorded = (delivery: Claimed, attempt: Attempt, delaysMs: ReadonlyArray<number>, jitter: number): Recorded => {
  if (isSuccess(attempt.statusCode) && attempt.error === null) {
    return { delivery, attempt, outcome: { status: "delivered" } }
  }
  const delayMs = nextAttemptDelayMs(delivery.attemptsMade - delivery.curveFrom + 1, delaysMs, jitter)
  return {
    delivery,
    attempt,
    outcome: delayMs === undefined ? { status: "failed" } : { status: "scheduled", delayMs }
  }
}
