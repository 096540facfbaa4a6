/**
 * What an account has: spendable now, received but not yet released, and both together.
 *
 * Source: payments-api-v1.md "balance".
 */
import * as Schema from "effect/Schema";
/** A balance as the API shows it. `available` may be negative after a return that the acquirer ordered. */
export declare const Balance: Schema.Struct<{
    readonly object: Schema.Literal<"balance">;
    readonly currency: Schema.Literal<"BRL">;
    readonly available: Schema.Int;
    readonly pending: Schema.Int;
    readonly total: Schema.Int;
}>;
export type Balance = typeof Balance.Type;
