/**
 * The operator routes of refunds.
 */
import type { refundFilters } from "@pix-payments/api/operator/Refunds"
import { Refund } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { ofAccount } from "../../../database/statements/Paging.ts"
import { type RefundFilters, RefundStore, toRefund } from "../../../payments/refunds/RefundStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { createdBetween, pageFrom, sumAnswer, walkedAnswer } from "../../pipeline/Lists.ts"
import { notFound, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { makeSettle } from "./SettlementHandlers.ts"
import { csvAnswers, reaisOf } from "../Csv.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const refundHandlers = Effect.gen(function* () {
  const csvAnswer = yield* csvAnswers
  const refunds = yield* RefundStore

  const handlers: OperatorHandlers<"refunds"> = {
    list: ({ query }) =>
      refunds.list(filtersOf(query), pageFrom(query)).pipe(
        ofAccount(query.account_id),
        Effect.map((page) => walkedAnswer(page, toRefund)),
        Effect.catchTags({ UnknownCursor: unknownCursor })
      ),
    summary: ({ query }) => refunds.sum(filtersOf(query)).pipe(ofAccount(query.account_id), Effect.map(sumAnswer)),
    export: ({ caller, query }) =>
      csvAnswer({
        caller,
        columns: refundColumns,
        schema: Refund,
        read: (page) => ofAccount(query.account_id)(refunds.list(filtersOf(query), page)),
        toItem: toRefund
      }),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toRefund(yield* refunds.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

const filtersOf = (query: Schema.Struct<typeof refundFilters>["Type"]): RefundFilters => ({
  chargeId: query.charge_id,
  status: query.status,
  ...createdBetween(query),
  amountMin: query.amount_min,
  amountMax: query.amount_max
})

const refundColumns: Readonly<Record<string, (refund: Refund) => string | null>> = {
  id: ({ id }) => id,
  created_at: (refund) => refund.created_at,
  account_id: (refund) => refund.account_id,
  charge_id: (refund) => refund.charge_id,
  status: ({ status }) => status,
  origin: ({ origin }) => origin,
  amount: ({ amount }) => reaisOf(amount),
  description: ({ description }) => description,
  completed_at: (refund) => refund.completed_at,
  failure_reason: (refund) => refund.failure_reason
}

export const refundActionHandlers = Effect.gen(function* () {
  const refunds = yield* RefundStore
  const settle = yield* makeSettle

  const handlers: OperatorHandlers<"refundActions"> = {
    settle: settle("refund", (id) => Effect.map(refunds.get(id), toRefund))
  }
  return handlers
})
