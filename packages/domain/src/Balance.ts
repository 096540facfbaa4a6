/**
 * The balance of an account: BAL-1.
 */
import * as Schema from "effect/Schema"

/** A balance as the API shows it. The acquirer's movements may take `available` below zero (BAL-5). */
export const Balance = Schema.Struct({
  object: Schema.Literal("balance"),
  currency: Schema.Literal("BRL"),
  available: Schema.Int.annotate({ description: "Cents spendable now, net of payouts in progress." }),
  pending: Schema.Int.annotate({ description: "Cents received but not yet released." }),
  total: Schema.Int.annotate({ description: "`available` plus `pending`." })
}).annotate({ identifier: "Balance" })
export type Balance = typeof Balance.Type
