/** A refund: the return of a charge's money, or of a part of it, to its payer. BAL-9, BAL-10. */
import * as Schema from "effect/Schema"
import { ProviderOutcome } from "./AcquirerException.ts"
import { Cents } from "./Cents.ts"
import { Instant } from "./Instant.ts"
import { open } from "./OpenEnum.ts"

export const RefundStatus = Schema.Literals(["processing", "completed", "failed"])
export type RefundStatus = typeof RefundStatus.Type
export const refundStatuses = RefundStatus.literals

/** `provider`: the provider reported a return that no operator ordered. */
export const RefundOrigin = Schema.Literals(["operator", "provider"])
export type RefundOrigin = typeof RefundOrigin.Type

/** `dispute`: the money of a MED. */
export const RefundNature = Schema.Literals(["original", "withdrawal", "dispute"])
export type RefundNature = typeof RefundNature.Type

/** A refund as operators see it. */
export const Refund = Schema.Struct({
  id: Schema.String.annotate({ format: "uuid" }),
  object: Schema.Literal("refund"),
  charge_id: Schema.String.annotate({ format: "uuid" }),
  account_id: Schema.String.annotate({ format: "uuid" }),
  origin: open(RefundOrigin),
  status: open(RefundStatus),
  amount: Cents.annotate({ description: "Cents." }),
  currency: Schema.Literal("BRL"),
  description: Schema.NullOr(Schema.String),
  nature: Schema.NullOr(open(RefundNature)).annotateKey({ description: "`dispute` for the money of a MED." }),
  failure_reason: Schema.NullOr(Schema.String),
  provider_outcome: Schema.NullOr(open(ProviderOutcome)).annotateKey({
    description: "What the provider says, where it contradicts the books."
  }),
  created_at: Instant,
  completed_at: Schema.NullOr(Instant)
}).annotate({ identifier: "Refund" })
export type Refund = typeof Refund.Type
