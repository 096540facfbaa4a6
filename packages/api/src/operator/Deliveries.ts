/** Webhook deliveries, with their attempts, and their resending: OPR-27. */
import { EventName } from "@pix-payments/domain/EventCatalog"
import { Instant, InstantInput } from "@pix-payments/domain/Instant"
import { listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import { decoder, nullable } from "@pix-payments/domain/Request"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, Count, CountSummary, Id, idFilter, orderQuery } from "./Fields.ts"
import { filteredList } from "./FilteredList.ts"

export const DeliveryStatus = Schema.Literals(["scheduled", "delivering", "delivered", "failed", "canceled"])
export type DeliveryStatus = typeof DeliveryStatus.Type

/** The delivery of one event to one destination. */
export const Delivery = Schema.Struct({
  id: Id.annotate({ description: "Equals the header X-Webhook-Delivery." }),
  object: Schema.Literal("delivery"),
  status: open(DeliveryStatus),
  event: Schema.String,
  resource_id: Id,
  endpoint_id: Schema.NullOr(Id).annotateKey({
    description: "Null if the destination is the resource's `webhook_url`."
  }),
  url: Schema.String,
  attempts_made: Count,
  next_attempt_at: Schema.NullOr(Instant),
  reason: Schema.NullOr(Schema.String).annotateKey({
    description: "Why it was canceled, or why it failed without an attempt; null otherwise."
  }),
  created_at: Instant
}).annotate({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type

/** One attempt: the receiver's response or an error. */
export const DeliveryAttempt = Schema.Struct({
  at: Instant,
  duration_ms: Count,
  address: Schema.NullOr(Schema.String).annotateKey({ description: "The IP address of the connection." }),
  status_code: Schema.NullOr(Schema.Int),
  error: Schema.NullOr(Schema.String),
  response_body: Schema.NullOr(Schema.String.annotate(personal("text"))).annotateKey({
    description: "The first KiB of the response. It may quote personal data, which viewers and developers get masked."
  })
}).annotate({ identifier: "DeliveryAttempt" })
export type DeliveryAttempt = typeof DeliveryAttempt.Type

export const DeliveryDetail = Schema.Struct({
  ...Delivery.fields,
  attempts: Schema.Array(DeliveryAttempt)
}).annotate({ identifier: "DeliveryDetail" })
export type DeliveryDetail = typeof DeliveryDetail.Type

/** How many deliveries were scheduled again, or would be. */
export const Resent = Schema.Struct({
  object: Schema.Literal("resend"),
  count: Count,
  has_more: Schema.Boolean.annotateKey({
    description: "True where more of them are left: one request takes 10,000. The same request goes on with the rest."
  }),
  dry_run: Schema.Boolean
}).annotate({ identifier: "Resent" })
export type Resent = typeof Resent.Type

/** The filters of the list and of a resend. */
const filters = {
  account_id: idFilter.schema,
  created_after: InstantInput,
  created_before: InstantInput,
  resource_id: idFilter.schema,
  endpoint_id: idFilter.schema,
  event: EventName
}

/** Which failed deliveries to resend: the filters of the list, and an instant. At least one of them. */
export const ResendFailed = Schema.Struct({
  ...Struct.map(Struct.map(filters, Schema.NullOr), Schema.optionalKey),
  status: Schema.optionalKey(Schema.Literal("failed")),
  since: nullable(InstantInput),
  dry_run: Schema.optionalKey(Schema.Boolean.annotate({ description: "True counts the deliveries and sends none." }))
}).annotate({ identifier: "ResendFailed" })
export type ResendFailed = typeof ResendFailed.Type

export const decodeResendFailed = decoder(ResendFailed, (body) => {
  const names = [...Object.keys(filters), "since"]
  return names.some((name) => body[name] !== undefined && body[name] !== null)
    ? []
    : names.map((name) => ({ code: "VALIDATION_ERROR", path: [name] }))
})

export const deliveryFilters = {
  ...Struct.map(filters, Schema.optionalKey),
  status: Schema.optionalKey(DeliveryStatus)
}

export const deliveriesQuery = { ...listQuery, ...orderQuery, ...deliveryFilters }

export class DeliveriesGroup extends HttpApiGroup.make("deliveries")
  .add(
    ...filteredList({
      item: Delivery,
      query: deliveriesQuery,
      filters: deliveryFilters,
      sum: CountSummary,
      title: "List webhook deliveries, newest first",
      items: "deliveries"
    }),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: DeliveryDetail, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get a delivery with each of its attempts")
  )
  .prefix("/operator/v1/deliveries")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Webhook deliveries and their attempts.") {}

export class DeliveryActionsGroup extends HttpApiGroup.make("deliveryActions")
  .add(
    HttpApiEndpoint.post("resend", "/:id/resend", {
      params: byId,
      success: Delivery.pipe(HttpApiSchema.status(202)),
      error: [NotFound, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Resend a delivery")
      .annotate(
        OpenApi.Description,
        "One attempt is made at once, under the same delivery id; if it fails, the retry delays start again, except those of a test, which makes one attempt. A delivery that is in flight, canceled, or of a deleted endpoint is refused."
      ),
    HttpApiEndpoint.post("resendFailed", "/resend", {
      payload: ResendFailed,
      success: Resent.pipe(HttpApiSchema.status(202)),
      error: ValidationError
    })
      .annotate(Access, { roles: ["operator"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "Resend failed deliveries by filter")
      .annotate(
        OpenApi.Description,
        "Each makes one attempt at once. Tests are left out. `dry_run` only counts them. Repeating a request at once finds none of them again."
      )
  )
  .prefix("/operator/v1/deliveries")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
