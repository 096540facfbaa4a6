/** Payouts of every account and origin, and decisions about them: OPR-23 to OPR-25. */
import { ProviderOutcome } from "@pix-payments/domain/AcquirerException"
import { listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import {
  BankAccount,
  CreatePayout,
  decodeCreatePayout,
  Payout,
  PayoutMethod,
  PayoutStatus
} from "@pix-payments/domain/Payout"
import { MINIMUM_PAYOUT_CENTS } from "@pix-payments/domain/Reason"
import { decoder, nullable, type Refusal, type Violation } from "@pix-payments/domain/Request"
import { hasProperty } from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import {
  AccountInactive,
  AccountRestricted,
  AmountBelowMinimum,
  Forbidden,
  IdempotencyKeyReused,
  InsufficientBalance,
  InvalidDocument,
  InvalidState,
  InvalidWebhookUrl,
  NotFound,
  ValidationError
} from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { waiting } from "./Approvals.ts"
import {
  amountFilters,
  byId,
  createdFilters,
  failureFilters,
  Id,
  idFilter,
  orderQuery,
  revealQuery,
  Summary,
  textFilter,
  wordsFilter
} from "./Fields.ts"
import { filteredList } from "./FilteredList.ts"
import { optionalIdempotencyKey } from "./OptionalIdempotencyKey.ts"
import { SETTLE_DESCRIPTION, SettlePayout } from "./Settlements.ts"
import { OperatorRecipient } from "./Recipient.ts"

export const PayoutOrigin = Schema.Literals(["api", "dashboard"])
export type PayoutOrigin = typeof PayoutOrigin.Type

/** A payout of any origin. */
export const OperatorPayout = Schema.Struct({
  ...Payout.fields,
  recipient: OperatorRecipient,
  account_id: Id,
  application_id: Schema.NullOr(Id).annotateKey({ description: "Null if an operator requested the payout." }),
  origin: open(PayoutOrigin),
  duplicate_of: Schema.NullOr(Id).annotateKey({ description: "An earlier payout with the same recipient and amount." }),
  provider_outcome: Schema.NullOr(open(ProviderOutcome)).annotateKey({
    description: "What the provider says, where it contradicts `status`."
  })
}).annotate({ identifier: "OperatorPayout" })
export type OperatorPayout = typeof OperatorPayout.Type

const { pix_key, pix_key_type, ...ofAnyPayout } = CreatePayout.fields

const requireApproval = {
  require_approval: nullable(Schema.Boolean).annotateKey({
    description:
      "Another operator decides, also where four eyes would not ask for it: 202. The installation's token is refused."
  })
}

const CreateDashboardPix = Schema.Struct({
  ...CreatePayout.fields,
  ...requireApproval,
  method: nullable(PayoutMethod)
})

const CreateDashboardTed = Schema.Struct({
  ...ofAnyPayout,
  ...requireApproval,
  method: Schema.Literal("ted"),
  ...BankAccount.fields
})

/** `CreatePayout` with the methods of operators, by default `pix`. A Pix goes to a key, a TED to a bank account. */
export const CreateDashboardPayout = Schema.Struct({
  ...CreatePayout.fields,
  ...requireApproval,
  method: nullable(PayoutMethod),
  pix_key_type: nullable(pix_key_type).annotateKey({ description: "Required for a Pix." }),
  pix_key: nullable(pix_key).annotateKey({ description: "Required for a Pix." }),
  bank: nullable(BankAccount.fields.bank).annotateKey({ description: "Required for a TED." }),
  branch: nullable(BankAccount.fields.branch).annotateKey({ description: "Required for a TED." }),
  account: nullable(BankAccount.fields.account).annotateKey({ description: "Required for a TED." }),
  account_type: nullable(BankAccount.fields.account_type).annotateKey({ description: "Required for a TED." })
}).annotate({ identifier: "CreateDashboardPayout" })
export type CreateDashboardPayout = typeof CreateDashboardPix.Type | typeof CreateDashboardTed.Type

/** PAY-10 and PAY-11, from the decoder of `/v1`. */
const pixKeyRule = ({ pix_key, pix_key_type }: Readonly<Record<string, unknown>>): ReadonlyArray<Violation> => {
  const tried = decodeCreatePayout({ amount: MINIMUM_PAYOUT_CENTS, pix_key, pix_key_type })
  if (Result.isSuccess(tried)) return []
  const { code, details = [] } = tried.failure
  return details.map((field) => ({ code, path: [field], expected: "a Pix key of its type" }))
}

const decodeDashboardPix = decoder(CreateDashboardPix, pixKeyRule)

const decodeDashboardTed = decoder(CreateDashboardTed)

export const decodeCreateDashboardPayout = (body: unknown): Result.Result<CreateDashboardPayout, Refusal> =>
  hasProperty(body, "method") && body.method === "ted" ? decodeDashboardTed(body) : decodeDashboardPix(body)

export const payoutFilters = {
  account_id: idFilter,
  application_id: idFilter,
  connection_id: idFilter,
  status: Schema.optionalKey(PayoutStatus),
  method: Schema.optionalKey(PayoutMethod),
  origin: Schema.optionalKey(PayoutOrigin),
  ...createdFilters,
  ...amountFilters,
  ...failureFilters,
  reference: textFilter,
  end_to_end_id: textFilter,
  recipient_document: textFilter,
  q: wordsFilter
}

export const payoutsQuery = { ...listQuery, ...orderQuery, ...payoutFilters }

export class PayoutsGroup extends HttpApiGroup.make("payouts")
  .add(
    ...filteredList({
      item: OperatorPayout,
      query: payoutsQuery,
      filters: payoutFilters,
      sum: Summary,
      title: "List every payout, newest first",
      items: "payouts"
    }),
    HttpApiEndpoint.get("retrieve", "/:id", {
      params: byId,
      query: revealQuery,
      success: OperatorPayout,
      error: NotFound
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource", reveals: true })
      .annotate(OpenApi.Summary, "Get a payout")
  )
  .prefix("/operator/v1/payouts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money out, requested through the API or by operators.") {}

export class PayoutActionsGroup extends HttpApiGroup.make("payoutActions")
  .add(
    HttpApiEndpoint.post("create", "/accounts/:id/payouts", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: CreateDashboardPayout,
      success: [OperatorPayout.pipe(HttpApiSchema.status(201)), waiting],
      error: [
        NotFound,
        Forbidden,
        ValidationError,
        AmountBelowMinimum,
        InvalidDocument,
        InvalidWebhookUrl,
        AccountInactive,
        AccountRestricted,
        InsufficientBalance,
        IdempotencyKeyReused
      ]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Request a payout")
      .annotate(
        OpenApi.Description,
        "The payout has the origin `dashboard`. It is listed under `/v1/payouts`, uses the same balance, pays the fee and obeys `auto_payout_enabled`. With four eyes it is created and sent once another operator has approved it: 202."
      ),
    HttpApiEndpoint.post("approve", "/payouts/:id/approve", {
      params: byId,
      success: [OperatorPayout, waiting],
      error: [NotFound, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Approve a pending payout")
      .annotate(
        OpenApi.Description,
        "With four eyes, above the account's `approval_limit`: 202, and another operator approves."
      ),
    HttpApiEndpoint.post("cancel", "/payouts/:id/cancel", {
      params: byId,
      success: OperatorPayout,
      error: [NotFound, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Cancel a pending payout")
      .annotate(OpenApi.Description, "Amount and fee return to the balance."),
    HttpApiEndpoint.post("settle", "/payouts/:id/settle", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: SettlePayout,
      success: [OperatorPayout, waiting],
      error: [NotFound, ValidationError, InvalidState, IdempotencyKeyReused]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Settle a payout whose outcome the provider does not say")
      .annotate(OpenApi.Description, SETTLE_DESCRIPTION)
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
