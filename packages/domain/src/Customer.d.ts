/**
 * The payer of a charge.
 *
 * Source: payments-api-v1.md "charge", "POST /v1/charges"; decisions.md "Values" (lengths).
 */
import * as Schema from "effect/Schema";
export declare const Email: Schema.String;
/** A payer as a caller sends it. */
export declare const CustomerInput: Schema.Struct<{
    readonly name: Schema.String;
    readonly email: Schema.String;
    readonly document: Schema.decodeTo<Schema.String, Schema.String, never, never>;
    readonly phone: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>;
/** A payer as the service shows it: the document without mask. */
export declare const Customer: Schema.Struct<{
    readonly name: Schema.String;
    readonly email: Schema.String;
    readonly document: Schema.String;
}>;
export type Customer = typeof Customer.Type;
