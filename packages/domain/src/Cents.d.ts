/**
 * Money in integer cents.
 *
 * Guarantees: an amount is an integer from 0 to the most that EMV field 54 can carry, and the fee is exact at
 * every such amount.
 *
 * Source: decisions.md "Values" (largest amount, payout fee).
 */
import * as Schema from "effect/Schema";
/** 9999999999.99, the thirteen characters of EMV field 54. */
export declare const MAX_CENTS = 999999999999;
export declare const Cents: Schema.brand<Schema.Int, "Cents">;
export type Cents = typeof Cents.Type;
/** The two fee settings of an account. */
export interface FeeSettings {
    readonly fixed: number;
    readonly basis_points: number;
}
/** `fixed + round_half_up(amount * basis_points / 10000)`. */
export declare const payoutFee: (amount: number, fee: FeeSettings) => number;
/** Cents as EMV and the API Pix write them: `1000` is `"10.00"`. */
export declare const formatReais: (cents: number) => string;
