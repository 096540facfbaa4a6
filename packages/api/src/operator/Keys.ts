/** API keys of `/v1`: KEY-1 to KEY-10. */
import { Instant, InstantInput } from "@pix-payments/domain/Instant"
import { LimitChanges, Limits } from "@pix-payments/domain/Limits"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { arrayUpTo, decoder, nullable } from "@pix-payments/domain/Request"
import { Scope } from "@pix-payments/domain/Scope"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { Forbidden, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Name } from "./Accounts.ts"
import { waiting } from "./Approvals.ts"
import { byId, Id } from "./Fields.ts"

/** A key without its secret part. */
export const ApiKey = Schema.Struct({
  id: Id,
  object: Schema.Literal("api_key"),
  application_id: Id,
  name: Schema.String,
  prefix: Schema.String.annotate({ description: "The beginning of the key, to recognise it." }),
  scopes: Schema.Array(open(Scope)),
  limits: Limits,
  expires_at: Schema.NullOr(Instant),
  revoked_at: Schema.NullOr(Instant),
  last_used_at: Schema.NullOr(Instant),
  created_at: Instant
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** The answer of a key's creation, which alone has the complete key. */
export const CreatedApiKey = Schema.Struct({
  ...ApiKey.fields,
  key: Schema.String.annotate({ description: "The complete key. It is never shown again." })
}).annotate({ identifier: "CreatedApiKey" })
export type CreatedApiKey = typeof CreatedApiKey.Type

/** The body of `POST /applications/{id}/keys`. The handler, which has a clock, refuses an `expires_at` in the past. */
export const CreateApiKey = Schema.Struct({
  name: Name,
  scopes: arrayUpTo(64, Scope).annotateKey({
    description: "At least one. Repeats are removed."
  }),
  expires_at: nullable(InstantInput)
}).annotate({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type

export const decodeCreateApiKey = decoder(CreateApiKey)

/** The body of `PATCH /keys/{id}`. */
export const UpdateApiKey = Schema.Struct({ limits: LimitChanges }).annotate({ identifier: "UpdateApiKey" })
export type UpdateApiKey = typeof UpdateApiKey.Type

export const decodeUpdateApiKey = decoder(UpdateApiKey)

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/applications/:id/keys", {
      params: byId,
      payload: CreateApiKey,
      success: [CreatedApiKey.pipe(HttpApiSchema.status(201)), waiting],
      error: [NotFound, ValidationError, Forbidden]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Create a key")
      .annotate(
        OpenApi.Description,
        "Only this response has the complete key. Scope `payout:write` is for admins. With four eyes it is 202; once another operator has approved it, the same request by the same admin creates the key."
      ),
    HttpApiEndpoint.get("list", "/applications/:id/keys", {
      params: byId,
      query: listQuery,
      success: listOf(ApiKey),
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "List an application's keys, newest first"),
    HttpApiEndpoint.get("retrieve", "/keys/:id", { params: byId, success: ApiKey, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Retrieve a key"),
    HttpApiEndpoint.patch("update", "/keys/:id", {
      params: byId,
      payload: UpdateApiKey,
      success: [ApiKey, waiting],
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["admin"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Change a key's limits")
      .annotate(
        OpenApi.Description,
        "A field that is absent stays; null removes the limit. With four eyes, a higher limit is 202. It holds from the next request on, in every server process."
      ),
    HttpApiEndpoint.post("revoke", "/keys/:id/revoke", { params: byId, success: ApiKey, error: NotFound })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Revoke a key")
      .annotate(OpenApi.Description, "The key is refused from the next request on, in every server process.")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The keys of `/v1`.") {}
