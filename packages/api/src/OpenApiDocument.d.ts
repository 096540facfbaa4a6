import * as HttpApi from "effect/http-api/HttpApi";
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as Schema from "effect/Schema";
type Json = {
    [key: string]: unknown;
};
/** The bodies that the service sends, by resource. */
export declare const webhookBodies: {
    charge: Schema.Struct<{
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
    payment: Schema.Struct<{
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
    dispute: Schema.Struct<{
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
};
/** The whole document of an API, and of the events it sends. */
export declare const openApiDocument: <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>, bodies?: {
    readonly [resource: string]: Schema.Constraint;
}) => Json;
/** Mends what can be seen in a generated document alone. */
export declare const honestOpenApi: (document: Json) => Json;
export {};
