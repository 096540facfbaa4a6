/** Refunds of charges, by operators and by providers: OPR-70. */
import { listQuery } from "@pix-payments/domain/List"
import { Refund, RefundStatus } from "@pix-payments/domain/Refund"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { IdempotencyKeyReused, InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { waiting } from "./Approvals.ts"
import { amountFilters, byId, createdFilters, idFilter, orderQuery, Summary } from "./Fields.ts"
import { filteredList } from "./FilteredList.ts"
import { optionalIdempotencyKey } from "./OptionalIdempotencyKey.ts"
import { SETTLE_DESCRIPTION, SettleReturn } from "./Settlements.ts"

export const refundFilters = {
  account_id: idFilter,
  charge_id: idFilter,
  status: Schema.optionalKey(RefundStatus),
  ...createdFilters,
  ...amountFilters
}

export const refundsQuery = { ...listQuery, ...orderQuery, ...refundFilters }

export class RefundsGroup extends HttpApiGroup.make("refunds")
  .add(
    ...filteredList({
      item: Refund,
      query: refundsQuery,
      filters: refundFilters,
      sum: Summary,
      title: "List refunds, newest first",
      items: "refunds"
    }),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Refund, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get a refund")
  )
  .prefix("/operator/v1/refunds")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(
    OpenApi.Description,
    "Money of charges that goes back to the payer: ordered by an operator, or reported by the provider."
  ) {}

export class RefundActionsGroup extends HttpApiGroup.make("refundActions")
  .add(
    HttpApiEndpoint.post("settle", "/:id/settle", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: SettleReturn,
      success: [Refund, waiting],
      error: [NotFound, ValidationError, InvalidState, IdempotencyKeyReused]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Settle a refund whose outcome the provider does not say")
      .annotate(OpenApi.Description, SETTLE_DESCRIPTION)
  )
  .prefix("/operator/v1/refunds")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
