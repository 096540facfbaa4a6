import * as HttpApi from "effect/http-api/HttpApi";
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint";
import * as HttpApiGroup from "effect/http-api/HttpApiGroup";
import * as Schema from "effect/Schema";
import { OperatorAuthentication, RequestErrors } from "./Security.ts";
import { AccountInactive, AccountRestricted, AcquirerRejected, AmountBelowMinimum, InsufficientBalance, InvalidDocument, InvalidState, InvalidWebhookUrl, NotFound, ValidationError } from "./WireErrors.ts";
declare const AccountsGroup_base: HttpApiGroup.HttpApiGroup<"accounts", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/accounts/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
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
        readonly payout_fee: Schema.Struct<{
            readonly fixed: Schema.Int;
            readonly basis_points: Schema.Int;
        }>;
        readonly default_expires_in: Schema.Int;
        readonly release_delay: Schema.Int;
        readonly payout_duplicate_window: Schema.Int;
        readonly balance: Schema.Struct<{
            readonly object: Schema.Literal<"balance">;
            readonly currency: Schema.Literal<"BRL">;
            readonly available: Schema.Int;
            readonly pending: Schema.Int;
            readonly total: Schema.Int;
        }>;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/operator/v1/accounts/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly payout_fee: Schema.Struct<{
        readonly fixed: Schema.Int;
        readonly basis_points: Schema.Int;
    }>;
    readonly default_expires_in: Schema.Int;
    readonly release_delay: Schema.Int;
    readonly payout_duplicate_window: Schema.Int;
    readonly balance: Schema.Struct<{
        readonly object: Schema.Literal<"balance">;
        readonly currency: Schema.Literal<"BRL">;
        readonly available: Schema.Int;
        readonly pending: Schema.Int;
        readonly total: Schema.Int;
    }>;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/operator/v1/accounts/", never, never, Schema.toCodecJson<Schema.Struct<{
    readonly name: Schema.String;
    readonly legal_name: Schema.String;
    readonly document: Schema.decodeTo<Schema.String, Schema.String, never, never>;
    readonly phone: Schema.String;
    readonly status: Schema.optionalKey<Schema.NullOr<Schema.Literals<readonly ["active", "inactive"]>>>;
    readonly onboarding_status: Schema.optionalKey<Schema.NullOr<Schema.Literals<readonly ["pending", "in_review", "completed", "rejected"]>>>;
    readonly auto_payout_enabled: Schema.optionalKey<Schema.NullOr<Schema.Boolean>>;
    readonly payout_fee: Schema.optionalKey<Schema.NullOr<Schema.Struct<{
        readonly fixed: Schema.Int;
        readonly basis_points: Schema.Int;
    }>>>;
    readonly default_expires_in: Schema.optionalKey<Schema.NullOr<Schema.Int>>;
    readonly release_delay: Schema.optionalKey<Schema.NullOr<Schema.Int>>;
    readonly payout_duplicate_window: Schema.optionalKey<Schema.NullOr<Schema.Int>>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly payout_fee: Schema.Struct<{
        readonly fixed: Schema.Int;
        readonly basis_points: Schema.Int;
    }>;
    readonly default_expires_in: Schema.Int;
    readonly release_delay: Schema.Int;
    readonly payout_duplicate_window: Schema.Int;
    readonly balance: Schema.Struct<{
        readonly object: Schema.Literal<"balance">;
        readonly currency: Schema.Literal<"BRL">;
        readonly available: Schema.Int;
        readonly pending: Schema.Int;
        readonly total: Schema.Int;
    }>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof InvalidDocument>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"update", "PATCH", "/operator/v1/accounts/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly name: Schema.optionalKey<Schema.String>;
    readonly legal_name: Schema.optionalKey<Schema.String>;
    readonly phone: Schema.optionalKey<Schema.String>;
    readonly status: Schema.optionalKey<Schema.Literals<readonly ["active", "inactive"]>>;
    readonly onboarding_status: Schema.optionalKey<Schema.Literals<readonly ["pending", "in_review", "completed", "rejected"]>>;
    readonly auto_payout_enabled: Schema.optionalKey<Schema.Boolean>;
    readonly payout_fee: Schema.optionalKey<Schema.Struct<{
        readonly fixed: Schema.Int;
        readonly basis_points: Schema.Int;
    }>>;
    readonly default_expires_in: Schema.optionalKey<Schema.Int>;
    readonly release_delay: Schema.optionalKey<Schema.Int>;
    readonly payout_duplicate_window: Schema.optionalKey<Schema.Int>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly payout_fee: Schema.Struct<{
        readonly fixed: Schema.Int;
        readonly basis_points: Schema.Int;
    }>;
    readonly default_expires_in: Schema.Int;
    readonly release_delay: Schema.Int;
    readonly payout_duplicate_window: Schema.Int;
    readonly balance: Schema.Struct<{
        readonly object: Schema.Literal<"balance">;
        readonly currency: Schema.Literal<"BRL">;
        readonly available: Schema.Int;
        readonly pending: Schema.Int;
        readonly total: Schema.Int;
    }>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class AccountsGroup extends AccountsGroup_base {
}
declare const ApplicationsGroup_base: HttpApiGroup.HttpApiGroup<"applications", HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/operator/v1/accounts/:id/applications", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly name: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"application">;
    readonly account_id: Schema.String;
    readonly name: Schema.String;
    readonly active: Schema.Boolean;
    readonly created_at: Schema.String;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"update", "PATCH", "/operator/v1/applications/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly name: Schema.optionalKey<Schema.String>;
    readonly active: Schema.optionalKey<Schema.Boolean>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"application">;
    readonly account_id: Schema.String;
    readonly name: Schema.String;
    readonly active: Schema.Boolean;
    readonly created_at: Schema.String;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/accounts/:id/applications", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"application">;
        readonly account_id: Schema.String;
        readonly name: Schema.String;
        readonly active: Schema.Boolean;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class ApplicationsGroup extends ApplicationsGroup_base {
}
declare const KeysGroup_base: HttpApiGroup.HttpApiGroup<"keys", HttpApiEndpoint.HttpApiEndpoint<"revoke", "POST", "/operator/v1/keys/:id/revoke", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"api_key">;
    readonly application_id: Schema.String;
    readonly name: Schema.String;
    readonly prefix: Schema.String;
    readonly scopes: Schema.$Array<Schema.Union<readonly [Schema.Literals<readonly ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read", "account:read", "webhook:read", "webhook:write"]>, Schema.StringForLiteralAutocomplete]>>;
    readonly expires_at: Schema.NullOr<Schema.String>;
    readonly revoked_at: Schema.NullOr<Schema.String>;
    readonly last_used_at: Schema.NullOr<Schema.String>;
    readonly created_at: Schema.String;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/operator/v1/applications/:id/keys", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly name: Schema.String;
    readonly scopes: Schema.$Array<Schema.Literals<readonly ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read", "account:read", "webhook:read", "webhook:write"]>>;
    readonly expires_at: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"api_key">;
    readonly application_id: Schema.String;
    readonly name: Schema.String;
    readonly prefix: Schema.String;
    readonly scopes: Schema.$Array<Schema.Union<readonly [Schema.Literals<readonly ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read", "account:read", "webhook:read", "webhook:write"]>, Schema.StringForLiteralAutocomplete]>>;
    readonly expires_at: Schema.NullOr<Schema.String>;
    readonly revoked_at: Schema.NullOr<Schema.String>;
    readonly last_used_at: Schema.NullOr<Schema.String>;
    readonly created_at: Schema.String;
    readonly key: Schema.String;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/applications/:id/keys", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"api_key">;
        readonly application_id: Schema.String;
        readonly name: Schema.String;
        readonly prefix: Schema.String;
        readonly scopes: Schema.$Array<Schema.Union<readonly [Schema.Literals<readonly ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read", "account:read", "webhook:read", "webhook:write"]>, Schema.StringForLiteralAutocomplete]>>;
        readonly expires_at: Schema.NullOr<Schema.String>;
        readonly revoked_at: Schema.NullOr<Schema.String>;
        readonly last_used_at: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class KeysGroup extends KeysGroup_base {
}
declare const ChargesGroup_base: HttpApiGroup.HttpApiGroup<"charges", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/charges/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    account_id: Schema.optionalKey<Schema.String>;
    origin: Schema.optionalKey<Schema.Literals<readonly ["api", "checkout"]>>;
    reference: Schema.optionalKey<Schema.String>;
    end_to_end_id: Schema.optionalKey<Schema.String>;
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
        readonly account_id: Schema.String;
        readonly application_id: Schema.String;
        readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/operator/v1/charges/:id", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
    readonly history: Schema.$Array<Schema.Struct<{
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]>, Schema.StringForLiteralAutocomplete]>;
        readonly event: Schema.NullOr<Schema.String>;
        readonly at: Schema.String;
    }>>;
    readonly deliveries: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"delivery">;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
        readonly event: Schema.String;
        readonly resource_id: Schema.String;
        readonly endpoint_id: Schema.NullOr<Schema.String>;
        readonly url: Schema.String;
        readonly attempts_made: Schema.Int;
        readonly next_attempt_at: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class ChargesGroup extends ChargesGroup_base {
}
declare const ChargeActionsGroup_base: HttpApiGroup.HttpApiGroup<"chargeActions", HttpApiEndpoint.HttpApiEndpoint<"cancel", "POST", "/operator/v1/charges/:id/cancel", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"refund", "POST", "/operator/v1/charges/:id/refund", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof AcquirerRejected | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class ChargeActionsGroup extends ChargeActionsGroup_base {
}
declare const CheckoutChargesGroup_base: HttpApiGroup.HttpApiGroup<"checkoutCharges", HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/operator/v1/applications/:id/checkout-charges/", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly amount: Schema.Int;
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
    readonly method: Schema.optionalKey<Schema.NullOr<Schema.Literals<readonly ["pix", "boleto", "card"]>>>;
}>>, Schema.toCodecStringTree<Schema.Struct<{
    "idempotency-key": Schema.decodeTo<Schema.optionalKey<Schema.String>, Schema.optionalKey<Schema.String>, never, never>;
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof InvalidDocument | typeof AmountBelowMinimum | typeof AccountInactive | typeof InvalidWebhookUrl | typeof AcquirerRejected | typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class CheckoutChargesGroup extends CheckoutChargesGroup_base {
}
declare const PayoutsGroup_base: HttpApiGroup.HttpApiGroup<"payouts", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/payouts/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    account_id: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>>;
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
        readonly account_id: Schema.String;
        readonly application_id: Schema.NullOr<Schema.String>;
        readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
        readonly duplicate_of: Schema.NullOr<Schema.String>;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/operator/v1/payouts/:id", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.NullOr<Schema.String>;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
    readonly duplicate_of: Schema.NullOr<Schema.String>;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class PayoutsGroup extends PayoutsGroup_base {
}
declare const PayoutActionsGroup_base: HttpApiGroup.HttpApiGroup<"payoutActions", HttpApiEndpoint.HttpApiEndpoint<"approve", "POST", "/operator/v1/payouts/:id/approve", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.NullOr<Schema.String>;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
    readonly duplicate_of: Schema.NullOr<Schema.String>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"cancel", "POST", "/operator/v1/payouts/:id/cancel", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.NullOr<Schema.String>;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
    readonly duplicate_of: Schema.NullOr<Schema.String>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"create", "POST", "/operator/v1/accounts/:id/payouts", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly amount: Schema.Int;
    readonly pix_key_type: Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>;
    readonly pix_key: Schema.String;
    readonly recipient_name: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly recipient_document: Schema.optionalKey<Schema.NullOr<Schema.decodeTo<Schema.String, Schema.String, never, never>>>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly reference: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly webhook_url: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly webhook_secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly method: Schema.optionalKey<Schema.NullOr<Schema.Literals<readonly ["pix", "ted"]>>>;
}>>, Schema.toCodecStringTree<Schema.Struct<{
    "idempotency-key": Schema.decodeTo<Schema.optionalKey<Schema.String>, Schema.optionalKey<Schema.String>, never, never>;
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.NullOr<Schema.String>;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
    readonly duplicate_of: Schema.NullOr<Schema.String>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof InvalidDocument | typeof AmountBelowMinimum | typeof InsufficientBalance | typeof AccountInactive | typeof AccountRestricted | typeof InvalidWebhookUrl | typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class PayoutActionsGroup extends PayoutActionsGroup_base {
}
declare const DisputesGroup_base: HttpApiGroup.HttpApiGroup<"disputes", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/disputes/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    charge_id: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["open", "under_review", "won", "lost"]>>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
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
        readonly account_id: Schema.String;
        readonly messages: Schema.$Array<Schema.Struct<{
            readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
            readonly text: Schema.String;
            readonly at: Schema.String;
        }>>;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/operator/v1/disputes/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class DisputesGroup extends DisputesGroup_base {
}
declare const DisputeActionsGroup_base: HttpApiGroup.HttpApiGroup<"disputeActions", HttpApiEndpoint.HttpApiEndpoint<"defense", "POST", "/operator/v1/disputes/:id/defense", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly text: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"message", "POST", "/operator/v1/disputes/:id/messages", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly text: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class DisputeActionsGroup extends DisputeActionsGroup_base {
}
declare const DeliveriesGroup_base: HttpApiGroup.HttpApiGroup<"deliveries", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/deliveries/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>>;
    resource_id: Schema.optionalKey<Schema.String>;
    endpoint_id: Schema.optionalKey<Schema.String>;
    event: Schema.optionalKey<Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"delivery">;
        readonly status: Schema.Union<readonly [Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
        readonly event: Schema.String;
        readonly resource_id: Schema.String;
        readonly endpoint_id: Schema.NullOr<Schema.String>;
        readonly url: Schema.String;
        readonly attempts_made: Schema.Int;
        readonly next_attempt_at: Schema.NullOr<Schema.String>;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/operator/v1/deliveries/:id", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"delivery">;
    readonly status: Schema.Union<readonly [Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
    readonly event: Schema.String;
    readonly resource_id: Schema.String;
    readonly endpoint_id: Schema.NullOr<Schema.String>;
    readonly url: Schema.String;
    readonly attempts_made: Schema.Int;
    readonly next_attempt_at: Schema.NullOr<Schema.String>;
    readonly created_at: Schema.String;
    readonly attempts: Schema.$Array<Schema.Struct<{
        readonly at: Schema.String;
        readonly duration_ms: Schema.Int;
        readonly address: Schema.NullOr<Schema.String>;
        readonly status_code: Schema.NullOr<Schema.Int>;
        readonly error: Schema.NullOr<Schema.String>;
        readonly response_body: Schema.NullOr<Schema.String>;
    }>>;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class DeliveriesGroup extends DeliveriesGroup_base {
}
declare const DeliveryActionsGroup_base: HttpApiGroup.HttpApiGroup<"deliveryActions", HttpApiEndpoint.HttpApiEndpoint<"resendFailed", "POST", "/operator/v1/deliveries/resend", never, never, Schema.toCodecJson<Schema.Struct<{
    readonly endpoint_id: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly resource_id: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly since: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"resend">;
    readonly deliveries: Schema.Int;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"resend", "POST", "/operator/v1/deliveries/:id/resend", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"delivery">;
    readonly status: Schema.Union<readonly [Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>, Schema.StringForLiteralAutocomplete]>;
    readonly event: Schema.String;
    readonly resource_id: Schema.String;
    readonly endpoint_id: Schema.NullOr<Schema.String>;
    readonly url: Schema.String;
    readonly attempts_made: Schema.Int;
    readonly next_attempt_at: Schema.NullOr<Schema.String>;
    readonly created_at: Schema.String;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class DeliveryActionsGroup extends DeliveryActionsGroup_base {
}
declare const WebhookEndpointsGroup_base: HttpApiGroup.HttpApiGroup<"webhookEndpoints", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/applications/:id/webhooks", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
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
        readonly consecutive_failures: Schema.Int;
        readonly success_rate: Schema.NullOr<Schema.Finite>;
        readonly last_success_at: Schema.NullOr<Schema.String>;
        readonly last_failure_at: Schema.NullOr<Schema.String>;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof NotFound>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class WebhookEndpointsGroup extends WebhookEndpointsGroup_base {
}
declare const RequestsGroup_base: HttpApiGroup.HttpApiGroup<"requests", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/requests/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    key_id: Schema.optionalKey<Schema.String>;
    route: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Int>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"request">;
        readonly request_id: Schema.String;
        readonly key_id: Schema.NullOr<Schema.String>;
        readonly route: Schema.String;
        readonly status: Schema.Int;
        readonly duration_ms: Schema.Int;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class RequestsGroup extends RequestsGroup_base {
}
declare const AuditGroup_base: HttpApiGroup.HttpApiGroup<"audit", HttpApiEndpoint.HttpApiEndpoint<"list", "GET", "/operator/v1/audit/", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"audit_entry">;
        readonly operator: Schema.String;
        readonly action: Schema.String;
        readonly resource_id: Schema.NullOr<Schema.String>;
        readonly request_id: Schema.String;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class AuditGroup extends AuditGroup_base {
}
declare const LedgerGroup_base: HttpApiGroup.HttpApiGroup<"ledger", HttpApiEndpoint.HttpApiEndpoint<"verify", "GET", "/operator/v1/ledger/verify", never, never, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"ledger_verification">;
    readonly consistent: Schema.Boolean;
    readonly accounts: Schema.$Array<Schema.Struct<{
        readonly account: Schema.Struct<{
            readonly account_id: Schema.NullOr<Schema.String>;
            readonly name: Schema.Union<readonly [Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>, Schema.StringForLiteralAutocomplete]>;
        }>;
        readonly kept: Schema.Int;
        readonly computed: Schema.Int;
    }>>;
    readonly differences: Schema.$Array<Schema.Struct<{
        readonly account: Schema.Struct<{
            readonly account_id: Schema.NullOr<Schema.String>;
            readonly name: Schema.Union<readonly [Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>, Schema.StringForLiteralAutocomplete]>;
        }>;
        readonly kept: Schema.Int;
        readonly computed: Schema.Int;
    }>>;
}>>, never, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"entries", "GET", "/operator/v1/ledger/entries", never, Schema.toCodecStringTree<Schema.Struct<{
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    account_id: Schema.optionalKey<Schema.String>;
    resource_id: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"list">;
    readonly data: Schema.$Array<Schema.Struct<{
        readonly id: Schema.String;
        readonly object: Schema.Literal<"ledger_entry">;
        readonly reason: Schema.String;
        readonly resource_id: Schema.NullOr<Schema.String>;
        readonly from: Schema.Struct<{
            readonly account_id: Schema.NullOr<Schema.String>;
            readonly name: Schema.Union<readonly [Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>, Schema.StringForLiteralAutocomplete]>;
        }>;
        readonly to: Schema.Struct<{
            readonly account_id: Schema.NullOr<Schema.String>;
            readonly name: Schema.Union<readonly [Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>, Schema.StringForLiteralAutocomplete]>;
        }>;
        readonly amount: Schema.brand<Schema.Int, "Cents">;
        readonly created_at: Schema.String;
    }>>;
    readonly has_more: Schema.Boolean;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class LedgerGroup extends LedgerGroup_base {
}
declare const StatsGroup_base: HttpApiGroup.HttpApiGroup<"stats", HttpApiEndpoint.HttpApiEndpoint<"retrieve", "GET", "/operator/v1/stats/", never, Schema.toCodecStringTree<Schema.Struct<{
    account_id: Schema.optionalKey<Schema.String>;
}>>, never, never, Schema.toCodecJson<Schema.Struct<{
    readonly object: Schema.Literal<"stats">;
    readonly charges: Schema.$Record<Schema.String, Schema.Int>;
    readonly payouts: Schema.$Record<Schema.String, Schema.Int>;
    readonly disputes: Schema.$Record<Schema.String, Schema.Int>;
    readonly deliveries: Schema.$Record<Schema.String, Schema.Int>;
    readonly volume_per_day: Schema.$Array<Schema.Struct<{
        readonly date: Schema.String;
        readonly charges_paid: Schema.Int;
        readonly charges_amount: Schema.Int;
        readonly payouts_created: Schema.Int;
        readonly payouts_amount: Schema.Int;
    }>>;
    readonly deliveries_due: Schema.Int;
    readonly oldest_due_at: Schema.NullOr<Schema.String>;
    readonly success_rate: Schema.NullOr<Schema.Finite>;
}>>, Schema.toCodecJson<typeof ValidationError>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class StatsGroup extends StatsGroup_base {
}
declare const SimulatorChargesGroup_base: HttpApiGroup.HttpApiGroup<"simulatorCharges", HttpApiEndpoint.HttpApiEndpoint<"fail", "POST", "/operator/v1/simulator/charges/:id/fail", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"pay", "POST", "/operator/v1/simulator/charges/:id/pay", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly end_to_end_id: Schema.optionalKey<Schema.NullOr<Schema.brand<Schema.String, "EndToEndId">>>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class SimulatorChargesGroup extends SimulatorChargesGroup_base {
}
declare const SimulatorReturnsGroup_base: HttpApiGroup.HttpApiGroup<"simulatorReturns", HttpApiEndpoint.HttpApiEndpoint<"refund", "POST", "/operator/v1/simulator/charges/:id/refund", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"infraction", "POST", "/operator/v1/simulator/charges/:id/infraction", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly reason: Schema.String;
    readonly defense_deadline_at: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"return", "POST", "/operator/v1/simulator/charges/:id/return", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly as: Schema.Literals<readonly ["refunded", "charged_back"]>;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.String;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "checkout"]>, Schema.StringForLiteralAutocomplete]>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class SimulatorReturnsGroup extends SimulatorReturnsGroup_base {
}
declare const SimulatorDisputesGroup_base: HttpApiGroup.HttpApiGroup<"simulatorDisputes", HttpApiEndpoint.HttpApiEndpoint<"lose", "POST", "/operator/v1/simulator/disputes/:id/lose", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"win", "POST", "/operator/v1/simulator/disputes/:id/win", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, never, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"message", "POST", "/operator/v1/simulator/disputes/:id/message", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly text: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly messages: Schema.$Array<Schema.Struct<{
        readonly author: Schema.Union<readonly [Schema.Literals<readonly ["operator", "platform"]>, Schema.StringForLiteralAutocomplete]>;
        readonly text: Schema.String;
        readonly at: Schema.String;
    }>>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class SimulatorDisputesGroup extends SimulatorDisputesGroup_base {
}
declare const SimulatorPayoutsGroup_base: HttpApiGroup.HttpApiGroup<"simulatorPayouts", HttpApiEndpoint.HttpApiEndpoint<"complete", "POST", "/operator/v1/simulator/payouts/:id/complete", Schema.toCodecStringTree<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.NullOr<Schema.String>;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
    readonly duplicate_of: Schema.NullOr<Schema.String>;
}>>, Schema.toCodecJson<typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never> | HttpApiEndpoint.HttpApiEndpoint<"fail", "POST", "/operator/v1/simulator/payouts/:id/fail", Schema.toCodecStringTree<Schema.Struct<{
    id: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
    readonly reason: Schema.String;
}>>, never, Schema.toCodecJson<Schema.Struct<{
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
    readonly account_id: Schema.String;
    readonly application_id: Schema.NullOr<Schema.String>;
    readonly origin: Schema.Union<readonly [Schema.Literals<readonly ["api", "dashboard"]>, Schema.StringForLiteralAutocomplete]>;
    readonly duplicate_of: Schema.NullOr<Schema.String>;
}>>, Schema.toCodecJson<typeof ValidationError | typeof NotFound | typeof InvalidState>, OperatorAuthentication | RequestErrors, never>, false>;
export declare class SimulatorPayoutsGroup extends SimulatorPayoutsGroup_base {
}
declare const OperatorApi_base: HttpApi.HttpApi<"operator", typeof AccountsGroup | typeof ApplicationsGroup | typeof KeysGroup | typeof ChargesGroup | typeof ChargeActionsGroup | typeof CheckoutChargesGroup | typeof PayoutsGroup | typeof PayoutActionsGroup | typeof DisputesGroup | typeof DisputeActionsGroup | typeof DeliveriesGroup | typeof DeliveryActionsGroup | typeof WebhookEndpointsGroup | typeof RequestsGroup | typeof AuditGroup | typeof LedgerGroup | typeof StatsGroup | typeof SimulatorChargesGroup | typeof SimulatorReturnsGroup | typeof SimulatorDisputesGroup | typeof SimulatorPayoutsGroup>;
/** The whole of `/operator/v1`. */
export declare class OperatorApi extends OperatorApi_base {
}
export {};
