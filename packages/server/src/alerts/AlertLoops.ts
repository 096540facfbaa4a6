/**
 * Finds what operators are alerted of, composes messages, and sends them.
 *
 * Guarantee: of each channel one message is in flight, so that a slow one delays no other.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { describeCause } from "../base/observability/SafeCause.ts"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { detect } from "./Alerts.ts"
import { claimDue, compose, type DueMessage, finish } from "./AlertMessages.ts"
import { AlertSender } from "./AlertSender.ts"

export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const { send } = yield* AlertSender
    const inFlight = yield* FiberSet.make<void>()
    const busy = new Set<string>()

    const deliver = (message: DueMessage) =>
      send(message).pipe(
        Effect.tap((error) =>
          error === undefined
            ? Effect.void
            : Effect.annotateLogs(Effect.logWarning(`an alert was not taken: ${error}`), {
                channel_id: message.channel_id
              })
        ),
        Effect.flatMap((error) => finish(message, error)),
        Effect.catchCause((cause) => Effect.logWarning("the outcome of an alert was not stored", describeCause(cause))),
        Effect.ensuring(Effect.sync(() => busy.delete(message.channel_id)))
      )

    const sending = Effect.gen(function* () {
      const due = yield* claimDue([...busy])
      for (const message of due) {
        busy.add(message.channel_id)
        yield* FiberSet.run(inFlight, deliver(message))
      }
      return 0
    })

    yield* Effect.forkScoped(
      BackgroundLoop.run("alerts", Effect.as(Effect.andThen(detect, compose), 0), Effect.sleep("10 seconds"))
    )
    yield* Effect.forkScoped(BackgroundLoop.run("messages of alerts", sending, Effect.sleep("2 seconds")))
  })
).pipe(Layer.provide(AlertSender.layer))
