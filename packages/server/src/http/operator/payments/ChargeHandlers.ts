/**
 * The operator routes of charges and checkout charges.
 */
import {
  type chargeFilters,
  decodeCreateCheckoutCharge,
  decodeRefundBody,
  OperatorCharge
} from "@pix-payments/api/operator/Charges"
import type { Operator } from "@pix-payments/api/Security"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { Accounts } from "../../../accounts/Accounts.ts"
import { Cancellations } from "../../../payments/charges/Cancellations.ts"
import { RefundOrders, RefundRejected } from "../../../payments/refunds/RefundOrders.ts"
import { toCharge } from "../../../payments/charges/ChargeResource.ts"
import { Charges } from "../../../payments/charges/Charges.ts"
import type { ChargeWalkFilters } from "../../../payments/charges/ChargeWalks.ts"
import { ChargeRejected, type Created, NewCharges } from "../../../payments/charges/NewCharges.ts"
import type { StoredCharge } from "../../../payments/charges/ChargeTable.ts"
import { EventHistory } from "../../../events/EventHistory.ts"
import { AuditLog, withoutSecrets } from "../../../operations/AuditLog.ts"
import { RefundStore, type ShownRefund, toRefund } from "../../../payments/refunds/RefundStore.ts"
import { DeliveryStore } from "../../../webhooks/deliveries/DeliveryStore.ts"
import { type Done, OrderKeys } from "../../../operators/OrderKeys.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import {
  accountInactive,
  insufficientBalance,
  invalidState,
  keyReused,
  notFound,
  refusedAs,
  rejected,
  unknownCursor
} from "../../pipeline/WireTranslation.ts"
import { toDelivery } from "../operations/DeliveryHandlers.ts"
import { answer, created } from "../../pipeline/Answer.ts"
import type { Page } from "../../../database/statements/Paging.ts"
import { createdBetween, documentFrom, instantFrom, pageFrom, sumAnswer, walkedAnswer } from "../../pipeline/Lists.ts"
import { csvAnswers, reaisOf } from "../Csv.ts"
import { isHidden, knownId, NO_PAGE, NOTHING, type OperatorHandlers } from "../OperatorHandlers.ts"

export const chargeHandlers = Effect.gen(function* () {
  const csvAnswer = yield* csvAnswers
  const charges = yield* Charges
  const history = yield* EventHistory
  const deliveries = yield* DeliveryStore
  const refunds = yield* RefundStore

  /** Reads pages of the charges that the filters of a query leave. */
  const read = (caller: Operator, query: ChargeFiltersQuery) =>
    Effect.fnUntraced(function* (page: Page) {
      if (isHidden(caller, query.customer_document)) return NO_PAGE
      const found = yield* charges.listAll(query.account_id, filtersOf(query), page)
      const now = yield* Clock.currentTimeMillis
      const refunded = yield* refunds.ofCharges(found.rows.map(({ id }) => id))
      return { ...found, rows: found.rows.map((charge) => toOperatorCharge(charge, refunded.get(charge.id), now)) }
    })

  const handlers: OperatorHandlers<"charges"> = {
    list: ({ caller, query }) =>
      Effect.gen(function* () {
        return walkedAnswer(yield* read(caller, query)(pageFrom(query)), (charge) => charge)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    summary: ({ caller, query }) =>
      Effect.map(
        isHidden(caller, query.customer_document) ? NOTHING : charges.sumAll(query.account_id, filtersOf(query)),
        sumAnswer
      ),
    export: ({ caller, query }) =>
      csvAnswer({
        caller,
        columns: chargeColumns,
        schema: OperatorCharge,
        read: read(caller, query),
        toItem: (charge) => charge
      }),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        const charge = yield* charges.find(params.id)
        const { rows } = yield* deliveries.list({ resourceId: charge.id }, { limit: 100, startingAfter: undefined })
        return answer(200, {
          ...(yield* withRefunds(refunds, charge)),
          history: yield* history.ofCharge(charge),
          deliveries: rows.map(toDelivery)
        })
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: Effect.die }))
  }
  return handlers
})

type ChargeFiltersQuery = Schema.Struct<typeof chargeFilters>["Type"]

const filtersOf = (query: ChargeFiltersQuery): ChargeWalkFilters => ({
  status: query.status,
  method: query.method,
  origin: query.origin,
  ...createdBetween(query),
  reference: query.reference,
  endToEndId: query.end_to_end_id,
  applicationId: query.application_id,
  connectionId: query.connection_id,
  paidAfterMs: instantFrom(query.paid_after),
  paidBeforeMs: instantFrom(query.paid_before),
  amountMin: query.amount_min,
  amountMax: query.amount_max,
  failedAfterMs: instantFrom(query.failed_after),
  failedBeforeMs: instantFrom(query.failed_before),
  failureReason: query.failure_reason,
  customerDocument: documentFrom(query.customer_document),
  q: query.q
})

const chargeColumns: Readonly<Record<string, (charge: OperatorCharge) => string | null>> = {
  id: ({ id }) => id,
  created_at: (charge) => charge.created_at,
  account_id: (charge) => charge.account_id,
  status: ({ status }) => status,
  method: ({ method }) => method,
  amount: ({ amount }) => reaisOf(amount),
  refunded_amount: (charge) => reaisOf(charge.refunded_amount),
  reference: ({ reference }) => reference,
  customer_name: ({ customer }) => customer?.name ?? null,
  customer_document: ({ customer }) => customer?.document ?? null,
  customer_email: ({ customer }) => customer?.email ?? null,
  paid_at: (charge) => charge.paid_at,
  end_to_end_id: ({ pix }) => pix.end_to_end_id,
  failure_reason: (charge) => charge.failure_reason
}

export const chargeActionHandlers = Effect.gen(function* () {
  const charges = yield* Charges
  const cancellations = yield* Cancellations
  const orders = yield* RefundOrders
  const refunds = yield* RefundStore
  const audit = yield* AuditLog
  const keys = yield* OrderKeys
  const failures = { NotFoundError: notFound, InvalidStateError: invalidState }

  const handlers: OperatorHandlers<"chargeActions"> = {
    cancel: ({ params }) =>
      Effect.gen(function* () {
        const charge = yield* cancellations.cancel(params.id, audit.record("chargeActions.cancel", params.id))
        return answer(200, yield* withRefunds(refunds, charge))
      }).pipe(Effect.catchTags(failures)),
    refund: ({ body, idempotencyKey, params }) =>
      Effect.gen(function* () {
        yield* charges.find(params.id)
        const { amount, description } = yield* decodeBody(body, decodeRefundBody)
        const request = { amount: amount ?? undefined, description: description ?? undefined }
        const audited = audit.record("chargeActions.refund", params.id, { after: request })
        const charge = yield* keys.once(
          { operation: "chargeActions.refund", resourceId: params.id, key: idempotencyKey, body },
          (done) => orders.refund(params.id, request, (refundId) => Effect.andThen(audited, done(refundId))),
          refundedAgain
        )
        return answer(200, yield* withRefunds(refunds, charge))
      }).pipe(
        Effect.catchTags({
          ...failures,
          RequestRefused: refusedAs("VALIDATION_ERROR", "AMOUNT_BELOW_MINIMUM"),
          InsufficientBalanceError: insufficientBalance,
          KeyReused: keyReused,
          RefundRejected: rejected
        })
      )
  }

  /** What the request that made a refund is answered when it is repeated. */
  const refundedAgain = Effect.fnUntraced(function* (refundId: string) {
    const { chargeId, failureReason, status } = yield* refunds.get(refundId)
    if (status === "failed") return yield* new RefundRejected({ chargeId, reason: failureReason ?? "" })
    return yield* charges.find(chargeId)
  })
  return handlers
})

export const checkoutChargeHandlers = Effect.gen(function* () {
  const charges = yield* NewCharges
  const accounts = yield* Accounts
  const refunds = yield* RefundStore
  const audit = yield* AuditLog
  const keys = yield* OrderKeys

  const handlers: OperatorHandlers<"checkoutCharges"> = {
    create: ({ body, idempotencyKey, params }) =>
      Effect.gen(function* () {
        const application = yield* accounts.getApplication(yield* knownId(params))
        const input = yield* decodeBody(body, decodeCreateCheckoutCharge)
        const owner = { id: application.id, accountId: application.account_id }
        const creation = charges.createForCheckout(owner, idempotencyKey, input).pipe(
          Effect.map((result) => ({ ...result, id: result.charge.id })),
          audit.recordAfter("checkoutCharges.create", { after: withoutSecrets(input) })
        )
        const { charge, replayed } = yield* keys.once(
          { operation: "checkoutCharges.create", resourceId: application.id, key: idempotencyKey, body },
          (done) => recorded(creation, done),
          () => creation
        )
        return created(yield* withRefunds(refunds, charge), replayed)
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs(
            "VALIDATION_ERROR",
            "AMOUNT_BELOW_MINIMUM",
            "INVALID_DOCUMENT",
            "INVALID_WEBHOOK_URL"
          ),
          NotFoundError: notFound,
          AccountInactiveError: accountInactive,
          ChargeRejected: rejected,
          KeyReused: keyReused
        })
      )
  }

  /** A charge that the acquirer refused is stored, and has its key too. */
  const recorded = <E, R>(creation: Effect.Effect<Created, E | ChargeRejected, R>, done: Done) => {
    const record = (id: string) => Effect.ignore(done(id))
    return creation.pipe(
      Effect.tap(({ charge }) => record(charge.id)),
      Effect.tapError((error) => (error instanceof ChargeRejected ? record(error.chargeId) : Effect.void))
    )
  }
  return handlers
})

/** The charge resource of `/operator/v1`, with its present refunds. */
export const withRefunds = Effect.fnUntraced(function* (refunds: RefundStore["Service"], charge: StoredCharge) {
  const refunded = yield* refunds.ofCharges([charge.id])
  return toOperatorCharge(charge, refunded.get(charge.id), yield* Clock.currentTimeMillis)
})

const toOperatorCharge = (
  charge: StoredCharge,
  refunds: ReadonlyArray<ShownRefund> | undefined,
  nowMs: number
): OperatorCharge => ({
  ...toCharge(charge, nowMs),
  account_id: charge.accountId,
  application_id: charge.applicationId,
  origin: charge.origin,
  refunds: (refunds ?? []).map(toRefund)
})
