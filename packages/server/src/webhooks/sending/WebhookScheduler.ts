/**
 * Delivers webhooks: fans committed changes out, sends due deliveries and schedules retries.
 *
 * Guarantees:
 * - deliveries go out in parallel, bounded in all, by account and by destination, so that a receiver that hangs does not
 *   delay others;
 * - first attempts have their own capacity and never wait behind retries;
 * - a retry is a row with a due time, so that a restart loses none;
 * - a process that stops gives back the leases of deliveries that it has not sent.
 *
 * A first attempt normally comes straight from the fan-out. Claims find deliveries that it inserted without a lease
 * and retries. Rows are polled; `DeliverySignal` wakes the poll at a commit.
 *
 * Rules: DLV-1 to DLV-9, END-5.
 */
import { retrySchedule } from "@pix-payments/domain/RetryCurve"
import { isSuccess } from "@pix-payments/domain/ReceiverAnswer"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import { Metrics } from "../../base/observability/Metrics.ts"
import { Settings } from "../../base/Settings.ts"
import type { Attempt, ClaimedDelivery, CompletedAttempt } from "../deliveries/Delivery.ts"
import { makeDeliveryLane } from "./DeliveryLane.ts"
import * as FanOutLoop from "./FanOutLoop.ts"
import { WebhookSender } from "./WebhookSender.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sender = yield* WebhookSender
    const metrics = yield* Metrics
    const { webhookRetryDelaysMs, webhookTimeoutMs } = yield* Settings
    const nextDelay = yield* Schedule.toStep(retrySchedule(webhookRetryDelaysMs))

    const send = (delivery: ClaimedDelivery) =>
      Effect.gen(function* () {
        const attempt = yield* sender.send(delivery)
        const outcome = yield* outcomeOf(delivery, attempt, nextDelay)
        metrics.attempt(outcome.status === "delivered" ? "delivered" : "failed", attempt.durationMs)
        return { delivery, attempt, outcome }
      })

    const leaseMs = Math.max(MIN_LEASE_MS, TIMEOUTS_PER_LEASE * webhookTimeoutMs)
    const first = yield* makeDeliveryLane({
      lane: "first",
      name: "first attempts",
      maxInFlight: 768,
      maxPerClaim: 100,
      leaseMs,
      send
    })
    yield* makeDeliveryLane({
      lane: "retries",
      name: "retries",
      maxInFlight: 256,
      maxPerClaim: 100,
      leaseMs,
      send
    })
    yield* FanOutLoop.run(first, leaseMs)
  })
)

// A lease outlasts an attempt and its recording, in a slow process too.
const TIMEOUTS_PER_LEASE = 3
const MIN_LEASE_MS = 5000

/** A step of the retry curve, from the number of attempts made. */
type NextDelay = Effect.Success<ReturnType<typeof Schedule.toStep<Duration.Duration, number, never, never>>>

/** The state of a delivery after an attempt. A resend restarts the curve at `curveFrom`. */
const outcomeOf = (
  delivery: ClaimedDelivery,
  attempt: Attempt,
  nextDelay: NextDelay
): Effect.Effect<CompletedAttempt["outcome"]> => {
  if (isSuccess(attempt.statusCode) && attempt.error === null) return Effect.succeed({ status: "delivered" })
  const attemptsMade = delivery.attemptsMade - delivery.curveFrom + 1
  return Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    nextDelay(nowMs, attemptsMade).pipe(
      Effect.map(([, delay]): CompletedAttempt["outcome"] => ({
        status: "scheduled",
        delayMs: Duration.toMillis(delay)
      })),
      Pull.catchDone(() => Effect.succeed<CompletedAttempt["outcome"]>({ status: "failed" }))
    )
  )
}
