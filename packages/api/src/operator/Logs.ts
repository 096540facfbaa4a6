/** The request log and the audit log: OPR-12, OPR-31. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, Count, CountSummary, createdFilters, Id, idFilter, orderQuery, textFilter } from "./Fields.ts"
import { filteredList } from "./FilteredList.ts"

/** A request to `/v1` and its response. */
export const RequestLogEntry = Schema.Struct({
  id: Id,
  object: Schema.Literal("request"),
  request_id: Schema.String.annotate({ description: "Equals the header X-Request-Id." }),
  key_id: Schema.NullOr(Id).annotateKey({ description: "Null if no key was accepted." }),
  resource_id: Schema.NullOr(Id).annotateKey({
    description: "The resource that the response is about; null if it is about several, or none."
  }),
  route: Schema.String.annotate({ description: "Verb and path template: `POST /v1/charges`." }),
  status: Schema.Int.annotate({ description: "HTTP status." }),
  duration_ms: Count,
  trace_id: Schema.NullOr(Schema.String).annotateKey({ description: "Of its trace; null where it was not sampled." }),
  created_at: Instant
}).annotate({ identifier: "RequestLogEntry" })
export type RequestLogEntry = typeof RequestLogEntry.Type

/** A state-changing call of an operator. */
export const AuditEntry = Schema.Struct({
  id: Id,
  object: Schema.Literal("audit_entry"),
  operator: Schema.String.annotate({ description: "The operator's name." }),
  action: Schema.String.annotate({ description: "The operation: `payoutActions.approve`." }),
  resource_id: Schema.NullOr(Id).annotateKey({ description: "The resource that was changed." }),
  request_id: Schema.String,
  operator_id: Schema.NullOr(Id).annotateKey({ description: "Null for the installation's token." }),
  via: Schema.NullOr(open(Schema.Literals(["installation", "token", "session", "link", "oidc", "code"]))).annotateKey({
    description: "How the operator signed in."
  }),
  address: Schema.NullOr(Schema.String).annotateKey({ description: "The IP address of the request." }),
  before: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown).annotate(personal("fields"))).annotateKey({
    description: "The changed fields before the change, if the action changes fields."
  }),
  after: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown).annotate(personal("fields"))).annotateKey({
    description: "The fields after the change, without secrets."
  }),
  created_at: Instant
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

export const requestFilters = {
  account_id: idFilter,
  ...createdFilters,
  key_id: idFilter,
  resource_id: idFilter,
  request_id: textFilter,
  route: textFilter,
  status: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^[1-5](?:\d\d|xx)$/)).annotate({
      description: "HTTP status, or all of a class: `404`, `4xx`."
    })
  )
}

export const requestsQuery = { ...listQuery, ...orderQuery, ...requestFilters }

export const auditQuery = {
  ...listQuery,
  ...orderQuery,
  action: Schema.optionalKey(text(1, 64).annotate({ description: "The operation: `payoutActions.approve`." })),
  operator_id: idFilter,
  ...createdFilters
}

/** The entries of an export. */
export const MAX_EXPORTED = 100_000

export const exportQuery = createdFilters

export class RequestsGroup extends HttpApiGroup.make("requests")
  .add(
    ...filteredList({
      item: RequestLogEntry,
      query: requestsQuery,
      filters: requestFilters,
      sum: CountSummary,
      title: "List requests to `/v1`, newest first",
      items: "requests"
    })
  )
  .prefix("/operator/v1/requests")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class AuditGroup extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: auditQuery,
      success: listOf(AuditEntry),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List the audit log: state-changing calls of operators, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: AuditEntry, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Retrieve an entry of the audit log"),
    HttpApiEndpoint.get("export", "/export", {
      query: exportQuery,
      success: Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/jsonl" })),
      error: ValidationError
    })
      .annotate(Access, { roles: ["operator"], accounts: "installation", isClear: true })
      .annotate(OpenApi.Summary, "Export the audit log, oldest first")
      .annotate(
        OpenApi.Description,
        `JSON Lines, one entry on each. The last line is \`{ "object": "audit_export", "entries": … }\`; without it the export is incomplete. At most ${MAX_EXPORTED} entries: a longer range is refused.`
      )
  )
  .prefix("/operator/v1/audit")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
