/**
 * The key that makes a creation repeatable: 8 to 255 visible ASCII characters (`!` to `~`).
 *
 * Its scope is (application, kind of resource), and it is remembered for as long as the resource is.
 *
 * Source: payments-api-v1.md "Idempotency"; decisions.md "Values", "Finer points" (empty counts as missing).
 */
import * as Schema from "effect/Schema";
export declare const IdempotencyKey: Schema.String;
/** True for a header value that is a key. */
export declare const isIdempotencyKey: <I>(input: I) => input is I & string;
