/**
 * For tests of receivers: deliveries as the service sends and signs them. Nothing of it is in `./webhooks`, so that no
 * receiver in production carries what only its tests need.
 *
 * @module
 */
import { sign, signAttempt, utf8 } from "@pix-payments/domain/Signature"
import type { WebhookEvent } from "./generated/Resources.ts"

/** A delivery to send to a receiver under test. */
export interface TestDelivery {
  /** The body, byte for byte as it is signed. */
  readonly body: string
  /** All headers of a delivery of the service. */
  readonly headers: Readonly<Record<(typeof HEADERS)[number], string>>
}

/** The headers of a delivery, in lower case. */
const HEADERS = [
  "content-type",
  "user-agent",
  "x-webhook-event",
  "x-webhook-resource",
  "x-webhook-method",
  "x-webhook-delivery",
  "x-webhook-signature",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature"
] as const

/**
 * Signs an event as the service does, for tests of a receiver.
 *
 * @example
 * ```ts
 * import { signForTest } from "@pix-payments/client/testing"
 *
 * const { body, headers } = await signForTest({
 *   event: { id: "1", event: "charge.pix.paid", resource: "charge", method: "pix", data: { object: "charge", id: "1" } },
 *   secret: "the secret of the endpoint"
 * })
 * await fetch("http://127.0.0.1:8080/webhooks", { method: "POST", body, headers })
 * ```
 */
export const signForTest = async (delivery: {
  /** An event, or a body as it is. `webhook-id` is its `id`, `msg_test` where it has none. */
  readonly event: object | string
  /** The secret of the receiver. */
  readonly secret: string
  /** When the attempt is sent; now when absent. Receivers refuse one that is more than five minutes old. */
  readonly sentAt?: Date | undefined
}): Promise<TestDelivery> => {
  const { event, secret, sentAt } = delivery
  const body = typeof event === "string" ? event : JSON.stringify(event)
  const bytes = utf8(body)
  let read: Partial<WebhookEvent> = {}
  try {
    read = Object(JSON.parse(body))
  } catch {
    // It is no event, and is signed all the same.
  }
  const id = `${read.id ?? "msg_test"}`
  // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
  const timestamp = `${Math.floor((sentAt?.getTime() ?? Date.now()) / 1000)}`
  const values = [
    "application/json",
    "pix-payments-webhooks/1",
    read.event,
    read.resource,
    read.method,
    id,
    await sign(secret, bytes),
    id,
    timestamp,
    await signAttempt(secret, id, timestamp, bytes)
  ]
  return {
    body,
    headers: Object.fromEntries(HEADERS.map((name, index) => [name, `${values[index]}`])) as TestDelivery["headers"]
  }
}
