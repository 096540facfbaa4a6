/** Requests that a second operator approves or rejects: OPR-110 to OPR-119. */
import { ApprovalAction, ApprovalStatus } from "@pix-payments/domain/Approval"
import { Cents } from "@pix-payments/domain/Cents"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import { decoder, nullable } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import {
  AccountInactive,
  AccountRestricted,
  Forbidden,
  InsufficientBalance,
  InvalidState,
  NotFound,
  ValidationError
} from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, createdFilters, Id, idFilter, optionalBody, orderQuery } from "./Fields.ts"
import { OperatorRecipient } from "./Recipient.ts"

const SomeFields = Schema.Record(Schema.String, Schema.Unknown).annotate(personal("fields"))

const { name: _, ...destination } = OperatorRecipient.fields

const Change = Schema.Struct({
  field: Schema.String,
  before: Schema.optionalKey(Schema.Unknown).annotateKey({ description: "Absent where it replaces nothing." }),
  after: Schema.Unknown.annotateKey({ description: "What is known by an id is `{id, name}`." })
}).annotate({ identifier: "ApprovalChange", ...personal("change") })

/** What a person decides about (OPR-240). Its texts have no invisible or reordering characters. */
const ApprovalSummary = Schema.Struct({
  title: Schema.String.annotateKey({ description: "What the action does." }),
  resource: Schema.NullOr(
    Schema.Struct({
      object: Schema.String,
      id: Id,
      name: Schema.NullOr(Schema.String).annotateKey({ description: "Of a payout its reference." })
    })
  ),
  account: Schema.NullOr(Schema.Struct({ id: Id, name: Schema.String })),
  destination: Schema.NullOr(Schema.Struct(destination)).annotateKey({
    description: "Where the money of a payout goes: its Pix key or bank account."
  }),
  unverified_name: Schema.NullOr(Schema.String).annotateKey({
    description: "The recipient's name as the caller wrote it. Nobody has verified it."
  }),
  amount: Schema.NullOr(Schema.Int).annotateKey({
    description: "Cents, without the fee; below zero where an exception or a correction debits the account."
  }),
  fee: Schema.NullOr(Cents),
  balance_before: Schema.NullOr(Schema.Int).annotateKey({
    description: "Cents of the account's `available` now; null after the decision, and where no money moves."
  }),
  balance_after: Schema.NullOr(Schema.Int).annotateKey({
    description:
      "The same once it is approved. The amount of a payout that exists has left `available` already. Of money that comes back, an open MED may claim a part."
  }),
  duplicates: Schema.Array(Schema.Struct({ object: Schema.Literals(["payout", "approval"]), id: Id })).annotateKey({
    description:
      "Payouts to the same recipient with the same amount: one within the account's window before it, and the latest of the last 72 hours. Requests of the last 72 hours for such payouts, or for an adjustment of the same account and amount."
  }),
  changes: Schema.Array(Change).annotateKey({ description: "Each field that it sets or changes." })
}).annotate({ identifier: "ApprovalSummary" })
export type ApprovalSummary = typeof ApprovalSummary.Type

const Who = Schema.Struct({
  id: Schema.NullOr(Id).annotateKey({ description: "Null for the installation's token." }),
  name: Schema.String,
  email: Schema.NullOr(Schema.String.annotate(personal("email"))).annotateKey({
    description: "By which the operator signs in. It stays, where a name may change."
  })
})

/** A request that a second operator decides. */
export const Approval = Schema.Struct({
  id: Id,
  object: Schema.Literal("approval"),
  action: open(ApprovalAction),
  status: open(ApprovalStatus),
  resource: Schema.NullOr(Schema.Struct({ object: Schema.String, id: Id })).annotateKey({
    description: "What it changes, or of which it creates a part; null where it creates something of its own."
  }),
  account_id: Schema.NullOr(Id),
  request: SomeFields.annotateKey({ description: "What was asked, without secrets." }),
  before: Schema.NullOr(SomeFields).annotateKey({
    description: "What it is about, as it was: the values that it replaces, its account, its order."
  }),
  summary: ApprovalSummary,
  requested_by: Who,
  token_made_by: Schema.NullOr(Who).annotateKey({
    description: "Another operator, who made the token of the request and so is behind it too (OPR-203)."
  }),
  decided_by: Schema.NullOr(Who),
  reason: Schema.NullOr(Schema.String).annotateKey({
    description: "Why it was rejected, or why it could not be done any more."
  }),
  expires_at: Instant,
  decided_at: Schema.NullOr(Instant),
  done_at: Schema.NullOr(Instant).annotateKey({
    description: "When the action was done. An action that shows a secret is repeated by its requester once approved."
  }),
  result_id: Schema.NullOr(Id).annotateKey({ description: "The resource that the action changed or created." }),
  created_at: Instant
}).annotate({ identifier: "Approval" })
export type Approval = typeof Approval.Type

/** The answer of an action that waits for a second operator (OPR-111). */
export const waiting = Approval.pipe(HttpApiSchema.status(202))

/** The body of `POST /approvals/{id}/approve`. */
export const Approve = Schema.Struct({ reason: nullable(text(1, 1000)) }).annotate({ identifier: "Approve" })
export type Approve = typeof Approve.Type

/** The body of `POST /approvals/{id}/reject`. */
export const Reject = Schema.Struct({ reason: text(1, 1000) }).annotate({ identifier: "Reject" })
export type Reject = typeof Reject.Type

export const decodeApprove = decoder(Approve)

export const decodeReject = decoder(Reject)

export const approvalsQuery = {
  ...listQuery,
  ...orderQuery,
  account_id: idFilter,
  status: Schema.optionalKey(ApprovalStatus),
  ...createdFilters
}

const approvers = { roles: ["operator"], accounts: "resource" } as const

export class ApprovalsGroup extends HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("list", "/", { query: approvalsQuery, success: listOf(Approval), error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List requests for approval, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Approval, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get a request for approval")
  )
  .prefix("/operator/v1/approvals")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Actions that wait for a second operator.") {}

export class ApprovalActionsGroup extends HttpApiGroup.make("approvalActions")
  .add(
    HttpApiEndpoint.post("approve", "/:id/approve", {
      params: byId,
      payload: Approve,
      success: Approval,
      error: [
        NotFound,
        ValidationError,
        Forbidden,
        InvalidState,
        InsufficientBalance,
        AccountInactive,
        AccountRestricted
      ]
    })
      .annotate(Access, approvers)
      .annotate(OpenApi.Summary, "Approve a request of another operator")
      .annotate(OpenApi.Transform, optionalBody)
      .annotate(
        OpenApi.Description,
        "The action is done in the same commit. One's own request, and one about oneself, is `FORBIDDEN`. A request that cannot be done any more is `INVALID_STATE` and expires."
      ),
    HttpApiEndpoint.post("reject", "/:id/reject", {
      params: byId,
      payload: Reject,
      success: Approval,
      error: [NotFound, ValidationError, Forbidden, InvalidState]
    })
      .annotate(Access, approvers)
      .annotate(OpenApi.Summary, "Reject a request of another operator")
  )
  .prefix("/operator/v1/approvals")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
