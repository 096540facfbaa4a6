/** Money, and claims on money, that fit no charge, and how operators resolve them: OPR-80 to OPR-89. */
import {
  ExceptionAction,
  ExceptionKind,
  ExceptionStatus,
  ProviderOutcome
} from "@pix-payments/domain/AcquirerException"
import { Cents } from "@pix-payments/domain/Cents"
import { amountFrom } from "@pix-payments/domain/Charge"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import { decoder, nullable } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import {
  AmountBelowMinimum,
  IdempotencyKeyReused,
  InsufficientBalance,
  InvalidState,
  NotFound,
  ValidationError
} from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { waiting } from "./Approvals.ts"
import { optionalIdempotencyKey } from "./OptionalIdempotencyKey.ts"
import { SETTLE_DESCRIPTION, SettleReturn } from "./Settlements.ts"
import { byId, createdFilters, Id, idFilter, orderQuery } from "./Fields.ts"

/** An exception: what arrived, what was expected, and how it was resolved. */
export const AcquirerException = Schema.Struct({
  id: Id,
  object: Schema.Literal("exception"),
  connection_id: Id,
  kind: open(ExceptionKind),
  status: open(ExceptionStatus),
  amount: Cents.annotate({ description: "Cents that arrived, were returned or are disputed." }),
  expected_amount: Schema.NullOr(Cents).annotateKey({ description: "Cents that the charge asks for." }),
  unallocated: Schema.Int.annotate({
    description:
      "Cents of it in the connection's `unallocated`. Below zero for a return of money that is not there, and where the bank sent what the books have as failed."
  }),
  currency: Schema.Literal("BRL"),
  end_to_end_id: Schema.NullOr(Schema.String),
  txid: Schema.NullOr(Schema.String),
  external_id: Schema.NullOr(Schema.String).annotateKey({ description: "The provider's id of the fact." }),
  pix_key: Schema.NullOr(Schema.String.annotate(personal("pix_key"))).annotateKey({
    description: "The key that received the payment."
  }),
  payer: Schema.NullOr(
    Schema.Struct({
      name: Schema.NullOr(Schema.String),
      document: Schema.NullOr(Schema.String.annotate(personal("document")))
    })
  ).annotateKey({ description: "As far as the provider discloses it." }),
  received: Schema.NullOr(Schema.String.annotate(personal("text"))).annotateKey({
    description: "What arrived, where it cannot be read: JSON, cut off after 4 KiB."
  }),
  occurred_at: Instant,
  charge_id: Schema.NullOr(Id),
  account_id: Schema.NullOr(Id),
  payout_id: Schema.NullOr(Id).annotateKey({
    description: "The payout that came back, or whose outcome or amount it contradicts."
  }),
  refund_id: Schema.NullOr(Id).annotateKey({
    description:
      "The refund whose outcome or amount it contradicts, the order of an exception's return, or the dispute of accepted money that was lost."
  }),
  provider_outcome: Schema.NullOr(open(ProviderOutcome)).annotateKey({
    description: "Of a `contradictory_outcome`: what the provider says."
  }),
  action: Schema.NullOr(open(ExceptionAction)).annotateKey({
    description: "How it was resolved. `return` of an open exception: the provider is asked."
  }),
  reason: Schema.NullOr(Schema.String),
  failure_reason: Schema.NullOr(Schema.String).annotateKey({
    description: "Why the last return failed, why it cannot be read, or why the provider says that it failed."
  }),
  resolved_by: Schema.NullOr(Schema.String).annotateKey({
    description: "An operator, `rule`, `provider` (it returned the money) or `payment` (it arrived after its return)."
  }),
  resolved_at: Schema.NullOr(Instant),
  created_at: Instant
}).annotate({ identifier: "Exception" })
export type AcquirerException = typeof AcquirerException.Type

/** The body of `POST /exceptions/{id}/resolve`. `dismiss` needs a `reason` (OPR-84). */
export const ResolveException = Schema.Struct({
  action: ExceptionAction,
  charge_id: nullable(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" })).annotateKey({
    description: "Of `accept`: the charge that the money is for. By default the one that the payment names."
  }),
  account_id: nullable(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" })).annotateKey({
    description: "Of `accept`: the account that gets the money, instead of a charge. No charge changes its state."
  }),
  amount: nullable(amountFrom(1)).annotateKey({
    description: "Of `accept` of an `unreadable` exception, which needs it: the cents that arrived."
  }),
  reason: nullable(text(1, 1000)).annotateKey({ description: "Required to dismiss." })
}).annotate({ identifier: "ResolveException" })
export type ResolveException = typeof ResolveException.Type

export const decodeResolveException = decoder(ResolveException)

/** The body of `POST /exceptions/{id}/refund`. Absent: all that the account has and no dispute has blocked. */
export const RefundException = Schema.Struct({
  amount: nullable(amountFrom(1))
}).annotate({ identifier: "RefundException" })
export type RefundException = typeof RefundException.Type

export const decodeRefundException = decoder(RefundException)

export const exceptionsQuery = {
  ...listQuery,
  ...orderQuery,
  account_id: idFilter,
  status: Schema.optionalKey(ExceptionStatus),
  kind: Schema.optionalKey(ExceptionKind),
  ...createdFilters
}

export class ExceptionsGroup extends HttpApiGroup.make("exceptions")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: exceptionsQuery,
      success: listOf(AcquirerException),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List exceptions, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: AcquirerException, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get an exception")
  )
  .prefix("/operator/v1/exceptions")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money, and claims on money, that fit no charge.") {}

export class ExceptionActionsGroup extends HttpApiGroup.make("exceptionActions")
  .add(
    HttpApiEndpoint.post("resolve", "/:id/resolve", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: ResolveException,
      success: [AcquirerException, waiting],
      error: [NotFound, ValidationError, AmountBelowMinimum, InvalidState, IdempotencyKeyReused]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Return, accept or dismiss an exception")
      .annotate(
        OpenApi.Description,
        "`accept` credits the account's `available`, or debits it where `unallocated` is below zero; for another charge or account than the payment names, with four eyes, once another operator has approved it: 202. The charge becomes `paid` only if it was `pending` or `expired` and the amount is its own. `return` gives the money back to the payer; the exception stays `open` until the provider confirms it. `dismiss` moves nothing."
      ),
    HttpApiEndpoint.post("refund", "/:id/refund", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: RefundException,
      success: AcquirerException,
      error: [NotFound, ValidationError, AmountBelowMinimum, InvalidState, InsufficientBalance, IdempotencyKeyReused]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Refund an accepted exception")
      .annotate(
        OpenApi.Description,
        "Returns money that an account accepted to its payer, from that account. The exception stays `resolved`; where the return fails, the money is back and `failure_reason` says why."
      ),
    HttpApiEndpoint.post("settle", "/:id/settle", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: SettleReturn,
      success: [AcquirerException, waiting],
      error: [NotFound, ValidationError, InvalidState, IdempotencyKeyReused]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Settle an exception's return whose outcome the provider does not say")
      .annotate(OpenApi.Description, SETTLE_DESCRIPTION)
  )
  .prefix("/operator/v1/exceptions")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
