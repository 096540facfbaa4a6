import * as Result from "effect/Result";
import * as Schema from "effect/Schema";
/** What the account pays for each payout: `fixed + round_half_up(amount * basis_points / 10000)`. */
export declare const PayoutFee: Schema.Struct<{
    readonly fixed: Schema.Int;
    readonly basis_points: Schema.Int;
}>;
export type PayoutFee = typeof PayoutFee.Type;
/** An account with its settings and its balance. */
export declare const OperatorAccount: Schema.Struct<{
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
}>;
export type OperatorAccount = typeof OperatorAccount.Type;
/** A client system of an account; it groups keys. */
export declare const Application: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"application">;
    readonly account_id: Schema.String;
    readonly name: Schema.String;
    readonly active: Schema.Boolean;
    readonly created_at: Schema.String;
}>;
export type Application = typeof Application.Type;
/** A key as it is shown at any time after its creation. */
export declare const ApiKey: Schema.Struct<{
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
}>;
export type ApiKey = typeof ApiKey.Type;
/** A key as its creation shows it, this once complete. */
export declare const CreatedApiKey: Schema.Struct<{
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
}>;
export type CreatedApiKey = typeof CreatedApiKey.Type;
export declare const ChargeOrigin: Schema.Literals<readonly ["api", "checkout"]>;
export type ChargeOrigin = typeof ChargeOrigin.Type;
/** Any charge, whoever created it. */
export declare const OperatorCharge: Schema.Struct<{
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
}>;
export type OperatorCharge = typeof OperatorCharge.Type;
export declare const DeliveryStatus: Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>;
export type DeliveryStatus = typeof DeliveryStatus.Type;
/** One event on its way to one destination. */
export declare const Delivery: Schema.Struct<{
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
}>;
export type Delivery = typeof Delivery.Type;
/** A registered endpoint and how deliveries to it fare. */
export declare const OperatorWebhookEndpoint: Schema.Struct<{
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
}>;
export type OperatorWebhookEndpoint = typeof OperatorWebhookEndpoint.Type;
/** How many deliveries were scheduled again. */
export declare const Resent: Schema.Struct<{
    readonly object: Schema.Literal<"resend">;
    readonly deliveries: Schema.Int;
}>;
export type Resent = typeof Resent.Type;
/** One attempt: either the receiver's answer or the error that kept it from us. */
export declare const DeliveryAttempt: Schema.Struct<{
    readonly at: Schema.String;
    readonly duration_ms: Schema.Int;
    readonly address: Schema.NullOr<Schema.String>;
    readonly status_code: Schema.NullOr<Schema.Int>;
    readonly error: Schema.NullOr<Schema.String>;
    readonly response_body: Schema.NullOr<Schema.String>;
}>;
export type DeliveryAttempt = typeof DeliveryAttempt.Type;
export declare const DeliveryDetail: Schema.Struct<{
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
}>;
export type DeliveryDetail = typeof DeliveryDetail.Type;
/** A charge with what happened to it, oldest first, and who was told. */
export declare const OperatorChargeDetail: Schema.Struct<{
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
}>;
export type OperatorChargeDetail = typeof OperatorChargeDetail.Type;
export declare const PayoutOrigin: Schema.Literals<readonly ["api", "dashboard"]>;
export type PayoutOrigin = typeof PayoutOrigin.Type;
/** Any payout, whoever asked for it. */
export declare const OperatorPayout: Schema.Struct<{
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
}>;
export type OperatorPayout = typeof OperatorPayout.Type;
export declare const MessageAuthor: Schema.Literals<readonly ["operator", "platform"]>;
export type MessageAuthor = typeof MessageAuthor.Type;
/** A dispute with what was said in it, oldest first. The defense is a message of the operator. */
export declare const OperatorDispute: Schema.Struct<{
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
}>;
export type OperatorDispute = typeof OperatorDispute.Type;
/** A request to `/v1`, as it was answered. */
export declare const RequestLogEntry: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"request">;
    readonly request_id: Schema.String;
    readonly key_id: Schema.NullOr<Schema.String>;
    readonly route: Schema.String;
    readonly status: Schema.Int;
    readonly duration_ms: Schema.Int;
    readonly created_at: Schema.String;
}>;
export type RequestLogEntry = typeof RequestLogEntry.Type;
/** A state-changing call of an operator. */
export declare const AuditEntry: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"audit_entry">;
    readonly operator: Schema.String;
    readonly action: Schema.String;
    readonly resource_id: Schema.NullOr<Schema.String>;
    readonly request_id: Schema.String;
    readonly created_at: Schema.String;
}>;
export type AuditEntry = typeof AuditEntry.Type;
export declare const LedgerAccountName: Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>;
export type LedgerAccountName = typeof LedgerAccountName.Type;
/** One side of a transfer. The accounts of the installation itself belong to no account. */
export declare const LedgerAccount: Schema.Struct<{
    readonly account_id: Schema.NullOr<Schema.String>;
    readonly name: Schema.Union<readonly [Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>, Schema.StringForLiteralAutocomplete]>;
}>;
export type LedgerAccount = typeof LedgerAccount.Type;
/** A transfer between two ledger accounts: debit and credit are equal by construction. */
export declare const LedgerEntry: Schema.Struct<{
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
}>;
export type LedgerEntry = typeof LedgerEntry.Type;
/** A ledger account's balance: as it is kept, and as the sum of its entries. */
export declare const LedgerBalance: Schema.Struct<{
    readonly account: Schema.Struct<{
        readonly account_id: Schema.NullOr<Schema.String>;
        readonly name: Schema.Union<readonly [Schema.Literals<readonly ["available", "pending", "blocked", "payouts_in_transit", "acquirer", "fees"]>, Schema.StringForLiteralAutocomplete]>;
    }>;
    readonly kept: Schema.Int;
    readonly computed: Schema.Int;
}>;
export type LedgerBalance = typeof LedgerBalance.Type;
export declare const LedgerVerification: Schema.Struct<{
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
}>;
export type LedgerVerification = typeof LedgerVerification.Type;
/** What the dashboard's first page shows, of one account or of all. */
export declare const Stats: Schema.Struct<{
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
}>;
export type Stats = typeof Stats.Type;
/** What `POST /accounts` takes. */
export declare const CreateAccount: Schema.Struct<{
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
}>;
export type CreateAccount = typeof CreateAccount.Type;
/** What `PATCH /accounts/{id}` takes: anything but the document. */
export declare const UpdateAccount: Schema.Struct<{
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
}>;
export type UpdateAccount = typeof UpdateAccount.Type;
export declare const CreateApplication: Schema.Struct<{
    readonly name: Schema.String;
}>;
export type CreateApplication = typeof CreateApplication.Type;
export declare const UpdateApplication: Schema.Struct<{
    readonly name: Schema.optionalKey<Schema.String>;
    readonly active: Schema.optionalKey<Schema.Boolean>;
}>;
export type UpdateApplication = typeof UpdateApplication.Type;
/** What `POST /applications/{id}/keys` takes. That `expires_at` lies ahead is for the handler, which has a clock. */
export declare const CreateApiKey: Schema.Struct<{
    readonly name: Schema.String;
    readonly scopes: Schema.$Array<Schema.Literals<readonly ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read", "account:read", "webhook:read", "webhook:write"]>>;
    readonly expires_at: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>;
export type CreateApiKey = typeof CreateApiKey.Type;
/** `CreateCharge` with the methods of the hosted checkout; `pix` when absent. */
export declare const CreateCheckoutCharge: Schema.Struct<{
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
}>;
export type CreateCheckoutCharge = typeof CreateCheckoutCharge.Type;
/** `CreatePayout` with the methods of the dashboard; `pix` when absent. */
export declare const CreateDashboardPayout: Schema.Struct<{
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
}>;
export type CreateDashboardPayout = typeof CreateDashboardPayout.Type;
/** A defense, or a message in a dispute. */
/** Which failed deliveries are sent again: of an endpoint, of a resource, or of an endpoint about a resource. */
export declare const ResendFailed: Schema.Struct<{
    readonly endpoint_id: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly resource_id: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly since: Schema.String;
}>;
export type ResendFailed = typeof ResendFailed.Type;
export declare const TextBody: Schema.Struct<{
    readonly text: Schema.String;
}>;
export type TextBody = typeof TextBody.Type;
/** What the simulated payer may be told to use. */
export declare const SimulatePay: Schema.Struct<{
    readonly end_to_end_id: Schema.optionalKey<Schema.NullOr<Schema.brand<Schema.String, "EndToEndId">>>;
}>;
export type SimulatePay = typeof SimulatePay.Type;
export declare const SimulateInfraction: Schema.Struct<{
    readonly reason: Schema.String;
    readonly defense_deadline_at: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>;
export type SimulateInfraction = typeof SimulateInfraction.Type;
export declare const SimulateReturn: Schema.Struct<{
    readonly as: Schema.Literals<readonly ["refunded", "charged_back"]>;
}>;
export type SimulateReturn = typeof SimulateReturn.Type;
export declare const SimulateFailure: Schema.Struct<{
    readonly reason: Schema.String;
}>;
export type SimulateFailure = typeof SimulateFailure.Type;
export declare const decodeCreateAccount: (body: unknown) => Result.Result<{
    readonly name: string;
    readonly legal_name: string;
    readonly document: string;
    readonly phone: string;
    readonly status?: "active" | "inactive" | null;
    readonly onboarding_status?: "completed" | "in_review" | "pending" | "rejected" | null;
    readonly auto_payout_enabled?: boolean | null;
    readonly payout_fee?: {
        readonly fixed: number;
        readonly basis_points: number;
    } | null;
    readonly default_expires_in?: number | null;
    readonly release_delay?: number | null;
    readonly payout_duplicate_window?: number | null;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeUpdateAccount: (body: unknown) => Result.Result<{
    readonly name?: string;
    readonly legal_name?: string;
    readonly phone?: string;
    readonly status?: "active" | "inactive";
    readonly onboarding_status?: "completed" | "in_review" | "pending" | "rejected";
    readonly auto_payout_enabled?: boolean;
    readonly payout_fee?: {
        readonly fixed: number;
        readonly basis_points: number;
    };
    readonly default_expires_in?: number;
    readonly release_delay?: number;
    readonly payout_duplicate_window?: number;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeCreateApplication: (body: unknown) => Result.Result<{
    readonly name: string;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeUpdateApplication: (body: unknown) => Result.Result<{
    readonly name?: string;
    readonly active?: boolean;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeCreateApiKey: (body: unknown) => Result.Result<{
    readonly name: string;
    readonly scopes: readonly ("account:read" | "balance:read" | "charge:read" | "charge:write" | "payout:read" | "payout:write" | "webhook:read" | "webhook:write")[];
    readonly expires_at?: string | null;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeCreateCheckoutCharge: (body: unknown) => Result.Result<{
    readonly amount: number;
    readonly customer: {
        readonly name: string;
        readonly email: string;
        readonly document: string;
        readonly phone?: string | null;
    };
    readonly description?: string | null;
    readonly reference?: string | null;
    readonly expires_in?: number | null;
    readonly webhook_url?: string | null;
    readonly webhook_secret?: string | null;
    readonly method?: "boleto" | "card" | "pix" | null;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeCreateDashboardPayout: (body: unknown) => Result.Result<{
    readonly amount: number;
    readonly pix_key_type: "cnpj" | "cpf" | "email" | "phone" | "random";
    readonly pix_key: string;
    readonly recipient_name?: string | null;
    readonly recipient_document?: string | null;
    readonly description?: string | null;
    readonly reference?: string | null;
    readonly webhook_url?: string | null;
    readonly webhook_secret?: string | null;
    readonly method?: "pix" | "ted" | null;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeResendFailed: (body: unknown) => Result.Result<{
    readonly endpoint_id?: string | null;
    readonly resource_id?: string | null;
    readonly since: string;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeTextBody: (body: unknown) => Result.Result<{
    readonly text: string;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeSimulateInfraction: (body: unknown) => Result.Result<{
    readonly reason: string;
    readonly defense_deadline_at?: string | null;
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeSimulateReturn: (body: unknown) => Result.Result<{
    readonly as: "charged_back" | "refunded";
}, import("@pix-payments/domain/Request").Refusal>;
export declare const decodeSimulateFailure: (body: unknown) => Result.Result<{
    readonly reason: string;
}, import("@pix-payments/domain/Request").Refusal>;
/** Nothing has to be said: no body at all is an empty one. */
export declare const decodeSimulatePay: (body: unknown) => Result.Result<{
    readonly end_to_end_id?: (string & import("effect/Brand").Brand<"EndToEndId">) | null;
}, import("@pix-payments/domain/Request").Refusal>;
/** The key of a creation that may go without one; an empty header counts as missing. */
export declare const optionalIdempotencyKey: {
    "idempotency-key": Schema.decodeTo<Schema.optionalKey<Schema.String>, Schema.optionalKey<Schema.String>, never, never>;
};
export declare const chargesQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    account_id: Schema.optionalKey<Schema.String>;
    origin: Schema.optionalKey<Schema.Literals<readonly ["api", "checkout"]>>;
    reference: Schema.optionalKey<Schema.String>;
    end_to_end_id: Schema.optionalKey<Schema.String>;
};
export declare const payoutsQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    account_id: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>>;
};
export declare const disputesQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    charge_id: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["open", "under_review", "won", "lost"]>>;
};
export declare const deliveriesQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["scheduled", "delivering", "delivered", "failed", "canceled"]>>;
    resource_id: Schema.optionalKey<Schema.String>;
    endpoint_id: Schema.optionalKey<Schema.String>;
    event: Schema.optionalKey<Schema.Literals<("charge.boleto.canceled" | "charge.boleto.created" | "charge.boleto.emitted" | "charge.boleto.expired" | "charge.boleto.failed" | "charge.boleto.paid" | "charge.boleto.refunded" | "charge.card.authorized" | "charge.card.canceled" | "charge.card.charged_back" | "charge.card.created" | "charge.card.failed" | "charge.card.paid" | "charge.card.refunded" | "charge.pix.canceled" | "charge.pix.charged_back" | "charge.pix.created" | "charge.pix.emitted" | "charge.pix.expired" | "charge.pix.failed" | "charge.pix.infraction" | "charge.pix.paid" | "charge.pix.refunded" | "dispute.pix.lost" | "dispute.pix.message" | "dispute.pix.opened" | "dispute.pix.won" | "payment.pix.canceled" | "payment.pix.completed" | "payment.pix.created" | "payment.pix.failed" | "payment.pix.processing" | "payment.ted.canceled" | "payment.ted.completed" | "payment.ted.created" | "payment.ted.failed" | "payment.ted.processing")[]>>;
};
export declare const requestsQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    key_id: Schema.optionalKey<Schema.String>;
    route: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Int>;
};
export declare const ledgerQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    account_id: Schema.optionalKey<Schema.String>;
    resource_id: Schema.optionalKey<Schema.String>;
};
export declare const statsQuery: {
    account_id: Schema.optionalKey<Schema.String>;
};
