/**
 * Webhook receivers as simulated processes see them: they answer, refuse, hang, reset, and answer malformed.
 *
 * They record each delivery: its bytes, which may never differ, and how often they answered with success.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Ids } from "../../../src/base/Ids.ts"
import type { Attempt, ClaimedDelivery } from "../../../src/webhooks/deliveries/Delivery.ts"
import { WebhookSender } from "../../../src/webhooks/sending/WebhookSender.ts"
import { hangs } from "./HostileTenant.ts"
import type { Machine, Running } from "./Machine.ts"

export interface Receivers {
  readonly layerFor: (process: Running) => Layer.Layer<WebhookSender, never, Ids>
  /** By the delivery's id. */
  readonly received: ReadonlyMap<string, Received>
  readonly broken: ReadonlyArray<string>
  /** How many attempts have begun and have not ended. */
  readonly inFlight: () => number
}

interface Received {
  readonly url: string
  readonly resourceId: string
  readonly body: string
  /** How often it was answered with a success. */
  accepted: number
}

/** A receiver has so long, in milliseconds. */
export const WEBHOOK_TIMEOUT_MS = 2000

export const makeReceivers = (machine: Machine): Receivers => {
  const received = new Map<string, Received>()
  const broken: Array<string> = []
  let inFlight = 0

  const reach = ({ body, id, url }: ClaimedDelivery): Received => {
    const known = received.get(id)
    if (known !== undefined && known.body !== body) broken.push(`delivery ${id} comes with other bytes: ${body}`)
    const parsed = JSON.parse(body) as { readonly id: string; readonly data: { readonly id: string } }
    if (parsed.id !== id) broken.push(`delivery ${id} carries the id ${parsed.id}`)
    const one = known ?? { url, resourceId: parsed.data.id, body, accepted: 0 }
    received.set(id, one)
    return one
  }

  return {
    received,
    broken,
    inFlight: () => inFlight,
    layerFor: (process) =>
      Layer.effect(
        WebhookSender,
        Effect.map(Ids, (ids) =>
          WebhookSender.of({
            send: (delivery) =>
              Effect.callback<Attempt>((resume) => {
                const startedAtMs = machine.nowMs()
                inFlight++
                const answer = (statusCode: number | null, error: string | null) => {
                  inFlight--
                  machine.note(process, `${delivery.event} to ${delivery.url} -> ${error ?? statusCode}`)
                  machine.as(process, () =>
                    resume(
                      Effect.sync(() => ({
                        id: ids.next().id,
                        atMs: startedAtMs,
                        durationMs: machine.nowMs() - startedAtMs,
                        address: null,
                        statusCode,
                        error,
                        responseBody: null
                      }))
                    )
                  )
                }
                const timeout = () => machine.after(process, WEBHOOK_TIMEOUT_MS, () => answer(null, "timeout"))
                const step = machine.park({
                  process,
                  what: `deliver ${delivery.event}`,
                  take: () => {
                    if (machine.fault("a receiver refuses the connection", 0.06))
                      return answer(null, "connection refused")
                    if (machine.fault("a receiver resets before it reads", 0.03))
                      return answer(null, "connection reset")
                    if (hangs(delivery.url) || machine.fault("a receiver never reads", 0.03)) return void timeout()
                    const one = reach(delivery)
                    if (machine.fault("a receiver fails", 0.08)) {
                      const status = machine.pick([500, 503, 301, 404, 410, 429])
                      return answer(status, `status ${status}`)
                    }
                    if (machine.fault("a receiver answers what is not HTTP", 0.03)) return answer(null, "not HTTP")
                    one.accepted += 1
                    if (machine.fault("a receiver takes it and hangs", 0.03)) return void timeout()
                    if (machine.fault("a receiver takes it and resets", 0.04)) return answer(null, "connection reset")
                    if (machine.fault("a receiver is slow", 0.05)) {
                      return void machine.after(process, machine.below(WEBHOOK_TIMEOUT_MS), () => answer(200, null))
                    }
                    answer(204, null)
                  }
                })
                return Effect.sync(() => machine.withdraw(step))
              })
          })
        )
      )
  }
}
