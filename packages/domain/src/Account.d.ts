/**
 * The company that a key belongs to.
 *
 * Source: payments-api-v1.md "account"; decisions.md "Values", "Finer points" (defaults of a new account).
 */
import * as Schema from "effect/Schema";
export declare const AccountStatus: Schema.Literals<readonly ["active", "inactive"]>;
export type AccountStatus = typeof AccountStatus.Type;
export declare const OnboardingStatus: Schema.Literals<readonly ["pending", "in_review", "completed", "rejected"]>;
export type OnboardingStatus = typeof OnboardingStatus.Type;
/** An account as `GET /v1/account` shows it. */
export declare const Account: Schema.Struct<{
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
}>;
export type Account = typeof Account.Type;
/** The default of the central bank's API Pix. */
export declare const DEFAULT_EXPIRES_IN_SECONDS = 86400;
