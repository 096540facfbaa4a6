/**
 * The idempotency key of a creation: IDEM-1 to IDEM-10.
 */
import * as Schema from "effect/Schema"

export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[!-~]{8,255}$/u, { expected: "8 to 255 visible ASCII characters" })
).annotate({ identifier: "IdempotencyKey", description: "8 to 255 visible ASCII characters, unique per operation." })

/** True for a header value that is a key. */
export const isIdempotencyKey = Schema.is(IdempotencyKey)
