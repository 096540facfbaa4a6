/**
 * Every charge, what operators do with charges, and the charges of the checkout.
 */
import {
  ChargeActionsGroup,
  ChargesGroup,
  CheckoutChargesGroup,
  decodeCreateCheckoutCharge,
  type OperatorCharge
} from "@pix-payments/api/operator/Charges"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { pageOf } from "@pix-payments/domain/List"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Accounts } from "../../accounts/Accounts.ts"
import { ChargeOrders } from "../../orders/ChargeOrders.ts"
import { Charges, toCharge } from "../../charges/Charges.ts"
import type { StoredCharge } from "../../charges/ChargeTable.ts"
import { EventHistory } from "../../events/EventHistory.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { DeliveryStore } from "../../webhooks/DeliveryStore.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import {
  accountInactive,
  insufficientBalance,
  invalidState,
  notFound,
  refusedAs,
  rejected,
  serviceUnavailable,
  unknownCursor
} from "../WireTranslation.ts"
import { toDelivery } from "./DeliveryHandlers.ts"
import { knownId, pageFrom } from "./Requests.ts"

const chargesLayer = HttpApiBuilder.group(
  OperatorApi,
  ChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const history = yield* EventHistory
    const deliveries = yield* DeliveryStore

    return handlers
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* charges.list(
            query.account_id,
            { origin: query.origin, reference: query.reference, endToEndId: query.end_to_end_id },
            page
          )
          const now = yield* Clock.currentTimeMillis
          return pageOf(
            rows.map((charge) => toOperatorCharge(charge, now)),
            page.limit
          )
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("retrieve", ({ params }) =>
        Effect.gen(function* () {
          const charge = yield* charges.find(params.id)
          const found = yield* deliveries.list({ resourceId: charge.id }, { limit: 100, startingAfter: undefined })
          return {
            ...toOperatorCharge(charge, yield* Clock.currentTimeMillis),
            history: yield* history.of(charge.id, charge.createdAtMs),
            deliveries: found.map(toDelivery)
          }
        }).pipe(
          Effect.catchTags({ NotFoundError: notFound, UnknownCursor: Effect.die, Unavailable: serviceUnavailable })
        )
      )
  })
)

const actionsLayer = HttpApiBuilder.group(
  OperatorApi,
  ChargeActionsGroup.identifier,
  Effect.fn(function* (handlers) {
    const orders = yield* ChargeOrders
    const audit = yield* AuditLog
    const failures = { NotFoundError: notFound, InvalidStateError: invalidState, Unavailable: serviceUnavailable }

    return handlers
      .handle("cancel", ({ params }) =>
        Effect.gen(function* () {
          const charge = yield* orders.cancel(params.id, audit.note("chargeActions.cancel", params.id))
          return toOperatorCharge(charge, yield* Clock.currentTimeMillis)
        }).pipe(Effect.catchTags(failures))
      )
      .handle("refund", ({ params }) =>
        Effect.gen(function* () {
          const charge = yield* orders.refund(params.id, audit.note("chargeActions.refund", params.id))
          return toOperatorCharge(charge, yield* Clock.currentTimeMillis)
        }).pipe(Effect.catchTags({ ...failures, InsufficientBalanceError: insufficientBalance }))
      )
  })
)

const checkoutLayer = HttpApiBuilder.group(
  OperatorApi,
  CheckoutChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const accounts = yield* Accounts
    const audit = yield* AuditLog

    return handlers.handleRaw(
      "create",
      ({ headers, params, request }) =>
        Effect.gen(function* () {
          const application = yield* accounts.getApplication(yield* knownId(params.id))
          const input = yield* decodeBody(request, decodeCreateCheckoutCharge)
          const owner = { id: application.id, accountId: application.account_id }
          const { charge, replayed } = yield* charges.createForCheckout(owner, headers["idempotency-key"], input).pipe(
            Effect.map((created) => ({ ...created, id: created.charge.id })),
            audit.after("checkoutCharges.create")
          )
          const now = yield* Clock.currentTimeMillis
          return jsonResponse(
            toOperatorCharge(charge, now),
            201,
            replayed ? { "idempotent-replayed": "true" } : undefined
          )
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
            Unavailable: serviceUnavailable
          })
        ),
      { uninterruptible: true }
    )
  })
)

export const layer = Layer.mergeAll(chargesLayer, actionsLayer, checkoutLayer)

/** A charge as operators see it. */
export const toOperatorCharge = (charge: StoredCharge, nowMs: number): OperatorCharge => ({
  ...toCharge(charge, nowMs),
  account_id: charge.accountId,
  application_id: charge.applicationId,
  origin: charge.origin
})
