/**
 * Sends what is due, and says when a failed delivery is due again.
 *
 * Guarantees: deliveries go out in parallel, bounded in number; the retry curve is kept in rows, so that a
 * restart loses none; what a stopping process has claimed and not sent is given back.
 *
 * Rows are the truth and are polled; `Nudge` wakes the poll at a commit of this process.
 *
 * Source: payments-api-v1.md "Delivery"; decisions.md "Webhooks".
 */
import { nextAttemptDelayMs } from "@pix-payments/domain/RetryCurve"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { Nudge } from "../events/Nudge.ts"
import { forever } from "../Loops.ts"
import { Settings } from "../Settings.ts"
import { type Attempt, type Claimed, DeliveryStore, type Recorded } from "./DeliveryStore.ts"
import { isSuccess, WebhookSender } from "./WebhookSender.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* DeliveryStore
    const sender = yield* WebhookSender
    const settings = yield* Settings
    const nudge = yield* Nudge
    const leaseMs = settings.webhookTimeoutMs + LEASE_MARGIN_MS
    const underWay = new Set<string>()
    const sending = yield* FiberSet.make<void>()

    const deliver = (delivery: Claimed) =>
      Effect.gen(function* () {
        const attempt = yield* sender.send(delivery)
        const jitter = yield* Random.next
        yield* store.record(recorded(delivery, attempt, settings.webhookRetryDelaysMs, jitter))
        underWay.delete(delivery.id)
      }).pipe(
        // Not recorded: the lease runs out and the same bytes are sent again.
        Effect.catchCause((cause) => Effect.logWarning("a delivery attempt could not be recorded", cause)),
        Effect.ensuring(
          Effect.sync(() => {
            if (underWay.size >= CONCURRENCY - 1) nudge.openUnsafe()
          })
        )
      )

    const round = Effect.gen(function* () {
      yield* nudge.close
      const room = CONCURRENCY - underWay.size
      if (room <= 0) return 0
      const claimed = yield* store.claim(Math.min(room, CLAIM_LIMIT), leaseMs)
      for (const delivery of claimed) {
        underWay.add(delivery.id)
        yield* FiberSet.run(sending, deliver(delivery))
      }
      return claimed.length
    })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => (underWay.size === 0 ? Effect.void : Effect.ignore(store.release([...underWay]))))
    )
    yield* Effect.forkScoped(
      forever("webhook deliveries", round, Effect.raceFirst(nudge.await, Effect.sleep(POLL_MS)))
    )
  })
)

const CONCURRENCY = 256
const CLAIM_LIMIT = 100
const POLL_MS = 500
const LEASE_MARGIN_MS = 20_000

/** What becomes of a delivery after an attempt. */
const recorded = (
  delivery: Claimed,
  attempt: Attempt,
  delaysMs: ReadonlyArray<number>,
  jitter: number
): Recorded => {
  if (isSuccess(attempt.statusCode) && attempt.error === null) {
    return { delivery, attempt, outcome: { status: "delivered" } }
  }
  const delayMs = nextAttemptDelayMs(delivery.attemptsMade + 1, delaysMs, jitter)
  return {
    delivery,
    attempt,
    outcome: delayMs === undefined ? { status: "failed" } : { status: "scheduled", delayMs }
  }
}
