/** Webhook endpoints as operators see them: with their health, to disable and to enable: OPR-28. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf } from "@pix-payments/domain/List"
import { decoder } from "@pix-payments/domain/Request"
import { WebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, Count } from "./Fields.ts"

/** A webhook endpoint with its health. */
export const OperatorWebhookEndpoint = Schema.Struct({
  ...WebhookEndpoint.fields,
  consecutive_failures: Count,
  success_rate: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotateKey({
    description: "Successful attempts divided by all attempts. Null before the first attempt."
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

export class WebhookEndpointsGroup extends HttpApiGroup.make("webhookEndpoints")
  .add(
    HttpApiEndpoint.get("list", "/applications/:id/webhooks", {
      params: byId,
      success: listOf(OperatorWebhookEndpoint),
      error: NotFound
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "List an application's webhook endpoints with their health")
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
        "While the endpoint is disabled, its deliveries are parked. They are sent when it is enabled again. An endpoint that its application paused stays paused."
      )
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
