/**
 * The event envelope, which is the body of a delivery: EVT-4, EVT-5.
 *
 * Guarantees
 * - A body is a function of the delivery's id and of what the change committed, so that every attempt sends the same
 *   bytes (DLV-4).
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
    sequence: Schema.Int.annotate({
      description:
        "The resource's, after the change. A lower one is older: act on it, but keep a newer state that you have."
    }),
    data
  })

export const ChargeEvent = envelopeOf(Charge).annotate({ identifier: "ChargeEvent" })
export const PaymentEvent = envelopeOf(Payment).annotate({ identifier: "PaymentEvent" })
export const DisputeEvent = envelopeOf(Dispute).annotate({ identifier: "DisputeEvent" })

/** Any event of the catalog. */
export const WebhookEvent = Schema.Union([ChargeEvent, PaymentEvent, DisputeEvent])
export type WebhookEvent = typeof WebhookEvent.Type

/** The body of a delivery. */
export const deliveryBody = (delivery: {
  readonly deliveryId: string
  readonly name: string
  readonly createdAt: string
  readonly sequence: number
  /** The resource in its wire form, as JSON text. */
  readonly dataJson: string
}): string => {
  const { action, method, resource } = partsOf(delivery.name)
  return (
    `{"id":"${delivery.deliveryId}","object":"event","event":"${delivery.name}","resource":"${resource}",` +
    `"method":"${method}","action":"${action}","created_at":"${delivery.createdAt}",` +
    `"sequence":${delivery.sequence},"data":${delivery.dataJson}}`
  )
}
