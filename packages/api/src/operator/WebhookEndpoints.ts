/** Webhook endpoints as operators see them: with their health, to disable, enable and test: OPR-28, OPR-153 to OPR-155, OPR-160. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { decoder } from "@pix-payments/domain/Request"
import { WebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Delivery } from "./Deliveries.ts"
import { byId, Count, Id, idFilter } from "./Fields.ts"

/** A webhook endpoint with its health. */
export const OperatorWebhookEndpoint = Schema.Struct({
  ...WebhookEndpoint.fields,
  account_id: Id,
  application_id: Id,
  application_name: Schema.String,
  consecutive_failures: Count.annotateKey({ description: "Failed attempts since the last successful one." }),
  success_rate: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotateKey({
    description: "Successful attempts divided by all attempts. Null before the first attempt."
  }),
  paused: Count.annotateKey({
    description: "Deliveries that wait until the endpoint is active again. At most 1,000 are counted."
  }),
  last_success_at: Schema.NullOr(Instant),
  last_failure_at: Schema.NullOr(Instant)
}).annotate({ identifier: "OperatorWebhookEndpoint" })
export type OperatorWebhookEndpoint = typeof OperatorWebhookEndpoint.Type

/** The body of `PATCH /webhooks/{id}`. */
export const UpdateEndpointState = Schema.Struct({
  active: Schema.Boolean.annotateKey({
    description: "False disables the endpoint, which its application cannot undo. True enables it again."
  })
}).annotate({ identifier: "UpdateEndpointState" })
export type UpdateEndpointState = typeof UpdateEndpointState.Type

export const decodeUpdateEndpointState = decoder(UpdateEndpointState)

export const webhooksQuery = {
  ...listQuery,
  account_id: idFilter,
  failing: Schema.optionalKey(Schema.Literals(["true", "false"])).annotateKey({
    description: "`true`: only active endpoints whose last attempt failed."
  })
}

export class WebhookEndpointsGroup extends HttpApiGroup.make("webhookEndpoints")
  .add(
    HttpApiEndpoint.get("listAll", "/webhooks", {
      query: webhooksQuery,
      success: listOf(OperatorWebhookEndpoint),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List webhook endpoints with their health, newest first"),
    HttpApiEndpoint.get("list", "/applications/:id/webhooks", {
      params: byId,
      success: listOf(OperatorWebhookEndpoint),
      error: NotFound
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "List an application's webhook endpoints with their health"),
    HttpApiEndpoint.get("retrieve", "/webhooks/:id", {
      params: byId,
      success: OperatorWebhookEndpoint,
      error: NotFound
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get a webhook endpoint with its health")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class WebhookEndpointActionsGroup extends HttpApiGroup.make("webhookEndpointActions")
  .add(
    HttpApiEndpoint.patch("update", "/webhooks/:id", {
      params: byId,
      payload: UpdateEndpointState,
      success: OperatorWebhookEndpoint,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["developer", "operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Disable or enable a webhook endpoint")
      .annotate(
        OpenApi.Description,
        "While the endpoint is disabled, its deliveries are paused. They are sent when it is enabled again. An endpoint that its application paused stays paused."
      ),
    HttpApiEndpoint.post("test", "/webhooks/:id/test", {
      params: byId,
      success: Delivery.pipe(HttpApiSchema.status(202)),
      error: [NotFound, InvalidState]
    })
      .annotate(Access, { roles: ["developer", "operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Send a test delivery to a webhook endpoint")
      .annotate(
        OpenApi.Description,
        "A signed event that the endpoint subscribes to, with `test` in `data`, about no money. It makes one attempt. 409 while the endpoint is not active, while an earlier test is in flight, and where none of its events is emitted yet."
      )
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
