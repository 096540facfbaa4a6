/**
 * Enumerations that may grow inside v1: closed where the service decides, open where a client reads.
 *
 * `Charge.status` is declared as `open(ChargeStatus)`: the known values stay visible to editors and to
 * OpenAPI, and a value from a later release decodes as itself. What a caller may send stays closed.
 *
 * Source: payments-api-v1.md "Versioning" (new enum values are compatible changes).
 */
import * as Schema from "effect/Schema";
/** Accepts the literals of `closed`, and any other string as a generic case. */
export declare const open: <const L extends ReadonlyArray<string>>(closed: Schema.Literals<L>) => Schema.Union<readonly [Schema.Literals<L>, Schema.StringForLiteralAutocomplete]>;
