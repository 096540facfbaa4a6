/**
 * Signed deliveries for tests of webhook receivers. Separate from `./webhooks`, so that production code does not include it.
 *
 * @module
 */
import { sign, signAttempt, utf8 } from "@pix-payments/domain/Signature"
import type { WebhookEvent } from "./generated/Resources.ts"

/** A delivery to send to a receiver under test. */
export interface TestDelivery {
  /** The body, exactly as it was signed. */
  readonly body: string
  /** Every header that the service sends. */
  readonly headers: Readonly<Record<(typeof HEADERS)[number], string>>
}

/** The headers of a delivery, in lower case (DLV-1, SIG-1, ADD-2). */
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
 * Makes a delivery that is signed as the service signs it.
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
  /** An event, or a body as text. Its `id` becomes `webhook-id`; without an `id`, that is `msg_test`. */
  readonly event: object | string
  /** The receiver's secret. */
  readonly secret: string
  /** When the attempt is sent. Default: now. Receivers reject attempts that are more than five minutes old. */
  readonly sentAt?: Date | undefined
}): Promise<TestDelivery> => {
  const { event, secret, sentAt } = delivery
  const body = typeof event === "string" ? event : JSON.stringify(event)
  const bytes = utf8(body)
  let parsed: Partial<WebhookEvent> = {}
  try {
    parsed = Object(JSON.parse(body))
  } catch {
    // Tests may sign a body that is not an event.
  }
  const id = `${parsed.id ?? "msg_test"}`
  // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
  const timestamp = `${Math.floor((sentAt?.getTime() ?? Date.now()) / 1000)}`
  const values = [
    "application/json",
    "pix-payments-webhooks/1",
    parsed.event,
    parsed.resource,
    parsed.method,
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
