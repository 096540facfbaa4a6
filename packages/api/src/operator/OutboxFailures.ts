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
import { Access } from "./Access.ts"
import { byId, Count, Id } from "./Fields.ts"

/** A change whose deliveries could not be created, for one destination or for all. */
export const OutboxFailure = Schema.Struct({
  id: Id,
  object: Schema.Literal("outbox_failure"),
  change_id: Id,
  account_id: Id,
  endpoint_id: Schema.NullOr(Id).annotateKey({
    description: "Null if the failure concerns the resource's `webhook_url`, or the whole change."
  }),
  error: Schema.String.annotateKey({ description: "PostgreSQL's message." }),
  failures: Count,
  first_failed_at: Instant,
  last_failed_at: Instant,
  retried_at: Schema.NullOr(Instant).annotateKey({ description: "When a retry was requested that has not run yet." })
}).annotate({ identifier: "OutboxFailure" })
export type OutboxFailure = typeof OutboxFailure.Type

export class OutboxFailuresGroup extends HttpApiGroup.make("outboxFailures")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: listOf(OutboxFailure),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List changes whose deliveries could not be created, newest first")
  )
  .prefix("/operator/v1/outbox-failures")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(
    OpenApi.Description,
    "Changes whose fan-out failed. They are set aside, so that other changes are delivered."
  ) {}

export class OutboxFailureActionsGroup extends HttpApiGroup.make("outboxFailureActions")
  .add(
    HttpApiEndpoint.post("retry", "/:id/retry", {
      params: byId,
      success: OutboxFailure.pipe(HttpApiSchema.status(202)),
      error: NotFound
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Retry the fan-out of a change")
      .annotate(OpenApi.Description, "Existing deliveries are not created again.")
  )
  .prefix("/operator/v1/outbox-failures")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
