/** Charges of every account and origin, and what operators order about them: OPR-19 to OPR-22, OPR-70 to OPR-72. */
import { amountFrom, Charge, ChargeMethod, ChargeStatus, CreateCharge } from "@pix-payments/domain/Charge"
import { Instant } from "@pix-payments/domain/Instant"
import { listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { Refund } from "@pix-payments/domain/Refund"
import { decoder, nullable } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import {
  AccountInactive,
  AcquirerRejected,
  AmountBelowMinimum,
  IdempotencyKeyReused,
  InsufficientBalance,
  InvalidDocument,
  InvalidState,
  InvalidWebhookUrl,
  NotFound,
  ValidationError
} from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Delivery } from "./Deliveries.ts"
import {
  amountFilters,
  byId,
  createdFilters,
  failureFilters,
  Id,
  idFilter,
  instantFilter,
  optionalBody,
  orderQuery,
  revealQuery,
  Summary,
  textFilter,
  wordsFilter
} from "./Fields.ts"
import { filteredList } from "./FilteredList.ts"
import { optionalIdempotencyKey } from "./OptionalIdempotencyKey.ts"

export const ChargeOrigin = Schema.Literals(["api", "checkout"])
export type ChargeOrigin = typeof ChargeOrigin.Type

/** A charge of any origin. */
export const OperatorCharge = Schema.Struct({
  ...Charge.fields,
  account_id: Id,
  application_id: Id,
  origin: open(ChargeOrigin),
  refunds: Schema.Array(Refund)
}).annotate({ identifier: "OperatorCharge" })
export type OperatorCharge = typeof OperatorCharge.Type

/** A charge with its history, oldest first, and its deliveries. */
export const OperatorChargeDetail = Schema.Struct({
  ...OperatorCharge.fields,
  history: Schema.Array(
    Schema.Struct({
      status: open(ChargeStatus),
      event: Schema.NullOr(Schema.String).annotateKey({ description: "Null if the change emits no event." }),
      at: Instant
    })
  ),
  deliveries: Schema.Array(Delivery)
}).annotate({ identifier: "OperatorChargeDetail" })
export type OperatorChargeDetail = typeof OperatorChargeDetail.Type

/** `CreateCharge` with the methods of the hosted checkout, by default `pix`. */
export const CreateCheckoutCharge = Schema.Struct({
  ...CreateCharge.fields,
  method: nullable(ChargeMethod)
}).annotate({ identifier: "CreateCheckoutCharge" })
export type CreateCheckoutCharge = typeof CreateCheckoutCharge.Type

export const RefundBody = Schema.Struct({
  amount: nullable(amountFrom(1)).annotateKey({
    description: "Cents; by default, all that is left of the charge and not blocked."
  }),
  description: nullable(text(0, 140))
}).annotate({ identifier: "RefundBody" })
export type RefundBody = typeof RefundBody.Type

const decodeRefund = decoder(RefundBody)

/** No body is the same as an empty one. */
export const decodeRefundBody = (body: unknown) => decodeRefund(body === undefined ? {} : body)

export const decodeCreateCheckoutCharge = decoder(CreateCheckoutCharge)

export const chargeFilters = {
  account_id: idFilter,
  application_id: idFilter,
  connection_id: idFilter,
  status: Schema.optionalKey(ChargeStatus),
  method: Schema.optionalKey(ChargeMethod),
  origin: Schema.optionalKey(ChargeOrigin),
  ...createdFilters,
  paid_after: instantFilter,
  paid_before: instantFilter,
  ...amountFilters,
  ...failureFilters,
  reference: textFilter,
  end_to_end_id: textFilter,
  customer_document: textFilter,
  q: wordsFilter
}

export const chargesQuery = { ...listQuery, ...orderQuery, ...chargeFilters }

export class ChargesGroup extends HttpApiGroup.make("charges")
  .add(
    ...filteredList({
      item: OperatorCharge,
      query: chargesQuery,
      filters: chargeFilters,
      sum: Summary,
      title: "List every charge, newest first",
      items: "charges"
    }),
    HttpApiEndpoint.get("retrieve", "/:id", {
      params: byId,
      query: revealQuery,
      success: OperatorChargeDetail,
      error: NotFound
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource", reveals: true })
      .annotate(OpenApi.Summary, "Get a charge with its history of states and its deliveries")
  )
  .prefix("/operator/v1/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money in, from the API and from the hosted checkout.") {}

export class ChargeActionsGroup extends HttpApiGroup.make("chargeActions")
  .add(
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params: byId,
      success: OperatorCharge,
      error: [NotFound, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Cancel a pending charge"),
    HttpApiEndpoint.post("refund", "/:id/refund", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: RefundBody,
      success: OperatorCharge,
      error: [
        NotFound,
        ValidationError,
        AmountBelowMinimum,
        InvalidState,
        InsufficientBalance,
        AcquirerRejected,
        IdempotencyKeyReused
      ]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Refund a paid charge, or a part of it")
      .annotate(
        OpenApi.Description,
        "The refund is sent to the acquirer. Its amount leaves the balance at once: first money that is not released yet, then `available`, which must cover the rest. While a refund is in progress, a second one is refused. The charge is `refunded` once nothing is left of it. A refund that has no final answer yet is `processing` in `refunds`."
      )
      .annotate(OpenApi.Transform, optionalBody)
  )
  .prefix("/operator/v1/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class CheckoutChargesGroup extends HttpApiGroup.make("checkoutCharges")
  .add(
    HttpApiEndpoint.post("create", "/", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: CreateCheckoutCharge,
      success: OperatorCharge.pipe(HttpApiSchema.status(201)),
      error: [
        NotFound,
        ValidationError,
        AmountBelowMinimum,
        InvalidDocument,
        InvalidWebhookUrl,
        AccountInactive,
        AcquirerRejected,
        IdempotencyKeyReused
      ]
    })
      .annotate(Access, { roles: ["developer", "operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Create a charge for the hosted checkout")
      .annotate(
        OpenApi.Description,
        "The charge has the origin `checkout`. It is not visible under `/v1`; its events go to the application's webhook endpoints."
      )
  )
  .prefix("/operator/v1/applications/:id/checkout-charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
