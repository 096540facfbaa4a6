/** Applications: the client systems of an account. Each has keys and webhook endpoints. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { decoder } from "@pix-payments/domain/Request"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Name } from "./Accounts.ts"
import { byId, Id } from "./Fields.ts"

/** A client system of an account. */
export const Application = Schema.Struct({
  id: Id,
  object: Schema.Literal("application"),
  account_id: Id,
  name: Schema.String,
  active: Schema.Boolean.annotate({ description: "While false, every key of the application is refused." }),
  created_at: Instant
}).annotate({ identifier: "Application" })
export type Application = typeof Application.Type

export const CreateApplication = Schema.Struct({ name: Name }).annotate({ identifier: "CreateApplication" })
export type CreateApplication = typeof CreateApplication.Type

export const UpdateApplication = Schema.Struct({
  name: Schema.optionalKey(Name),
  active: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateApplication" })
export type UpdateApplication = typeof UpdateApplication.Type

export const decodeCreateApplication = decoder(CreateApplication)

export const decodeUpdateApplication = decoder(UpdateApplication)

export class ApplicationsGroup extends HttpApiGroup.make("applications")
  .add(
    HttpApiEndpoint.post("create", "/accounts/:id/applications", {
      params: byId,
      payload: CreateApplication,
      success: Application.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Add an application to an account"),
    HttpApiEndpoint.get("list", "/accounts/:id/applications", {
      params: byId,
      query: listQuery,
      success: listOf(Application),
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "List an account's applications, newest first"),
    HttpApiEndpoint.get("retrieve", "/applications/:id", { params: byId, success: Application, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get an application"),
    HttpApiEndpoint.patch("update", "/applications/:id", {
      params: byId,
      payload: UpdateApplication,
      success: Application,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Rename, deactivate or reactivate an application")
      .annotate(OpenApi.Description, "Keys of a deactivated application are refused from the next request on.")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Client systems. Each has keys and webhook endpoints.") {}
