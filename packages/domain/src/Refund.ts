/** A refund: the return of a charge's money, or of a part of it, to its payer. BAL-9, BAL-10. */
import * as Schema from "effect/Schema"

export const RefundStatus = Schema.Literals(["processing", "completed", "failed"])
export type RefundStatus = typeof RefundStatus.Type
export const refundStatuses = RefundStatus.literals
