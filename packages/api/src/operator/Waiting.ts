/** How much waits for a person: OPR-144. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { Access } from "./Access.ts"
import { Count } from "./Fields.ts"

/** The most that is counted of each kind. */
export const MAX_WAITING = 99

const upTo = (what: string) =>
  Schema.Struct({
    count: Count,
    has_more: Schema.Boolean.annotate({ description: "True where there are more than are counted." })
  }).annotate({ description: what })

export const WaitingCounts = Schema.Struct({
  object: Schema.Literal("waiting"),
  approvals: upTo("Pending requests for an approval."),
  disputes: upTo("Open disputes, which need a defense."),
  exceptions: upTo("Open exceptions."),
  failing_endpoints: upTo("Active webhook endpoints whose last attempt failed."),
  outbox_failures: upTo("Changes whose deliveries could not be created, and are not being retried.")
}).annotate({ identifier: "WaitingCounts" })
export type WaitingCounts = typeof WaitingCounts.Type

export class WaitingGroup extends HttpApiGroup.make("waiting")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { success: WaitingCounts })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "Count what waits for a person")
      .annotate(OpenApi.Description, `Up to ${MAX_WAITING} of each kind are counted.`)
  )
  .prefix("/operator/v1/waiting")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
