/**
 * The event envelope: what a webhook receiver gets, to the byte.
 *
 * Guarantees: a body is assembled from an event once, in the transaction that changes the resource, as
 * `{"id":"<delivery id>",` followed by bytes that every delivery of the event shares. Any repeat is the
 * same bytes.
 *
 * Source: payments-api-v1.md "event envelope", "Delivery"; decisions.md "Webhooks".
 */
import * as Schema from "effect/Schema"
import { Charge } from "./Charge.ts"
import { Dispute } from "./Dispute.ts"
import { EventName, partsOf } from "./EventCatalog.ts"
import { Instant } from "./Instant.ts"
import { open } from "./OpenEnum.ts"
import { Payout } from "./Payout.ts"

/** A payout as events show it. */
export const Payment = Schema.Struct({ ...Payout.fields, object: Schema.Literal("payment") }).annotate({
  identifier: "Payment"
})
export type Payment = typeof Payment.Type

const envelopeOf = <D extends Schema.Constraint>(data: D) =>
  Schema.Struct({
    id: Schema.String.annotate({ description: "Delivery id; equals the header X-Webhook-Delivery." }),
    object: Schema.Literal("event"),
    event: open(EventName),
    resource: Schema.String,
    method: Schema.String,
    action: Schema.String,
    created_at: Instant,
    sequence: Schema.Int.annotate({ description: "The resource's, after the change that the event tells of." }),
    data
  })

export const ChargeEvent = envelopeOf(Charge).annotate({ identifier: "ChargeEvent" })
export const PaymentEvent = envelopeOf(Payment).annotate({ identifier: "PaymentEvent" })
export const DisputeEvent = envelopeOf(Dispute).annotate({ identifier: "DisputeEvent" })

/** Any event that this version of the contract names. */
export const WebhookEvent = Schema.Union([ChargeEvent, PaymentEvent, DisputeEvent])
export type WebhookEvent = typeof WebhookEvent.Type

/** The part of a body that all deliveries of one event share: everything behind the delivery's id. */
export const eventBody = (event: {
  readonly name: EventName
  readonly createdAt: string
  readonly sequence: number
  /** The resource in its wire form, as JSON text. */
  readonly dataJson: string
}): string => {
  const { action, method, resource } = partsOf(event.name)
  return (
    `"object":"event","event":"${event.name}","resource":"${resource}","method":"${method}","action":"${action}",` +
    `"created_at":"${event.createdAt}","sequence":${event.sequence},"data":${event.dataJson}}`
  )
}

/** The body of one delivery. */
export const deliveryBody = (deliveryId: string, body: string): string => `{"id":"${deliveryId}",${body}`
