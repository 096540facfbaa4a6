/**
 * Money in: the charge, its states and what moves it.
 *
 * Guarantees: the transition table below is the only place that says which report moves a charge from
 * where to where and which events tell of it; services, SQL guards and tests read it. `expired` is never
 * stored: it is derived, here, whenever a charge is looked at.
 *
 * Source: payments-api-v1.md "charge", "Charge `status`", "POST /v1/charges"; decisions.md "Charges".
 */
import * as Schema from "effect/Schema";
export declare const ChargeStatus: Schema.Literals<readonly ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]>;
export type ChargeStatus = typeof ChargeStatus.Type;
/** `pix` is what `/v1` creates; the hosted checkout creates the others. */
export declare const ChargeMethod: Schema.Literals<readonly ["pix", "boleto", "card"]>;
export type ChargeMethod = typeof ChargeMethod.Type;
export declare const AccountType: Schema.Literals<readonly ["checking", "savings", "payment", "salary"]>;
/** The account that receives a charge's money, as far as the acquirer tells. */
export declare const Receiver: Schema.Struct<{
    readonly name: Schema.NullOr<Schema.String>;
    readonly document: Schema.NullOr<Schema.String>;
    readonly pix_key: Schema.NullOr<Schema.String>;
    readonly pix_key_type: Schema.NullOr<Schema.Union<readonly [Schema.Literals<readonly ["cpf", "cnpj", "email", "phone", "random"]>, Schema.StringForLiteralAutocomplete]>>;
    readonly institution_name: Schema.NullOr<Schema.String>;
    readonly institution_ispb: Schema.NullOr<Schema.String>;
    readonly branch: Schema.NullOr<Schema.String>;
    readonly account: Schema.NullOr<Schema.String>;
    readonly account_type: Schema.NullOr<Schema.Union<readonly [Schema.Literals<readonly ["checking", "savings", "payment", "salary"]>, Schema.StringForLiteralAutocomplete]>>;
}>;
export type Receiver = typeof Receiver.Type;
/** A charge as the API shows it. */
export declare const Charge: Schema.Struct<{
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
export type Charge = typeof Charge.Type;
export declare const MINIMUM_CHARGE_CENTS = 100;
/** What `POST /v1/charges` takes. */
export declare const CreateCharge: Schema.Struct<{
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
}>;
export type CreateCharge = typeof CreateCharge.Type;
export declare const decodeCreateCharge: (body: unknown) => import("effect/Result").Result<{
    readonly amount: number;
    readonly method?: string | null;
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
}, import("./Request.ts").Refusal>;
/** The query of `GET /v1/charges`. */
export declare const chargeQuery: {
    limit: Schema.optionalKey<Schema.Int>;
    starting_after: Schema.optionalKey<Schema.String>;
    status: Schema.optionalKey<Schema.Literals<readonly ["processing", "pending", "paid", "expired", "canceled", "failed", "refunded", "charged_back", "infraction"]>>;
    method: Schema.optionalKey<Schema.Literals<readonly ["pix", "boleto", "card"]>>;
    created_after: Schema.optionalKey<Schema.String>;
    created_before: Schema.optionalKey<Schema.String>;
};
/** What can happen to a charge after it is stored. */
export type ChargeReport = "emitted" | "refused" | "paid" | "failed" | "canceled" | "refunded" | "infraction" | "charged_back" | "dispute_won";
export interface ChargeTransition {
    readonly report: ChargeReport;
    readonly from: ReadonlyArray<ChargeStatus>;
    readonly to: Exclude<ChargeStatus, "expired">;
    /** The third part of the names of the events that tell of it, in order. */
    readonly events: ReadonlyArray<string>;
}
/** Every transition there is. What is not listed is recorded and ignored. */
export declare const chargeTransitions: ReadonlyArray<ChargeTransition>;
/** The transition that a report makes from a state, or `undefined` where it changes nothing. */
export declare const chargeTransition: (report: ChargeReport, from: ChargeStatus) => ChargeTransition | undefined;
/** The status of a charge at an instant: a pending charge past its expiry is `expired`. */
export declare const chargeStatusAt: (stored: ChargeStatus, expiresAtMs: number | null, nowMs: number) => ChargeStatus;
/** An amount of at least `minimum` cents: less is `AMOUNT_BELOW_MINIMUM`, no amount at all `VALIDATION_ERROR`. */
export declare function amountFrom(minimum: number): Schema.Int;
/** The only method that v1 creates with: another string is `METHOD_NOT_SUPPORTED`. */
export declare function pixOnly(): Schema.String;
