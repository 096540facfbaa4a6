/**
 * The events that the platform knows, as data. The type of their names derives from it.
 *
 * Turning an event on is a change of one word: `dispatched` is read from here and nowhere else.
 *
 * Source: payments-api-v1.md "Naming", "Catalog".
 */
import * as Schema from "effect/Schema";
declare const catalog: readonly [readonly ["charge.pix.created", true, "Pix charge registered."], readonly ["charge.pix.emitted", true, "QR code and copy-and-paste available to the payer."], readonly ["charge.pix.paid", true, "Pix settled; the event that settles the order."], readonly ["charge.pix.expired", false, "QR code expired unpaid."], readonly ["charge.pix.failed", true, "Settlement attempted and refused by the provider."], readonly ["charge.pix.canceled", true, "Canceled before payment."], readonly ["charge.pix.refunded", true, "Value returned to the payer."], readonly ["charge.pix.infraction", true, "MED infraction opened; outcome pending."], readonly ["charge.pix.charged_back", true, "Return ordered by the MED."], readonly ["charge.boleto.created", true, "Boleto charge registered."], readonly ["charge.boleto.emitted", true, "Boleto issued."], readonly ["charge.boleto.paid", true, "Boleto cleared."], readonly ["charge.boleto.expired", false, "Boleto expired."], readonly ["charge.boleto.failed", true, "Bank refused registration or clearing."], readonly ["charge.boleto.canceled", true, "Boleto withdrawn before payment."], readonly ["charge.boleto.refunded", true, "Value returned."], readonly ["charge.card.created", true, "Card charge registered."], readonly ["charge.card.authorized", false, "Issuer authorized, no capture yet."], readonly ["charge.card.paid", true, "Value captured."], readonly ["charge.card.failed", true, "Refused by issuer or anti-fraud."], readonly ["charge.card.canceled", true, "Authorization canceled before capture."], readonly ["charge.card.refunded", true, "Refund granted."], readonly ["charge.card.charged_back", true, "Purchase contested with the issuer."], readonly ["payment.pix.created", true, "Payment requested and queued."], readonly ["payment.pix.processing", true, "Sent to the provider."], readonly ["payment.pix.completed", false, "Money credited at the destination."], readonly ["payment.pix.failed", true, "Refused by the provider; value returns to available balance."], readonly ["payment.pix.canceled", true, "Canceled before processing."], readonly ["payment.ted.created", true, "Payment requested and queued."], readonly ["payment.ted.processing", true, "Sent to the bank."], readonly ["payment.ted.completed", false, "Money credited at the destination."], readonly ["payment.ted.failed", true, "Refused by the bank; value returns to available balance."], readonly ["payment.ted.canceled", true, "Canceled before processing."], readonly ["dispute.pix.opened", true, "Dispute opened; value blocked awaiting defense."], readonly ["dispute.pix.message", true, "The platform replied in the dispute chat; text in `data.message`."], readonly ["dispute.pix.won", true, "MED denied; blocked value returned to balance."], readonly ["dispute.pix.lost", true, "MED accepted; value returned to the payer."]];
/** The full name of an event, `<resource>.<method>.<action>`. */
export type EventName = (typeof catalog)[number][0];
export declare const eventNames: ReadonlyArray<EventName>;
export declare const EventName: Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>;
/** An entry of `GET /v1/webhooks/events`. */
export declare const EventCatalogEntry: Schema.Struct<{
    readonly event: Schema.String;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly description: Schema.String;
    readonly dispatched: Schema.Boolean;
}>;
export type EventCatalogEntry = typeof EventCatalogEntry.Type;
export declare const eventCatalog: ReadonlyArray<EventCatalogEntry & {
    readonly event: EventName;
}>;
/** The entry of a name, or `undefined` for a combination that means nothing, such as `charge.card.emitted`. */
export declare const findEvent: (name: string) => ({
    readonly event: string;
    readonly resource: string;
    readonly method: string;
    readonly action: string;
    readonly description: string;
    readonly dispatched: boolean;
} & {
    readonly event: EventName;
}) | undefined;
export declare const isEventName: (name: string) => name is EventName;
/** The three parts of a name. */
export declare function partsOf(name: string): {
    readonly resource: string;
    readonly method: string;
    readonly action: string;
};
export {};
