/**
 * What an account has: spendable now, received but not yet released, and both together.
 *
 * Source: payments-api-v1.md "balance".
 */
import * as Schema from "effect/Schema"

/** A balance as the API shows it. `available` may be negative after a return that the acquirer ordered. */
export const Balance = Schema.Struct({
  object: Schema.Literal("balance"),
  currency: Schema.Literal("BRL"),
  available: Schema.Int.annotate({ description: "Cents spendable now, net of payouts in progress." }),
  pending: Schema.Int.annotate({ description: "Cents received but not yet released." }),
  total: Schema.Int.annotate({ description: "`available` plus `pending`." })
}).annotate({ identifier: "Balance" })
export type Balance = typeof Balance.Type
