/** Changes whose deliveries could not be created: OPR-29. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { NotFound, ValidationError } from "../WireErrors.ts"
import { byId, Count, Id } from "./Fields.ts"

/** A change whose deliveries could not be created, in all or to one destination. */
export const OutboxFailure = Schema.Struct({
  id: Id,
  object: Schema.Literal("outbox_failure"),
  change_id: Id,
  account_id: Id,
  endpoint_id: Schema.NullOr(Id).annotateKey({
    description: "Null where it is the resource's `webhook_url`, or the whole change."
  }),
  error: Schema.String.annotateKey({ description: "What PostgreSQL said." }),
  failures: Count,
  first_failed_at: Instant,
  last_failed_at: Instant,
  retried_at: Schema.NullOr(Instant).annotateKey({ description: "When a retry was asked for that is not done yet." })
}).annotate({ identifier: "OutboxFailure" })
export type OutboxFailure = typeof OutboxFailure.Type

export class OutboxFailuresGroup extends HttpApiGroup.make("outboxFailures")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: listOf(OutboxFailure),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List changes whose deliveries could not be created, newest first")
  )
  .prefix("/operator/v1/outbox-failures")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The fan-out sets aside what fails by itself, so that the rest goes on.") {}

export class OutboxFailureActionsGroup extends HttpApiGroup.make("outboxFailureActions")
  .add(
    HttpApiEndpoint.post("retry", "/:id/retry", {
      params: byId,
      success: OutboxFailure.pipe(HttpApiSchema.status(202)),
      error: NotFound
    })
      .annotate(OpenApi.Summary, "Try again to create the deliveries of a change")
      .annotate(OpenApi.Description, "Deliveries that were created before are not created twice.")
  )
  .prefix("/operator/v1/outbox-failures")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
