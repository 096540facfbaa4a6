import * as HttpApi from "effect/http-api/HttpApi";
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint";
import * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as HttpApiSchema from "effect/http-api/HttpApiSchema";
import * as Schema from "effect/Schema";
import { Authentication, RequestErrors } from "./Security.ts";
import { AccountInactive, AccountRestricted, AcquirerRejected, AmountBelowMinimum, ChargeNotFound, IdempotencyKeyRequired, InsufficientBalance, InvalidDocument, InvalidWebhookEvent, InvalidWebhookUrl, MethodNotSupported, PayoutNotFound, ValidationError, WebhookNotFound } from "./WireErrors.ts";
declare const ChargesGroup_base: HttpApiGroup.HttpApiGroup<"charges", HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/v1/charges/", never, never, Schema.toCodecJson<Schema.Struct<{
    readonly amount: Schema.Int;
    readonly method: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly customer: Schema.Struct<{
        readonly name: Schema.String;
        readonly email: Schema.String;
        readonly document: Schema.decodeTo<Schema.String, Schema.String, never, never>;
        readonly phone: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    }>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly reference: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly expires_in: Schema.optionalKey<Schema.NullOr<Schema.Int>>;
    readonly webhook_url: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly webhook_secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>>, Schema.toCodecStringTree<Schema.Struct<{
    "idempotency-key": Schema.String;
}>>, Schema.toCodecJson<Schema.Struct<{
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
}>>, Schema.toCodecJson<typeof IdempotencyKeyRequired | typeof ValidationError | typeof InvalidDocument | typeof MethodNotSupported | typeof AmountBelowMinimum | typeof AccountInactive | typeof InvalidWebhookUrl | typeof AcquirerRejected>, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/v1/charges/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]>>;
    method: Schema.optionalKey<Schema.Literals<readonly ["pix", "boleto", "card"]>>;
    created_after: Schema.optionalKey<Schema.String>;
    created_before: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
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
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/v1/charges/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
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
}>>, Schema.toCodecJson<typeof ChargeNotFound>, Authentication | RequestErrors, never>, false>;
export declare class ChargesGroup extends ChargesGroup_base {
}
declare const PayoutsGroup_base: HttpApiGroup.HttpApiGroup<"payouts", HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/v1/payouts/", never, never, Schema.toCodecJson<Schema.Struct<{
    readonly amount: Schema.Int;
    readonly pix_key_type: Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>;
    readonly pix_key: Schema.String;
    readonly method: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly recipient_name: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly recipient_document: Schema.optionalKey<Schema.NullOr<Schema.decodeTo<Schema.String, Schema.String, never, never>>>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly reference: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly webhook_url: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly webhook_secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>>, Schema.toCodecStringTree<Schema.Struct<{
    "idempotency-key": Schema.String;
}>>, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"payout">;
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
}>>, Schema.toCodecJson<typeof IdempotencyKeyRequired | typeof ValidationError | typeof InvalidDocument | typeof MethodNotSupported | typeof AmountBelowMinimum | typeof InsufficientBalance | typeof AccountInactive | typeof AccountRestricted | typeof InvalidWebhookUrl>, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/v1/payouts/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>>;
    method: Schema.optionalKey<Schema.Literals<readonly ["pix", "ted"]>>;
    created_after: Schema.optionalKey<Schema.String>;
    created_before: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"payout">;
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
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/v1/payouts/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"payout">;
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
}>>, Schema.toCodecJson<typeof PayoutNotFound>, Authentication | RequestErrors, never>, false>;
export declare class PayoutsGroup extends PayoutsGroup_base {
}
declare const BalanceGroup_base: HttpApiGroup.HttpApiGroup<"balance", HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/v1/balance/", never, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"balance">;
    readonly currency: Schema.Literal<"BRL">;
    readonly available: Schema.Int;
    readonly pending: Schema.Int;
    readonly total: Schema.Int;
}>>, never, Authentication | RequestErrors, never>, false>;
export declare class BalanceGroup extends BalanceGroup_base {
}
declare const AccountGroup_base: HttpApiGroup.HttpApiGroup<"account", HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/v1/account/", never, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"account">;
    readonly name: Schema.String;
    readonly legal_name: Schema.String;
    readonly document: Schema.String;
    readonly document_type: Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj"]>, Schema.StringForLiteralAutocomplete]>;
    readonly phone: Schema.String;
    readonly status: Schema.Union<readonly [Schema.Literals<readonly ["active", "inactive"]>, Schema.StringForLiteralAutocomplete]>;
    readonly onboarding_status: Schema.Union<readonly [Schema.Literals<readonly ["pending", "in_review", "completed", "rejected"]>, Schema.StringForLiteralAutocomplete]>;
    readonly auto_payout_enabled: Schema.Boolean;
    readonly created_at: Schema.String;
}>>, never, Authentication | RequestErrors, never>, false>;
export declare class AccountGroup extends AccountGroup_base {
}
declare const WebhooksGroup_base: HttpApiGroup.HttpApiGroup<"webhooks", HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/v1/webhooks/", never, never, Schema.toCodecJson<Schema.Struct<{
    readonly url: Schema.String;
    readonly events: Schema.$Array<Schema.String>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"webhook">;
    readonly url: Schema.String;
    readonly description: Schema.NullOr<Schema.String>;
    readonly events: Schema.$Array<Schema.String>;
    readonly active: Schema.Boolean;
    readonly has_secret: Schema.Boolean;
    readonly created_at: Schema.String;
}>>, Schema.toCodecJson<typeof ValidationError | typeof InvalidWebhookUrl | typeof InvalidWebhookEvent>, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"delete", "DELETE", "/v1/webhooks/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<HttpApiSchema.NoContent>, Schema.toCodecJson<typeof WebhookNotFound>, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"events", "GET", "/v1/webhooks/events", never, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly event: Schema.String;
        readonly resource: Schema.String;
        readonly method: Schema.String;
        readonly action: Schema.String;
        readonly description: Schema.String;
        readonly dispatched: Schema.Boolean;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, never, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/v1/webhooks/", never, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"webhook">;
        readonly url: Schema.String;
        readonly description: Schema.NullOr<Schema.String>;
        readonly events: Schema.$Array<Schema.String>;
        readonly active: Schema.Boolean;
        readonly has_secret: Schema.Boolean;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, never, Authentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"update", "PATCH", "/v1/webhooks/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly url: Schema.optionalKey<Schema.String>;
    readonly events: Schema.optionalKey<Schema.$Array<Schema.String>>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly active: Schema.optionalKey<Schema.Boolean>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"webhook">;
    readonly url: Schema.String;
    readonly description: Schema.NullOr<Schema.String>;
    readonly events: Schema.$Array<Schema.String>;
    readonly active: Schema.Boolean;
    readonly has_secret: Schema.Boolean;
    readonly created_at: Schema.String;
}>>, Schema.toCodecJson<typeof ValidationError | typeof WebhookNotFound | typeof InvalidWebhookUrl | typeof InvalidWebhookEvent>, Authentication | RequestErrors, never>, false>;
export declare class WebhooksGroup extends WebhooksGroup_base {
}
declare const PaymentsApi_base: HttpApi.HttpApi<"payments", typeof ChargesGroup | typeof PayoutsGroup | typeof BalanceGroup | typeof AccountGroup | typeof WebhooksGroup>;
/** The whole of `/v1`. */
export declare class PaymentsApi extends PaymentsApi_base {
}
export {};
