/**
 * What the operator surface shows, and what it takes.
 *
 * Guarantees: every resource carries `object`; enumerations are open where they are read and closed where they
 * are sent. A request body is read by its `decode…` below and by nothing else, so that refusals name every bad
 * field at once, as under `/v1`.
 *
 * Source: operator-api.md; decisions.md "Values", "Finer points".
 */
import { Account, AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account"
import { Balance } from "@pix-payments/domain/Balance"
import { Cents, MAX_CENTS } from "@pix-payments/domain/Cents"
import { AccountType, Charge, ChargeMethod, ChargeStatus, CreateCharge } from "@pix-payments/domain/Charge"
import { Dispute, DisputeStatus } from "@pix-payments/domain/Dispute"
import { Document } from "@pix-payments/domain/Document"
import { EndToEndId } from "@pix-payments/domain/EndToEndId"
import { EventName } from "@pix-payments/domain/EventCatalog"
import { IdempotencyKey } from "@pix-payments/domain/IdempotencyKey"
import { Instant, InstantInput } from "@pix-payments/domain/Instant"
import { listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import {
  BankAccount,
  CreatePayout,
  decodeCreatePayout,
  MINIMUM_PAYOUT_CENTS,
  Payout,
  PayoutMethod,
  PayoutStatus,
  Recipient
} from "@pix-payments/domain/Payout"
import { arrayUpTo, decoder, nullable, type Refusal, type Violation } from "@pix-payments/domain/Request"
import { Scope } from "@pix-payments/domain/Scope"
import { text } from "@pix-payments/domain/Text"
import { WebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"

const Id = Schema.String.annotate({ format: "uuid" })
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

// Resources

/** What the account pays for each payout: `fixed + round_half_up(amount * basis_points / 10000)`. */
export const PayoutFee = Schema.Struct({
  fixed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_CENTS })).annotate({ description: "Cents." }),
  basis_points: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })).annotate({
    description: "Hundredths of a percent of the amount."
  })
}).annotate({ identifier: "PayoutFee" })
export type PayoutFee = typeof PayoutFee.Type

/** An account with its settings and its balance. */
export const OperatorAccount = Schema.Struct({
  ...Account.fields,
  payout_fee: PayoutFee,
  default_expires_in: Schema.Int.annotate({ description: "Seconds that a charge without `expires_in` lives." }),
  release_delay: Count.annotate({ description: "Seconds between a payment and its release to `available`." }),
  payout_duplicate_window: Count.annotate({
    description:
      "Seconds in which a payout with the same recipient key and amount, but another idempotency key, waits for approval; 0 is off."
  }),
  payouts_paused: Schema.Boolean.annotate({
    description: "True while payouts are accepted and can be approved, and wait unsent."
  }),
  charges_paused: Schema.Boolean.annotate({ description: "True while no charge can be created." }),
  balance: Balance
}).annotate({ identifier: "OperatorAccount" })
export type OperatorAccount = typeof OperatorAccount.Type

/** A client system of an account; it groups keys. */
export const Application = Schema.Struct({
  id: Id,
  object: Schema.Literal("application"),
  account_id: Id,
  name: Schema.String,
  active: Schema.Boolean.annotate({ description: "False refuses every key of the application." }),
  created_at: Instant
}).annotate({ identifier: "Application" })
export type Application = typeof Application.Type

/** A key as it is shown at any time after its creation. */
export const ApiKey = Schema.Struct({
  id: Id,
  object: Schema.Literal("api_key"),
  application_id: Id,
  name: Schema.String,
  prefix: Schema.String.annotate({ description: "How the key begins, to recognise it by." }),
  scopes: Schema.Array(open(Scope)),
  expires_at: Schema.NullOr(Instant),
  revoked_at: Schema.NullOr(Instant),
  last_used_at: Schema.NullOr(Instant),
  created_at: Instant
}).annotate({ identifier: "ApiKey" })
export type ApiKey = typeof ApiKey.Type

/** A key as its creation shows it, this once complete. */
export const CreatedApiKey = Schema.Struct({
  ...ApiKey.fields,
  key: Schema.String.annotate({ description: "The complete key. It is never shown again." })
}).annotate({ identifier: "CreatedApiKey" })
export type CreatedApiKey = typeof CreatedApiKey.Type

export const ChargeOrigin = Schema.Literals(["api", "checkout"])
export type ChargeOrigin = typeof ChargeOrigin.Type

/** Any charge, whoever created it. */
export const OperatorCharge = Schema.Struct({
  ...Charge.fields,
  account_id: Id,
  application_id: Id,
  origin: open(ChargeOrigin)
}).annotate({ identifier: "OperatorCharge" })
export type OperatorCharge = typeof OperatorCharge.Type

export const DeliveryStatus = Schema.Literals(["scheduled", "delivering", "delivered", "failed", "canceled"])
export type DeliveryStatus = typeof DeliveryStatus.Type

/** One event on its way to one destination. */
export const Delivery = Schema.Struct({
  id: Id.annotate({ description: "Equals the header X-Webhook-Delivery." }),
  object: Schema.Literal("delivery"),
  status: open(DeliveryStatus),
  event: Schema.String,
  resource_id: Id,
  endpoint_id: Schema.NullOr(Id).annotateKey({ description: "Null where it goes to the resource's `webhook_url`." }),
  url: Schema.String,
  attempts_made: Count,
  next_attempt_at: Schema.NullOr(Instant),
  reason: Schema.NullOr(Schema.String).annotateKey({
    description: "Why it was canceled, or what failed in handling it; null where its attempts say all."
  }),
  created_at: Instant
}).annotate({ identifier: "Delivery" })
export type Delivery = typeof Delivery.Type

/** A registered endpoint and how deliveries to it fare. */
export const OperatorWebhookEndpoint = Schema.Struct({
  ...WebhookEndpoint.fields,
  consecutive_failures: Count,
  success_rate: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotateKey({
    description: "Attempts answered 2xx among all attempts; null before the first."
  }),
  last_success_at: Schema.NullOr(Instant),
  last_failure_at: Schema.NullOr(Instant)
}).annotate({ identifier: "OperatorWebhookEndpoint" })
export type OperatorWebhookEndpoint = typeof OperatorWebhookEndpoint.Type

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

/** How many deliveries were scheduled again. */
export const Resent = Schema.Struct({
  object: Schema.Literal("resend"),
  deliveries: Count
}).annotate({ identifier: "Resent" })
export type Resent = typeof Resent.Type

/** One attempt: either the receiver's answer or the error that kept it from us. */
export const DeliveryAttempt = Schema.Struct({
  at: Instant,
  duration_ms: Count,
  address: Schema.NullOr(Schema.String).annotateKey({ description: "The IP address that was connected to." }),
  status_code: Schema.NullOr(Schema.Int),
  error: Schema.NullOr(Schema.String),
  response_body: Schema.NullOr(Schema.String).annotateKey({ description: "The first KiB of the answer." })
}).annotate({ identifier: "DeliveryAttempt" })
export type DeliveryAttempt = typeof DeliveryAttempt.Type

export const DeliveryDetail = Schema.Struct({
  ...Delivery.fields,
  attempts: Schema.Array(DeliveryAttempt)
}).annotate({ identifier: "DeliveryDetail" })
export type DeliveryDetail = typeof DeliveryDetail.Type

/** A charge with what happened to it, oldest first, and who was told. */
export const OperatorChargeDetail = Schema.Struct({
  ...OperatorCharge.fields,
  history: Schema.Array(
    Schema.Struct({
      status: open(ChargeStatus),
      event: Schema.NullOr(Schema.String).annotateKey({ description: "Null where a change emits none." }),
      at: Instant
    })
  ),
  deliveries: Schema.Array(Delivery)
}).annotate({ identifier: "OperatorChargeDetail" })
export type OperatorChargeDetail = typeof OperatorChargeDetail.Type

export const PayoutOrigin = Schema.Literals(["api", "dashboard"])
export type PayoutOrigin = typeof PayoutOrigin.Type

/** The recipient of any payout; of a TED with the bank account that it goes to. */
export const OperatorRecipient = Schema.Struct({
  ...Recipient.fields,
  bank: Schema.NullOr(Schema.String).annotateKey({ description: "Null for a Pix, as the fields that follow." }),
  branch: Schema.NullOr(Schema.String),
  account: Schema.NullOr(Schema.String),
  account_type: Schema.NullOr(open(AccountType))
}).annotate({ identifier: "OperatorRecipient" })
export type OperatorRecipient = typeof OperatorRecipient.Type

/** Any payout, whoever asked for it. */
export const OperatorPayout = Schema.Struct({
  ...Payout.fields,
  recipient: OperatorRecipient,
  account_id: Id,
  application_id: Schema.NullOr(Id).annotateKey({ description: "Null for one asked for in the dashboard." }),
  origin: open(PayoutOrigin),
  duplicate_of: Schema.NullOr(Id).annotateKey({ description: "An earlier payout that this one seems to repeat." })
}).annotate({ identifier: "OperatorPayout" })
export type OperatorPayout = typeof OperatorPayout.Type

export const MessageAuthor = Schema.Literals(["operator", "platform"])
export type MessageAuthor = typeof MessageAuthor.Type

/** A dispute with what was said in it, oldest first. The defense is a message of the operator. */
export const OperatorDispute = Schema.Struct({
  ...Dispute.fields,
  account_id: Id,
  messages: Schema.Array(Schema.Struct({ author: open(MessageAuthor), text: Schema.String, at: Instant }))
}).annotate({ identifier: "OperatorDispute" })
export type OperatorDispute = typeof OperatorDispute.Type

/** A request to `/v1`, as it was answered. */
export const RequestLogEntry = Schema.Struct({
  id: Id,
  object: Schema.Literal("request"),
  request_id: Schema.String.annotate({ description: "Equals the header X-Request-Id." }),
  key_id: Schema.NullOr(Id).annotateKey({ description: "Null where no key was accepted." }),
  route: Schema.String.annotate({ description: "Verb and path template: `POST /v1/charges`." }),
  status: Schema.Int.annotate({ description: "HTTP status." }),
  duration_ms: Count,
  created_at: Instant
}).annotate({ identifier: "RequestLogEntry" })
export type RequestLogEntry = typeof RequestLogEntry.Type

/** A state-changing call of an operator. */
export const AuditEntry = Schema.Struct({
  id: Id,
  object: Schema.Literal("audit_entry"),
  operator: Schema.String.annotate({ description: "Who." }),
  action: Schema.String.annotate({ description: "What, as the operation's name: `payoutActions.approve`." }),
  resource_id: Schema.NullOr(Id).annotateKey({ description: "Which resource." }),
  request_id: Schema.String,
  created_at: Instant
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

export const LedgerAccountName = Schema.Literals([
  "available",
  "pending",
  "blocked",
  "payouts_in_transit",
  "acquirer",
  "fees"
])
export type LedgerAccountName = typeof LedgerAccountName.Type

/** One side of a transfer. The accounts of the installation itself belong to no account. */
export const LedgerAccount = Schema.Struct({
  account_id: Schema.NullOr(Id),
  name: open(LedgerAccountName)
}).annotate({ identifier: "LedgerAccount" })
export type LedgerAccount = typeof LedgerAccount.Type

/** A transfer between two ledger accounts: debit and credit are equal by construction. */
export const LedgerEntry = Schema.Struct({
  id: Id,
  object: Schema.Literal("ledger_entry"),
  reason: Schema.String.annotate({ description: "What moved the money: `charge.paid`." }),
  resource_id: Schema.NullOr(Id),
  from: LedgerAccount,
  to: LedgerAccount,
  amount: Cents.annotate({ description: "Cents." }),
  created_at: Instant
}).annotate({ identifier: "LedgerEntry" })
export type LedgerEntry = typeof LedgerEntry.Type

/** A ledger account's balance: as it is kept, and as the sum of its entries. */
export const LedgerBalance = Schema.Struct({
  account: LedgerAccount,
  kept: Schema.Int,
  computed: Schema.Int
}).annotate({ identifier: "LedgerBalance" })
export type LedgerBalance = typeof LedgerBalance.Type

export const LedgerVerification = Schema.Struct({
  object: Schema.Literal("ledger_verification"),
  consistent: Schema.Boolean.annotate({ description: "True when `differences` is empty." }),
  accounts: Schema.Array(LedgerBalance),
  differences: Schema.Array(LedgerBalance).annotate({ description: "Those where `kept` is not `computed`." })
}).annotate({ identifier: "LedgerVerification" })
export type LedgerVerification = typeof LedgerVerification.Type

const byState = Schema.Record(Schema.String, Count).annotate({ description: "How many there are in each state." })

/** What the dashboard's first page shows, of one account or of all. */
export const Stats = Schema.Struct({
  object: Schema.Literal("stats"),
  charges: byState,
  payouts: byState,
  disputes: byState,
  deliveries: byState,
  volume_per_day: Schema.Array(
    Schema.Struct({
      date: Schema.String.annotate({ format: "date", description: "A day in UTC." }),
      charges_paid: Count,
      charges_amount: Count.annotate({ description: "Cents received." }),
      payouts_created: Count,
      payouts_amount: Count.annotate({ description: "Cents sent, without fees." })
    })
  ),
  deliveries_due: Count,
  oldest_due_at: Schema.NullOr(Instant),
  success_rate: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))).annotateKey({
    description: "Attempts answered 2xx among all attempts; null before the first."
  })
}).annotate({ identifier: "Stats" })
export type Stats = typeof Stats.Type

// Requests

const Name = text(1, 200)
const Phone = text(1, 32)
const ExpiresIn = Schema.Int.check(Schema.isBetween({ minimum: 60, maximum: 604_800 }))
const DuplicateWindow = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400 }))
const ReleaseDelay = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 31_536_000 }))

/** What `POST /accounts` takes. */
export const CreateAccount = Schema.Struct({
  name: Name,
  legal_name: Name,
  document: Document.annotateKey({ description: "CPF or CNPJ, with or without mask." }),
  phone: Phone,
  status: nullable(AccountStatus),
  onboarding_status: nullable(OnboardingStatus),
  auto_payout_enabled: nullable(Schema.Boolean),
  payout_fee: nullable(PayoutFee),
  default_expires_in: nullable(ExpiresIn),
  release_delay: nullable(ReleaseDelay),
  payout_duplicate_window: nullable(DuplicateWindow)
}).annotate({ identifier: "CreateAccount" })
export type CreateAccount = typeof CreateAccount.Type

/** What `PATCH /accounts/{id}` takes: anything but the document. */
export const UpdateAccount = Schema.Struct({
  name: Schema.optionalKey(Name),
  legal_name: Schema.optionalKey(Name),
  phone: Schema.optionalKey(Phone),
  status: Schema.optionalKey(AccountStatus),
  onboarding_status: Schema.optionalKey(OnboardingStatus),
  auto_payout_enabled: Schema.optionalKey(Schema.Boolean),
  payout_fee: Schema.optionalKey(PayoutFee),
  default_expires_in: Schema.optionalKey(ExpiresIn),
  release_delay: Schema.optionalKey(ReleaseDelay),
  payout_duplicate_window: Schema.optionalKey(DuplicateWindow),
  payouts_paused: Schema.optionalKey(Schema.Boolean),
  charges_paused: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateAccount" })
export type UpdateAccount = typeof UpdateAccount.Type

export const CreateApplication = Schema.Struct({ name: Name }).annotate({ identifier: "CreateApplication" })
export type CreateApplication = typeof CreateApplication.Type

export const UpdateApplication = Schema.Struct({
  name: Schema.optionalKey(Name),
  active: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateApplication" })
export type UpdateApplication = typeof UpdateApplication.Type

/** What `PATCH /webhooks/{id}` takes. */
export const UpdateEndpointState = Schema.Struct({
  active: Schema.Boolean.annotateKey({
    description: "False disables the endpoint, which its application cannot undo; true takes that back."
  })
}).annotate({ identifier: "UpdateEndpointState" })
export type UpdateEndpointState = typeof UpdateEndpointState.Type

/** What `POST /applications/{id}/keys` takes. That `expires_at` lies ahead is for the handler, which has a clock. */
export const CreateApiKey = Schema.Struct({
  name: Name,
  scopes: arrayUpTo(64, Scope).annotateKey({
    description: "At least one; repeats are folded."
  }),
  expires_at: nullable(InstantInput)
}).annotate({ identifier: "CreateApiKey" })
export type CreateApiKey = typeof CreateApiKey.Type

/** `CreateCharge` with the methods of the hosted checkout; `pix` when absent. */
export const CreateCheckoutCharge = Schema.Struct({
  ...CreateCharge.fields,
  method: nullable(ChargeMethod)
}).annotate({ identifier: "CreateCheckoutCharge" })
export type CreateCheckoutCharge = typeof CreateCheckoutCharge.Type

const { pix_key, pix_key_type, ...ofAnyPayout } = CreatePayout.fields

const CreateDashboardPix = Schema.Struct({ ...CreatePayout.fields, method: nullable(PayoutMethod) })
const CreateDashboardTed = Schema.Struct({
  ...ofAnyPayout,
  method: Schema.Literal("ted"),
  ...BankAccount.fields
})

/** `CreatePayout` with the methods of the dashboard; `pix` when absent. A Pix goes to a key, a TED to a bank account. */
export const CreateDashboardPayout = Schema.Struct({
  ...CreatePayout.fields,
  method: nullable(PayoutMethod),
  pix_key_type: nullable(pix_key_type).annotateKey({ description: "Needed for a Pix." }),
  pix_key: nullable(pix_key).annotateKey({ description: "Needed for a Pix." }),
  bank: nullable(BankAccount.fields.bank).annotateKey({ description: "Needed for a TED." }),
  branch: nullable(BankAccount.fields.branch).annotateKey({ description: "Needed for a TED." }),
  account: nullable(BankAccount.fields.account).annotateKey({ description: "Needed for a TED." }),
  account_type: nullable(BankAccount.fields.account_type).annotateKey({ description: "Needed for a TED." })
}).annotate({ identifier: "CreateDashboardPayout" })
export type CreateDashboardPayout = typeof CreateDashboardPix.Type | typeof CreateDashboardTed.Type

/** A defense, or a message in a dispute. */
/** Which failed deliveries are sent again: of an endpoint, of a resource, or of an endpoint about a resource. */
export const ResendFailed = Schema.Struct({
  endpoint_id: nullable(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" })),
  resource_id: nullable(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" })),
  since: InstantInput
}).annotate({ identifier: "ResendFailed" })
export type ResendFailed = typeof ResendFailed.Type

export const TextBody = Schema.Struct({ text: text(1, 4000) }).annotate({ identifier: "TextBody" })
export type TextBody = typeof TextBody.Type

const ExternalId = nullable(text(1, 255)).annotateKey({
  description: "The simulated institution's own id of what it reports: two calls with one id report one fact, twice."
})

/** A report of which nothing else has to be said. */
export const SimulateReport = Schema.Struct({ external_id: ExternalId }).annotate({ identifier: "SimulateReport" })
export type SimulateReport = typeof SimulateReport.Type

export const SimulateMessage = Schema.Struct({ text: text(1, 4000), external_id: ExternalId }).annotate({
  identifier: "SimulateMessage"
})
export type SimulateMessage = typeof SimulateMessage.Type

/** What the simulated payer uses. */
export const SimulatePay = Schema.Struct({
  end_to_end_id: nullable(EndToEndId),
  external_id: ExternalId
}).annotate({ identifier: "SimulatePay" })
export type SimulatePay = typeof SimulatePay.Type

export const SimulateInfraction = Schema.Struct({
  reason: text(1, 255),
  defense_deadline_at: nullable(InstantInput),
  external_id: ExternalId
}).annotate({ identifier: "SimulateInfraction" })
export type SimulateInfraction = typeof SimulateInfraction.Type

export const SimulateReturn = Schema.Struct({
  as: Schema.Literals(["refunded", "charged_back"]),
  external_id: ExternalId
}).annotate({ identifier: "SimulateReturn" })
export type SimulateReturn = typeof SimulateReturn.Type

export const SimulateFailure = Schema.Struct({ reason: text(1, 255), external_id: ExternalId }).annotate({
  identifier: "SimulateFailure"
})
export type SimulateFailure = typeof SimulateFailure.Type

/** The rule of `/v1` on a key and its type, as the decoder that holds it tells it. */
const pixKeyRule = ({ pix_key, pix_key_type }: Readonly<Record<string, unknown>>): ReadonlyArray<Violation> => {
  const tried = decodeCreatePayout({ amount: MINIMUM_PAYOUT_CENTS, pix_key, pix_key_type })
  if (Result.isSuccess(tried)) return []
  const { code, details = [] } = tried.failure
  return details.map((field) => ({ code, path: [field] }))
}

export const decodeCreateAccount = decoder(CreateAccount)
export const decodeUpdateAccount = decoder(UpdateAccount)
export const decodeCreateApplication = decoder(CreateApplication)
export const decodeUpdateApplication = decoder(UpdateApplication)
export const decodeUpdateEndpointState = decoder(UpdateEndpointState)
export const decodeCreateApiKey = decoder(CreateApiKey)
export const decodeCreateCheckoutCharge = decoder(CreateCheckoutCharge)
const decodeDashboardPix = decoder(CreateDashboardPix, pixKeyRule)
const decodeDashboardTed = decoder(CreateDashboardTed)
export const decodeCreateDashboardPayout = (body: unknown): Result.Result<CreateDashboardPayout, Refusal> =>
  hasProperty(body, "method") && body.method === "ted" ? decodeDashboardTed(body) : decodeDashboardPix(body)
export const decodeResendFailed = decoder(ResendFailed, ({ endpoint_id, resource_id }) =>
  typeof endpoint_id === "string" || typeof resource_id === "string"
    ? []
    : [
        { code: "VALIDATION_ERROR", path: ["endpoint_id"] },
        { code: "VALIDATION_ERROR", path: ["resource_id"] }
      ]
)
export const decodeTextBody = decoder(TextBody)
export const decodeSimulateInfraction = decoder(SimulateInfraction)
export const decodeSimulateReturn = decoder(SimulateReturn)
export const decodeSimulateFailure = decoder(SimulateFailure)

export const decodeSimulateMessage = decoder(SimulateMessage)

const decodePay = decoder(SimulatePay)
const decodeReport = decoder(SimulateReport)

/** Nothing has to be said: no body at all is an empty one. */
export const decodeSimulatePay = (body: unknown) => decodePay(body === undefined ? {} : body)
export const decodeSimulateReport = (body: unknown) => decodeReport(body === undefined ? {} : body)

// Headers and queries

/** The key of a creation that may go without one; an empty header counts as missing. */
export const optionalIdempotencyKey = {
  "idempotency-key": Schema.optionalKey(
    Schema.String.check(
      Schema.isPattern(/^(?:[!-~]{8,255})?$/u, { expected: "8 to 255 visible ASCII characters" })
    ).annotate({ description: "8 to 255 visible ASCII characters, unique per operation." })
  ).pipe(
    Schema.decodeTo(Schema.optionalKey(IdempotencyKey), {
      decode: SchemaGetter.transformOptional<string, string>((key) => Option.filter(key, (value) => value !== "")),
      encode: SchemaGetter.passthrough()
    })
  )
}

const idFilter = Schema.optionalKey(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))
const textFilter = Schema.optionalKey(text(1, 255))

export const chargesQuery = {
  ...listQuery,
  account_id: idFilter,
  origin: Schema.optionalKey(ChargeOrigin),
  reference: textFilter,
  end_to_end_id: textFilter
}

export const payoutsQuery = { ...listQuery, account_id: idFilter, status: Schema.optionalKey(PayoutStatus) }

export const disputesQuery = { ...listQuery, charge_id: idFilter, status: Schema.optionalKey(DisputeStatus) }

export const deliveriesQuery = {
  ...listQuery,
  status: Schema.optionalKey(DeliveryStatus),
  resource_id: idFilter,
  endpoint_id: idFilter,
  event: Schema.optionalKey(EventName)
}

export const requestsQuery = {
  ...listQuery,
  key_id: idFilter,
  route: textFilter,
  status: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 599 })).annotate({ description: "HTTP status." })
  )
}

export const ledgerQuery = { ...listQuery, account_id: idFilter, resource_id: idFilter }

export const statsQuery = { account_id: idFilter }
