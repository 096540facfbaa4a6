/** Operators, and their personal tokens: OPR-41 to OPR-43. */
import { Email } from "@pix-payments/domain/Customer"
import { Instant, InstantInput } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { OperatorRole } from "@pix-payments/domain/Operator"
import { personal } from "@pix-payments/domain/PersonalData"
import { arrayUpTo, decoder, nullable } from "@pix-payments/domain/Request"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { Forbidden, InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Name } from "./Accounts.ts"
import { waiting } from "./Approvals.ts"
import { byId, Id } from "./Fields.ts"

/** A person or machine that runs the service. */
export const Operator = Schema.Struct({
  id: Id,
  object: Schema.Literal("operator"),
  name: Schema.String,
  email: Schema.String.annotate(personal("email")),
  role: open(OperatorRole),
  account_ids: Schema.NullOr(Schema.Array(Id)).annotateKey({
    description: "The accounts that the operator is limited to. Null: all accounts."
  }),
  active: Schema.Boolean.annotate({ description: "While false, no token and no session of the operator is accepted." }),
  created_at: Instant
}).annotate({ identifier: "Operator" })
export type Operator = typeof Operator.Type

const AccountIds = arrayUpTo(100, Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))

/** The body of `POST /operators`. */
export const CreateOperator = Schema.Struct({
  name: Name,
  email: Email.annotateKey({ description: "An address that no other operator has." }),
  role: OperatorRole,
  account_ids: nullable(AccountIds).annotateKey({ description: "Not for admins, who are not limited." })
}).annotate({ identifier: "CreateOperator" })
export type CreateOperator = typeof CreateOperator.Type

/** The body of `PATCH /operators/{id}`. */
export const UpdateOperator = Schema.Struct({
  name: Schema.optionalKey(Name),
  role: Schema.optionalKey(OperatorRole),
  account_ids: nullable(AccountIds).annotateKey({ description: "Null lifts the limit." }),
  active: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateOperator" })
export type UpdateOperator = typeof UpdateOperator.Type

/** A personal token without its secret part. */
export const OperatorToken = Schema.Struct({
  id: Id,
  object: Schema.Literal("operator_token"),
  operator_id: Id,
  name: Schema.String,
  prefix: Schema.String.annotate({ description: "The beginning of the token, to recognise it." }),
  expires_at: Schema.NullOr(Instant),
  revoked_at: Schema.NullOr(Instant),
  last_used_at: Schema.NullOr(Instant).annotateKey({ description: "Accurate to a minute." }),
  created_at: Instant
}).annotate({ identifier: "OperatorToken" })
export type OperatorToken = typeof OperatorToken.Type

/** The answer of a token's creation, which alone has the complete token. */
export const CreatedOperatorToken = Schema.Struct({
  ...OperatorToken.fields,
  token: Schema.String.annotate({ description: "The complete token. It is never shown again." })
}).annotate({ identifier: "CreatedOperatorToken" })
export type CreatedOperatorToken = typeof CreatedOperatorToken.Type

/** The body of `POST /operators/{id}/tokens`. The handler, which has a clock, refuses an `expires_at` in the past. */
export const CreateOperatorToken = Schema.Struct({
  name: Name,
  expires_at: nullable(InstantInput)
}).annotate({ identifier: "CreateOperatorToken" })
export type CreateOperatorToken = typeof CreateOperatorToken.Type

export const decodeCreateOperator = decoder(CreateOperator)

export const decodeUpdateOperator = decoder(UpdateOperator)

export const decodeCreateOperatorToken = decoder(CreateOperatorToken)

export class OperatorsGroup extends HttpApiGroup.make("operators")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateOperator,
      success: [Operator.pipe(HttpApiSchema.status(201)), waiting],
      error: ValidationError
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Add an operator")
      .annotate(OpenApi.Description, "With four eyes it is 202, and another operator approves."),
    HttpApiEndpoint.get("list", "/", { query: listQuery, success: listOf(Operator), error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List operators, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Operator, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Get an operator"),
    HttpApiEndpoint.patch("update", "/:id", {
      params: byId,
      payload: UpdateOperator,
      success: [Operator, waiting],
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Change the name, role or accounts of an operator, deactivate or reactivate it")
      .annotate(
        OpenApi.Description,
        "It takes effect with the operator's next request, in every server process. Deactivating ends its sessions. With four eyes, another role or other accounts, and activating, are 202."
      )
  )
  .prefix("/operator/v1/operators")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The people and machines that run the service.") {}

export class OperatorTokensGroup extends HttpApiGroup.make("operatorTokens")
  .add(
    HttpApiEndpoint.post("create", "/operators/:id/tokens", {
      params: byId,
      payload: CreateOperatorToken,
      success: [CreatedOperatorToken.pipe(HttpApiSchema.status(201)), waiting],
      error: [NotFound, ValidationError, Forbidden, InvalidState]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Create a personal token")
      .annotate(
        OpenApi.Description,
        "For oneself; for somebody else as an admin. Only this response has the token. With four eyes a token for somebody else is 202; once another operator has approved it, the same request by the same admin creates the token."
      ),
    HttpApiEndpoint.get("list", "/operators/:id/tokens", {
      params: byId,
      query: listQuery,
      success: listOf(OperatorToken),
      error: [NotFound, ValidationError, Forbidden]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "List an operator's personal tokens, newest first"),
    HttpApiEndpoint.post("revoke", "/tokens/:id/revoke", { params: byId, success: OperatorToken, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "own" })
      .annotate(OpenApi.Summary, "Revoke a personal token")
      .annotate(
        OpenApi.Description,
        "It is refused from the next request on, in every server process. The sessions of its operator end."
      )
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Tokens of operators, for the header `x-operator-token`.") {}
