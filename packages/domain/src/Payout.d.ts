/**
 * Money out: the payout, its states and what moves it.
 *
 * Guarantees: the transition table below is the only place that says what moves a payout and which events
 * tell of it. In events a payout is called `payment`.
 *
 * Source: payments-api-v1.md "payout", "Payout `status`", "POST /v1/payouts"; decisions.md "Payouts".
 */
import * as Schema from "effect/Schema";
export declare const PayoutStatus: Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>;
export type PayoutStatus = typeof PayoutStatus.Type;
/** `pix` is what `/v1` creates; operators may also ask for `ted`. */
export declare const PayoutMethod: Schema.Literals<readonly ["pix", "ted"]>;
export type PayoutMethod = typeof PayoutMethod.Type;
export declare const Recipient: Schema.Struct<{
    readonly name: Schema.NullOr<Schema.String>;
    readonly document: Schema.NullOr<Schema.String>;
    readonly pix_key_type: Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>;
    readonly pix_key: Schema.String;
}>;
/** A payout as the API shows it. */
export declare const Payout: Schema.Struct<{
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
}>;
export type Payout = typeof Payout.Type;
export declare const MINIMUM_PAYOUT_CENTS = 500;
/** What `POST /v1/payouts` takes. */
export declare const CreatePayout: Schema.Struct<{
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
}>;
export type CreatePayout = typeof CreatePayout.Type;
export declare const decodeCreatePayout: (body: unknown) => import("effect/Result").Result<{
    readonly amount: number;
    readonly pix_key_type: "cnpj" | "cpf" | "email" | "phone" | "random";
    readonly pix_key: string;
    readonly method?: string | null;
    readonly recipient_name?: string | null;
    readonly recipient_document?: string | null;
    readonly description?: string | null;
    readonly reference?: string | null;
    readonly webhook_url?: string | null;
    readonly webhook_secret?: string | null;
}, import("./Request.ts").Refusal>;
/** The query of `GET /v1/payouts`. */
export declare const payoutQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["pending", "processing", "completed", "failed", "canceled"]>>;
    method: Schema.optionalKey<Schema.Literals<readonly ["pix", "ted"]>>;
    created_after: Schema.optionalKey<Schema.String>;
    created_before: Schema.optionalKey<Schema.String>;
};
/** What can happen to a payout after it is stored. */
export type PayoutReport = "approved" | "canceled" | "completed" | "failed";
export interface PayoutTransition {
    readonly report: PayoutReport;
    readonly from: ReadonlyArray<PayoutStatus>;
    readonly to: PayoutStatus;
    readonly events: ReadonlyArray<string>;
}
/** Every transition there is. What is not listed is recorded and ignored. */
export declare const payoutTransitions: ReadonlyArray<PayoutTransition>;
/** The transition that a report makes from a state, or `undefined` where it changes nothing. */
export declare const payoutTransition: (report: PayoutReport, from: PayoutStatus) => PayoutTransition | undefined;
/** The state and the events of a new payout, by the account's `auto_payout_enabled`. */
export declare const initialPayout: (autoPayoutEnabled: boolean) => {
    readonly status: PayoutStatus;
    readonly events: ReadonlyArray<string>;
};
