/**
 * The event envelope: what a webhook receiver gets, to the byte.
 *
 * Guarantees: a body is a function of its delivery's id and of what the transaction that changed the resource
 * stored, so that any repeat is the same bytes.
 *
 * Source: payments-api-v1.md "event envelope", "Delivery"; decisions.md "Webhooks".
 */
import * as Schema from "effect/Schema";
/** A payout as events show it. */
export declare const Payment: Schema.Struct<{
    readonly id: Schema.String;
    readonly status: Schema.Union<readonly [Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
    readonly method: Schema.Union<readonly [Schema.Literals<readonly ["pix", "ted"]>, Schema.StringForLiteralAutocomplete]>;
    readonly amount: Schema.brand<Schema.Int, "Cents">;
    readonly fee: Schema.brand<Schema.Int, "Cents">;
    readonly currency: Schema.Literal<"BRL">;
    readonly description: Schema.NullOr<Schema.String>;
    readonly reference: Schema.NullOr<Schema.String>;
    readonly recipient: Schema.Struct<{
        readonly name: Schema.NullOr<Schema.String>;
        readonly document: Schema.NullOr<Schema.String>;
        readonly pix_key_type: Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>;
        readonly pix_key: Schema.String;
    }>;
    readonly end_to_end_id: Schema.NullOr<Schema.String>;
    readonly failure_reason: Schema.NullOr<Schema.String>;
    readonly webhook_url: Schema.NullOr<Schema.String>;
    readonly processed_at: Schema.NullOr<Schema.String>;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly object: Schema.Literal<"payment">;
}>;
export type Payment = typeof Payment.Type;
export declare const ChargeEvent: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"event">;
    readonly event: Schema.Union<readonly [Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>, Schema.StringForLiteralAutocomplete]>;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly data: Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"charge">;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]>, Schema.StringForLiteralAutocomplete]>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly currency: Schema.Literal<"BRL">;
        readonly method: Schema.Union<readonly [Schema.Literals<readonly ["pix", "boleto", "card"]>, Schema.StringForLiteralAutocomplete]>;
        readonly description: Schema.NullOr<Schema.String>;
        readonly reference: Schema.NullOr<Schema.String>;
        readonly customer: Schema.NullOr<Schema.Struct<{
            readonly name: Schema.String;
            readonly email: Schema.String;
            readonly document: Schema.String;
        }>>;
        readonly pix: Schema.Struct<{
            readonly br_code: Schema.NullOr<Schema.String>;
            readonly end_to_end_id: Schema.NullOr<Schema.String>;
        }>;
        readonly receiver: Schema.NullOr<Schema.Struct<{
            readonly name: Schema.NullOr<Schema.String>;
            readonly document: Schema.NullOr<Schema.String>;
            readonly pix_key: Schema.NullOr<Schema.String>;
            readonly pix_key_type: Schema.NullOr<Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>>;
            readonly institution_name: Schema.NullOr<Schema.String>;
            readonly institution_ispb: Schema.NullOr<Schema.String>;
            readonly branch: Schema.NullOr<Schema.String>;
            readonly account: Schema.NullOr<Schema.String>;
            readonly account_type: Schema.NullOr<Schema.Union<readonly [Schema.Literals<readonly ["checking", "savings", "payment", "salary"]>, Schema.StringForLiteralAutocomplete]>>;
        }>>;
        readonly webhook_url: Schema.NullOr<Schema.String>;
        readonly expires_at: Schema.NullOr<Schema.String>;
        readonly paid_at: Schema.NullOr<Schema.String>;
        readonly failure_reason: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
        readonly sequence: Schema.Int;
    }>;
}>;
export declare const PaymentEvent: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"event">;
    readonly event: Schema.Union<readonly [Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>, Schema.StringForLiteralAutocomplete]>;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly data: Schema.Struct<{
        readonly id: Schema.String;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
        readonly method: Schema.Union<readonly [Schema.Literals<readonly ["pix", "ted"]>, Schema.StringForLiteralAutocomplete]>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly fee: Schema.brand<Schema.Int, "Cents">;
        readonly currency: Schema.Literal<"BRL">;
        readonly description: Schema.NullOr<Schema.String>;
        readonly reference: Schema.NullOr<Schema.String>;
        readonly recipient: Schema.Struct<{
            readonly name: Schema.NullOr<Schema.String>;
            readonly document: Schema.NullOr<Schema.String>;
            readonly pix_key_type: Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>;
            readonly pix_key: Schema.String;
        }>;
        readonly end_to_end_id: Schema.NullOr<Schema.String>;
        readonly failure_reason: Schema.NullOr<Schema.String>;
        readonly webhook_url: Schema.NullOr<Schema.String>;
        readonly processed_at: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
        readonly sequence: Schema.Int;
        readonly object: Schema.Literal<"payment">;
    }>;
}>;
export declare const DisputeEvent: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"event">;
    readonly event: Schema.Union<readonly [Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>, Schema.StringForLiteralAutocomplete]>;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly data: Schema.Struct<{
        readonly object: Schema.Literal<"dispute">;
        readonly id: Schema.String;
        readonly charge_id: Schema.String;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["open", "under_review", "won", "lost"]>, Schema.StringForLiteralAutocomplete]>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly currency: Schema.Literal<"BRL">;
        readonly reason: Schema.NullOr<Schema.String>;
        readonly reference: Schema.NullOr<Schema.String>;
        readonly opened_at: Schema.NullOr<Schema.String>;
        readonly defense_deadline_at: Schema.NullOr<Schema.String>;
        readonly resolved_at: Schema.NullOr<Schema.String>;
        readonly arrived_resolved: Schema.Boolean;
        readonly message: Schema.optionalKey<Schema.String>;
        readonly sequence: Schema.Int;
    }>;
}>;
/** Any event that this version of the contract names. */
export declare const WebhookEvent: Schema.Union<readonly [Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"event">;
    readonly event: Schema.Union<readonly [Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>, Schema.StringForLiteralAutocomplete]>;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly data: Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"charge">;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]>, Schema.StringForLiteralAutocomplete]>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly currency: Schema.Literal<"BRL">;
        readonly method: Schema.Union<readonly [Schema.Literals<readonly ["pix", "boleto", "card"]>, Schema.StringForLiteralAutocomplete]>;
        readonly description: Schema.NullOr<Schema.String>;
        readonly reference: Schema.NullOr<Schema.String>;
        readonly customer: Schema.NullOr<Schema.Struct<{
            readonly name: Schema.String;
            readonly email: Schema.String;
            readonly document: Schema.String;
        }>>;
        readonly pix: Schema.Struct<{
            readonly br_code: Schema.NullOr<Schema.String>;
            readonly end_to_end_id: Schema.NullOr<Schema.String>;
        }>;
        readonly receiver: Schema.NullOr<Schema.Struct<{
            readonly name: Schema.NullOr<Schema.String>;
            readonly document: Schema.NullOr<Schema.String>;
            readonly pix_key: Schema.NullOr<Schema.String>;
            readonly pix_key_type: Schema.NullOr<Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>>;
            readonly institution_name: Schema.NullOr<Schema.String>;
            readonly institution_ispb: Schema.NullOr<Schema.String>;
            readonly branch: Schema.NullOr<Schema.String>;
            readonly account: Schema.NullOr<Schema.String>;
            readonly account_type: Schema.NullOr<Schema.Union<readonly [Schema.Literals<readonly ["checking", "savings", "payment", "salary"]>, Schema.StringForLiteralAutocomplete]>>;
        }>>;
        readonly webhook_url: Schema.NullOr<Schema.String>;
        readonly expires_at: Schema.NullOr<Schema.String>;
        readonly paid_at: Schema.NullOr<Schema.String>;
        readonly failure_reason: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
        readonly sequence: Schema.Int;
    }>;
}>, Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"event">;
    readonly event: Schema.Union<readonly [Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>, Schema.StringForLiteralAutocomplete]>;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly data: Schema.Struct<{
        readonly id: Schema.String;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
        readonly method: Schema.Union<readonly [Schema.Literals<readonly ["pix", "ted"]>, Schema.StringForLiteralAutocomplete]>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly fee: Schema.brand<Schema.Int, "Cents">;
        readonly currency: Schema.Literal<"BRL">;
        readonly description: Schema.NullOr<Schema.String>;
        readonly reference: Schema.NullOr<Schema.String>;
        readonly recipient: Schema.Struct<{
            readonly name: Schema.NullOr<Schema.String>;
            readonly document: Schema.NullOr<Schema.String>;
            readonly pix_key_type: Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>;
            readonly pix_key: Schema.String;
        }>;
        readonly end_to_end_id: Schema.NullOr<Schema.String>;
        readonly failure_reason: Schema.NullOr<Schema.String>;
        readonly webhook_url: Schema.NullOr<Schema.String>;
        readonly processed_at: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
        readonly sequence: Schema.Int;
        readonly object: Schema.Literal<"payment">;
    }>;
}>, Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"event">;
    readonly event: Schema.Union<readonly [Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>, Schema.StringForLiteralAutocomplete]>;
    readonly resource: Schema.String;
    readonly method: Schema.String;
    readonly action: Schema.String;
    readonly created_at: Schema.String;
    readonly sequence: Schema.Int;
    readonly data: Schema.Struct<{
        readonly object: Schema.Literal<"dispute">;
        readonly id: Schema.String;
        readonly charge_id: Schema.String;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["open", "under_review", "won", "lost"]>, Schema.StringForLiteralAutocomplete]>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly currency: Schema.Literal<"BRL">;
        readonly reason: Schema.NullOr<Schema.String>;
        readonly reference: Schema.NullOr<Schema.String>;
        readonly opened_at: Schema.NullOr<Schema.String>;
        readonly defense_deadline_at: Schema.NullOr<Schema.String>;
        readonly resolved_at: Schema.NullOr<Schema.String>;
        readonly arrived_resolved: Schema.Boolean;
        readonly message: Schema.optionalKey<Schema.String>;
        readonly sequence: Schema.Int;
    }>;
}>]>;
export type WebhookEvent = typeof WebhookEvent.Type;
/** The body of one delivery: always the same bytes for the same delivery. */
export declare const deliveryBody: (delivery: {
    readonly deliveryId: string;
    readonly name: string;
    readonly createdAt: string;
    readonly sequence: number;
    /** The resource in its wire form, as JSON text. */
    readonly dataJson: string;
}) => string;
