/**
 * The operator routes of adjustments.
 *
 * Rules: OPR-112, OPR-202, OPR-262, OPR-391.
 */
import { type Adjustment, decodeCreateAdjustment } from "@pix-payments/api/operator/Adjustments"
import { ValidationError } from "@pix-payments/api/WireErrors"
import * as Effect from "effect/Effect"
import { Accounts } from "../../../accounts/Accounts.ts"
import { type AdjustmentRow, Adjustments, type NewAdjustment } from "../../../accounts/Adjustments.ts"
import { Ids } from "../../../base/Ids.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { ApprovalStore } from "../../../operators/approvals/ApprovalStore.ts"
import { OrderKeys } from "../../../operators/OrderKeys.ts"
import { answer } from "../../pipeline/Answer.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { insufficientBalance, keyReused, movedTo, refusedAs } from "../../pipeline/WireTranslation.ts"
import { fourEyes, openApprovals } from "../approvals/FourEyes.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

const OPERATION = "adjustments.create"

export const adjustmentHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const adjustments = yield* Adjustments
  const approvals = yield* ApprovalStore
  const audit = yield* AuditLog
  const keys = yield* OrderKeys
  const ids = yield* Ids
  const openApproval = yield* openApprovals
  const { run } = yield* fourEyes

  const shown = (row: AdjustmentRow) => answer(201, toAdjustment(row))

  /** What the first request with a key has led to: an approval that waits, or the adjustment. */
  const replayed = Effect.fnUntraced(function* (resultId: string) {
    const waits = yield* openApproval(resultId)
    if (waits !== undefined) return waits
    const approval = yield* Effect.catchTag(approvals.get(resultId), "NotFoundError", () => Effect.undefined)
    return shown(yield* adjustments.get(approval?.result_id ?? resultId))
  })

  const handlers: OperatorHandlers<"adjustments"> = {
    create: ({ body, idempotencyKey }) =>
      Effect.gen(function* () {
        const { account_id, ...request } = yield* decodeBody(body, decodeCreateAdjustment)
        const { id: accountId, moved_to } = yield* accounts.get(account_id)
        if (moved_to !== null) return yield* movedTo(moved_to)
        const input: NewAdjustment = { accountId, ...request }
        const plan = Effect.as(adjustments.check(input), {
          action: "adjustment.create" as const,
          resourceId: accountId,
          accountId,
          concerns: null,
          request,
          // Without an idempotency key each request is one of its own.
          key: idempotencyKey ?? ids.next().id
        })
        return yield* keys.once(
          { operation: OPERATION, resourceId: accountId, key: idempotencyKey, body },
          (done) =>
            run(
              plan,
              adjustments.create(input, (id) =>
                Effect.andThen(audit.record(OPERATION, id, { after: { account_id: accountId, ...request } }), done(id))
              ),
              shown
            ).pipe(
              Effect.tap(({ body: made }) => (made?.object === "approval" ? Effect.ignore(done(made.id)) : Effect.void))
            ),
          replayed
        )
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: () => new ValidationError({ details: ["account_id"] }),
          InsufficientBalanceError: insufficientBalance,
          KeyReused: keyReused
        })
      )
  }
  return handlers
})

const toAdjustment = (row: AdjustmentRow): Adjustment => ({
  id: row.id,
  object: "adjustment",
  account_id: row.account_id,
  amount: Number(row.amount),
  reason: row.reason,
  created_at: row.created_at.toISOString()
})
