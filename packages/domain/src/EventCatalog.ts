/**
 * The event catalog: EVT-1, EVT-13.
 *
 * Guarantees
 * - `dispatched` is declared here only: changing it turns an event on (EVT-3).
 */
import * as Schema from "effect/Schema"

const catalog = [
  ["charge.pix.created", true, "Pix charge registered."],
  ["charge.pix.emitted", true, "QR code and copy-and-paste available to the payer."],
  ["charge.pix.paid", true, "Pix settled; the event that settles the order."],
  ["charge.pix.expired", false, "QR code expired unpaid."],
  ["charge.pix.failed", true, "Settlement attempted and refused by the provider."],
  ["charge.pix.canceled", true, "Canceled before payment."],
  ["charge.pix.refunded", true, "Value returned to the payer."],
  ["charge.pix.infraction", true, "MED infraction opened; outcome pending."],
  ["charge.pix.charged_back", true, "Return ordered by the MED."],
  ["charge.boleto.created", true, "Boleto charge registered."],
  ["charge.boleto.emitted", true, "Boleto issued."],
  ["charge.boleto.paid", true, "Boleto cleared."],
  ["charge.boleto.expired", false, "Boleto expired."],
  ["charge.boleto.failed", true, "Bank refused registration or clearing."],
  ["charge.boleto.canceled", true, "Boleto withdrawn before payment."],
  ["charge.boleto.refunded", true, "Value returned."],
  ["charge.card.created", true, "Card charge registered."],
  ["charge.card.authorized", false, "Issuer authorized, no capture yet."],
  ["charge.card.paid", true, "Value captured."],
  ["charge.card.failed", true, "Refused by issuer or anti-fraud."],
  ["charge.card.canceled", true, "Authorization canceled before capture."],
  ["charge.card.refunded", true, "Refund granted."],
  ["charge.card.charged_back", true, "Purchase contested with the issuer."],
  ["payment.pix.created", true, "Payment requested and queued."],
  ["payment.pix.processing", true, "Sent to the provider."],
  ["payment.pix.completed", false, "Money credited at the destination."],
  ["payment.pix.failed", true, "Refused by the provider; value returns to available balance."],
  ["payment.pix.canceled", true, "Canceled before processing."],
  ["payment.ted.created", true, "Payment requested and queued."],
  ["payment.ted.processing", true, "Sent to the bank."],
  ["payment.ted.completed", false, "Money credited at the destination."],
  ["payment.ted.failed", true, "Refused by the bank; value returns to available balance."],
  ["payment.ted.canceled", true, "Canceled before processing."],
  ["dispute.pix.opened", true, "Dispute opened; value blocked awaiting defense."],
  ["dispute.pix.message", true, "The platform replied in the dispute chat; text in `data.message`."],
  ["dispute.pix.won", true, "MED denied; blocked value returned to balance."],
  ["dispute.pix.lost", true, "MED accepted; value returned to the payer."]
] as const

/** The full name of an event, `<resource>.<method>.<action>`. */
export type EventName = (typeof catalog)[number][0]

export const eventNames: ReadonlyArray<EventName> = catalog.map(([event]) => event)

export const EventName = Schema.Literals(catalog.map(([event]) => event))

/** An entry of `GET /v1/webhooks/events`. */
export const EventCatalogEntry = Schema.Struct({
  event: Schema.String,
  resource: Schema.String,
  method: Schema.String,
  action: Schema.String,
  description: Schema.String,
  dispatched: Schema.Boolean.annotate({ description: "False while the platform does not yet emit the event." })
}).annotate({ identifier: "EventCatalogEntry" })
export type EventCatalogEntry = typeof EventCatalogEntry.Type

export const eventCatalog: ReadonlyArray<EventCatalogEntry & { readonly event: EventName }> = catalog.map(
  ([event, dispatched, description]) => {
    const { action, method, resource } = partsOf(event)
    return { event, resource, method, action, description, dispatched }
  }
)

const byName: ReadonlyMap<string, EventCatalogEntry & { readonly event: EventName }> = new Map(
  eventCatalog.map((entry) => [entry.event, entry])
)

/** The entry of a name, or `undefined` for a combination that does not exist, such as `charge.card.emitted`. */
export const findEvent = (name: string) => byName.get(name)

export const isEventName = (name: string): name is EventName => byName.has(name)

/** The three parts of a name. */
export function partsOf(name: string): { readonly resource: string; readonly method: string; readonly action: string } {
  const [resource = "", method = "", action = ""] = name.split(".")
  return { resource, method, action }
}
