/**
 * The operator routes of refunds.
 */
import * as Effect from "effect/Effect"
import { RefundStore, toRefund } from "../../../payments/refunds/RefundStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { notFound, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { makeSettle } from "./SettlementHandlers.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const refundHandlers = Effect.gen(function* () {
  const refunds = yield* RefundStore

  const handlers: OperatorHandlers<"refunds"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* refunds.list({ chargeId: query.charge_id, status: query.status }, page)
        return listAnswer(rows, toRefund, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toRefund(yield* refunds.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

export const refundActionHandlers = Effect.gen(function* () {
  const refunds = yield* RefundStore
  const settle = yield* makeSettle

  const handlers: OperatorHandlers<"refundActions"> = {
    settle: settle("refund", (id) => Effect.map(refunds.get(id), toRefund))
  }
  return handlers
})
