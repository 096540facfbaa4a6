/**
 * The idempotency key of a creation: IDEM-1 to IDEM-10.
 */
import * as Schema from "effect/Schema"

export const IDEMPOTENCY_KEY_SHAPE = "8 to 255 visible ASCII characters"

export const IdempotencyKey = Schema.String.check(
  Schema.isPattern(/^[!-~]{8,255}$/u, { expected: IDEMPOTENCY_KEY_SHAPE })
).annotate({ identifier: "IdempotencyKey", description: `${IDEMPOTENCY_KEY_SHAPE}, unique per operation.` })

/** True for a header value that is a key. */
export const isIdempotencyKey = Schema.is(IdempotencyKey)
