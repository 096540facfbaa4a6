/**
 * The operator routes of charges and checkout charges.
 */
import { decodeCreateCheckoutCharge, decodeRefundBody, type OperatorCharge } from "@pix-payments/api/operator/Charges"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Accounts } from "../../../accounts/Accounts.ts"
import { Cancellations } from "../../../payments/charges/Cancellations.ts"
import { RefundOrders, RefundRejected } from "../../../payments/refunds/RefundOrders.ts"
import { toCharge } from "../../../payments/charges/ChargeResource.ts"
import { Charges } from "../../../payments/charges/Charges.ts"
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
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const chargeHandlers = Effect.gen(function* () {
  const charges = yield* Charges
  const history = yield* EventHistory
  const deliveries = yield* DeliveryStore
  const refunds = yield* RefundStore

  const handlers: OperatorHandlers<"charges"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* charges.listAll(
          query.account_id,
          { origin: query.origin, reference: query.reference, endToEndId: query.end_to_end_id },
          page
        )
        const now = yield* Clock.currentTimeMillis
        const refunded = yield* refunds.ofCharges(rows.map(({ id }) => id))
        return listAnswer(rows, (charge) => toOperatorCharge(charge, refunded.get(charge.id), now), page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        const charge = yield* charges.find(params.id)
        const rows = yield* deliveries.list({ resourceId: charge.id }, { limit: 100, startingAfter: undefined })
        return answer(200, {
          ...(yield* withRefunds(refunds, charge)),
          history: yield* history.ofCharge(charge),
          deliveries: rows.map(toDelivery)
        })
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: Effect.die }))
  }
  return handlers
})

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
