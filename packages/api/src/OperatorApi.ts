/**
 * The operator surface, `/operator/v1`: what the contract calls "the dashboard", declared once.
 *
 * The server's routes, the command line, the dashboard page and `operator-openapi.json` are derived from this
 * value. Reading and acting are groups of their own, so that a server may serve a subset of them.
 *
 * Source: operator-api.md.
 */
import { listOf, listQuery } from "@pix-payments/domain/List"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { honestOpenApi } from "./OpenApiDocument.ts"
import {
  ApiKey,
  Application,
  AuditEntry,
  chargesQuery,
  CreateAccount,
  CreateApiKey,
  CreateApplication,
  CreateCheckoutCharge,
  CreatedApiKey,
  CreateDashboardPayout,
  deliveriesQuery,
  Delivery,
  DeliveryDetail,
  disputesQuery,
  LedgerEntry,
  ledgerQuery,
  LedgerVerification,
  OperatorAccount,
  OperatorCharge,
  OperatorChargeDetail,
  OperatorDispute,
  OperatorPayout,
  OperatorWebhookEndpoint,
  OutboxFailure,
  optionalIdempotencyKey,
  payoutsQuery,
  RequestLogEntry,
  requestsQuery,
  ResendFailed,
  Resent,
  SimulateFailure,
  SimulateInfraction,
  SimulateMessage,
  SimulatePay,
  SimulateReport,
  SimulateReturn,
  Stats,
  statsQuery,
  TextBody,
  UpdateAccount,
  UpdateApplication,
  UpdateEndpointState
} from "./OperatorResources.ts"
import { OperatorAuthentication, RequestErrors } from "./Security.ts"
import {
  AccountInactive,
  AccountRestricted,
  AcquirerRejected,
  AmountBelowMinimum,
  InsufficientBalance,
  InvalidDocument,
  InvalidState,
  InvalidWebhookUrl,
  NotFound,
  ValidationError
} from "./WireErrors.ts"

// Any string is taken here: an id that is no UUID is answered like an unknown one.
const byId = { id: Schema.String.annotate({ format: "uuid" }) }

export class AccountsGroup extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateAccount,
      success: OperatorAccount.pipe(HttpApiSchema.status(201)),
      error: [ValidationError, InvalidDocument]
    })
      .annotate(OpenApi.Summary, "Open an account")
      .annotate(
        OpenApi.Description,
        "When not told otherwise: `active`, onboarding `completed`, automatic payouts, no fee, charges of 86400 seconds, no release delay."
      ),
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: listOf(OperatorAccount),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List accounts with their balances, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: OperatorAccount, error: NotFound }).annotate(
      OpenApi.Summary,
      "Get an account with its balance"
    ),
    HttpApiEndpoint.patch("update", "/:id", {
      params: byId,
      payload: UpdateAccount,
      success: OperatorAccount,
      error: [NotFound, ValidationError]
    }).annotate(OpenApi.Summary, "Change an account's settings")
  )
  .prefix("/operator/v1/accounts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The companies that use the service.") {}

export class ApplicationsGroup extends HttpApiGroup.make("applications")
  .add(
    HttpApiEndpoint.post("create", "/accounts/:id/applications", {
      params: byId,
      payload: CreateApplication,
      success: Application.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ValidationError]
    }).annotate(OpenApi.Summary, "Add an application to an account"),
    HttpApiEndpoint.get("list", "/accounts/:id/applications", {
      params: byId,
      query: listQuery,
      success: listOf(Application),
      error: [NotFound, ValidationError]
    }).annotate(OpenApi.Summary, "List an account's applications, newest first"),
    HttpApiEndpoint.patch("update", "/applications/:id", {
      params: byId,
      payload: UpdateApplication,
      success: Application,
      error: [NotFound, ValidationError]
    })
      .annotate(OpenApi.Summary, "Rename an application, deactivate it or activate it again")
      .annotate(OpenApi.Description, "A deactivated application's keys are refused from the next request on.")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Client systems: each groups keys and owns webhook endpoints.") {}

export class KeysGroup extends HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.post("create", "/applications/:id/keys", {
      params: byId,
      payload: CreateApiKey,
      success: CreatedApiKey.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ValidationError]
    })
      .annotate(OpenApi.Summary, "Create a key")
      .annotate(OpenApi.Description, "The answer carries the complete key, this once."),
    HttpApiEndpoint.get("list", "/applications/:id/keys", {
      params: byId,
      query: listQuery,
      success: listOf(ApiKey),
      error: [NotFound, ValidationError]
    }).annotate(OpenApi.Summary, "List an application's keys, newest first"),
    HttpApiEndpoint.post("revoke", "/keys/:id/revoke", { params: byId, success: ApiKey, error: NotFound })
      .annotate(OpenApi.Summary, "Revoke a key")
      .annotate(OpenApi.Description, "Refused from the next request on, in every server process.")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The keys of `/v1`.") {}

export class ChargesGroup extends HttpApiGroup.make("charges")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: chargesQuery,
      success: listOf(OperatorCharge),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List every charge, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: OperatorChargeDetail, error: NotFound }).annotate(
      OpenApi.Summary,
      "Get a charge with its history of states and its deliveries"
    )
  )
  .prefix("/operator/v1/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money in, from the API and from the checkout.") {}

export class ChargeActionsGroup extends HttpApiGroup.make("chargeActions")
  .add(
    HttpApiEndpoint.post("cancel", "/:id/cancel", {
      params: byId,
      success: OperatorCharge,
      error: [NotFound, InvalidState]
    }).annotate(OpenApi.Summary, "Cancel a pending charge"),
    HttpApiEndpoint.post("refund", "/:id/refund", {
      params: byId,
      success: OperatorCharge,
      error: [NotFound, InvalidState, InsufficientBalance, AcquirerRejected]
    })
      .annotate(OpenApi.Summary, "Return a paid charge to its payer")
      .annotate(
        OpenApi.Description,
        "Sent to the acquirer. Its value leaves the balance with the order: first what is not released yet, then `available`, which must cover the rest. A second refund while one is under way is refused."
      )
  )
  .prefix("/operator/v1/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class CheckoutChargesGroup extends HttpApiGroup.make("checkoutCharges")
  .add(
    HttpApiEndpoint.post("create", "/", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: CreateCheckoutCharge,
      success: OperatorCharge.pipe(HttpApiSchema.status(201)),
      error: [
        NotFound,
        ValidationError,
        AmountBelowMinimum,
        InvalidDocument,
        InvalidWebhookUrl,
        AccountInactive,
        AcquirerRejected
      ]
    })
      .annotate(OpenApi.Summary, "Create a charge as the hosted checkout does")
      .annotate(
        OpenApi.Description,
        "Of origin `checkout`: invisible under `/v1`, with events to the application's registered endpoints."
      )
  )
  .prefix("/operator/v1/applications/:id/checkout-charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class PayoutsGroup extends HttpApiGroup.make("payouts")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: payoutsQuery,
      success: listOf(OperatorPayout),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List every payout, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: OperatorPayout, error: NotFound }).annotate(
      OpenApi.Summary,
      "Get a payout"
    )
  )
  .prefix("/operator/v1/payouts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money out, from the API and from the dashboard.") {}

export class PayoutActionsGroup extends HttpApiGroup.make("payoutActions")
  .add(
    HttpApiEndpoint.post("create", "/accounts/:id/payouts", {
      params: byId,
      headers: optionalIdempotencyKey,
      payload: CreateDashboardPayout,
      success: OperatorPayout.pipe(HttpApiSchema.status(201)),
      error: [
        NotFound,
        ValidationError,
        AmountBelowMinimum,
        InvalidDocument,
        InvalidWebhookUrl,
        AccountInactive,
        AccountRestricted,
        InsufficientBalance
      ]
    })
      .annotate(OpenApi.Summary, "Ask for a payout in the dashboard")
      .annotate(
        OpenApi.Description,
        "Of origin `dashboard`: it lists under `/v1/payouts`, uses the same balance, pays the fee and obeys `auto_payout_enabled`."
      ),
    HttpApiEndpoint.post("approve", "/payouts/:id/approve", {
      params: byId,
      success: OperatorPayout,
      error: [NotFound, InvalidState]
    }).annotate(OpenApi.Summary, "Release a pending payout to the acquirer"),
    HttpApiEndpoint.post("cancel", "/payouts/:id/cancel", {
      params: byId,
      success: OperatorPayout,
      error: [NotFound, InvalidState]
    })
      .annotate(OpenApi.Summary, "Reject a pending payout")
      .annotate(OpenApi.Description, "Amount and fee return to the balance.")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class DisputesGroup extends HttpApiGroup.make("disputes")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: disputesQuery,
      success: listOf(OperatorDispute),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List disputes, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: OperatorDispute, error: NotFound }).annotate(
      OpenApi.Summary,
      "Get a dispute with its messages"
    )
  )
  .prefix("/operator/v1/disputes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "MEDs against Pix charges.") {}

export class DisputeActionsGroup extends HttpApiGroup.make("disputeActions")
  .add(
    HttpApiEndpoint.post("defense", "/:id/defense", {
      params: byId,
      payload: TextBody,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    }).annotate(OpenApi.Summary, "File the defense of an open dispute, which is then under review"),
    HttpApiEndpoint.post("message", "/:id/messages", {
      params: byId,
      payload: TextBody,
      success: OperatorDispute.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Write to the platform in a dispute's chat")
      .annotate(OpenApi.Description, "`dispute.pix.message` goes out when the platform replies.")
  )
  .prefix("/operator/v1/disputes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class DeliveriesGroup extends HttpApiGroup.make("deliveries")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: deliveriesQuery,
      success: listOf(Delivery),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List webhook deliveries, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: DeliveryDetail, error: NotFound }).annotate(
      OpenApi.Summary,
      "Get a delivery with each of its attempts"
    )
  )
  .prefix("/operator/v1/deliveries")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Events on their way to receivers.") {}

export class DeliveryActionsGroup extends HttpApiGroup.make("deliveryActions")
  .add(
    HttpApiEndpoint.post("resend", "/:id/resend", {
      params: byId,
      success: Delivery.pipe(HttpApiSchema.status(202)),
      error: [NotFound, InvalidState]
    })
      .annotate(OpenApi.Summary, "Send a delivery again")
      .annotate(
        OpenApi.Description,
        "One attempt at once under the same delivery id; if it fails, the retry curve starts again. Refused while one is in flight, when it was canceled, and when its endpoint is deleted."
      ),
    HttpApiEndpoint.post("resendFailed", "/resend", {
      payload: ResendFailed,
      success: Resent.pipe(HttpApiSchema.status(202)),
      error: ValidationError
    })
      .annotate(OpenApi.Summary, "Send all failed deliveries of an endpoint or a resource again")
      .annotate(OpenApi.Description, "Those assembled since an instant; each makes one attempt at once.")
  )
  .prefix("/operator/v1/deliveries")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class WebhookEndpointsGroup extends HttpApiGroup.make("webhookEndpoints")
  .add(
    HttpApiEndpoint.get("list", "/applications/:id/webhooks", {
      params: byId,
      success: listOf(OperatorWebhookEndpoint),
      error: NotFound
    }).annotate(OpenApi.Summary, "List an application's webhook endpoints with their health")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class WebhookEndpointActionsGroup extends HttpApiGroup.make("webhookEndpointActions")
  .add(
    HttpApiEndpoint.patch("update", "/webhooks/:id", {
      params: byId,
      payload: UpdateEndpointState,
      success: OperatorWebhookEndpoint,
      error: [NotFound, ValidationError]
    })
      .annotate(OpenApi.Summary, "Disable or enable a webhook endpoint")
      .annotate(
        OpenApi.Description,
        "Its deliveries are parked while it is disabled and go out when it is enabled again. An endpoint that its application paused stays paused."
      )
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class OutboxFailuresGroup extends HttpApiGroup.make("outboxFailures")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: listOf(OutboxFailure),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List changes whose deliveries could not be created, newest first")
  )
  .prefix("/operator/v1/outbox-failures")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The fan-out sets aside what fails by itself, so that the rest goes on.") {}

export class OutboxFailureActionsGroup extends HttpApiGroup.make("outboxFailureActions")
  .add(
    HttpApiEndpoint.post("retry", "/:id/retry", {
      params: byId,
      success: OutboxFailure.pipe(HttpApiSchema.status(202)),
      error: NotFound
    })
      .annotate(OpenApi.Summary, "Try again to create the deliveries of a change")
      .annotate(OpenApi.Description, "Deliveries that were created before are not created twice.")
  )
  .prefix("/operator/v1/outbox-failures")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class RequestsGroup extends HttpApiGroup.make("requests")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: requestsQuery,
      success: listOf(RequestLogEntry),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List the requests made to `/v1`, newest first")
  )
  .prefix("/operator/v1/requests")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class AuditGroup extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: listOf(AuditEntry),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List the state-changing calls of operators, newest first")
  )
  .prefix("/operator/v1/audit")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class LedgerGroup extends HttpApiGroup.make("ledger")
  .add(
    HttpApiEndpoint.get("entries", "/entries", {
      query: ledgerQuery,
      success: listOf(LedgerEntry),
      error: ValidationError
    }).annotate(OpenApi.Summary, "List ledger entries, newest first"),
    HttpApiEndpoint.get("verify", "/verify", { success: LedgerVerification }).annotate(
      OpenApi.Summary,
      "Recompute every ledger account from its entries and compare with the kept balances"
    )
  )
  .prefix("/operator/v1/ledger")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class StatsGroup extends HttpApiGroup.make("stats")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { query: statsQuery, success: Stats, error: ValidationError }).annotate(
      OpenApi.Summary,
      "Read counts by state, volume per day and the state of deliveries"
    )
  )
  .prefix("/operator/v1/stats")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

/** For an operation whose body may be left out altogether. */
const optionalBody = (operation: Record<string, unknown>) => ({
  ...operation,
  requestBody: { ...Object(operation["requestBody"]), required: false }
})

const simulatorOnly =
  "Reported as a real acquirer would report it. A copy of a report (the same `external_id`) changes nothing: 409. 404 unless the simulated acquirer runs."

/** A report that overtakes the payment of its charge. */
const deferred = OperatorCharge.pipe(HttpApiSchema.status(202))

const beforePayment = "202 with the charge as it is where its payment has not arrived: applied when it does."

export class SimulatorChargesGroup extends HttpApiGroup.make("simulatorCharges")
  .add(
    HttpApiEndpoint.post("pay", "/:id/pay", {
      params: byId,
      payload: SimulatePay,
      success: OperatorCharge,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the payer pay")
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("fail", "/:id/fail", {
      params: byId,
      payload: SimulateReport,
      success: OperatorCharge,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the acquirer report a failure")
      .annotate(OpenApi.Transform, optionalBody)
  )
  .prefix("/operator/v1/simulator/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorReturnsGroup extends HttpApiGroup.make("simulatorReturns")
  .add(
    HttpApiEndpoint.post("refund", "/:id/refund", {
      params: byId,
      payload: SimulateReport,
      success: [OperatorCharge, deferred],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the acquirer report a refund")
      .annotate(OpenApi.Description, beforePayment)
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("infraction", "/:id/infraction", {
      params: byId,
      payload: SimulateInfraction,
      success: [OperatorDispute.pipe(HttpApiSchema.status(201)), deferred],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the payer open a MED")
      .annotate(OpenApi.Description, beforePayment),
    HttpApiEndpoint.post("return", "/:id/return", {
      params: byId,
      payload: SimulateReturn,
      success: [OperatorCharge, deferred],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the institution return the Pix with no prior notice")
      .annotate(OpenApi.Description, beforePayment)
  )
  .prefix("/operator/v1/simulator/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorDisputesGroup extends HttpApiGroup.make("simulatorDisputes")
  .add(
    HttpApiEndpoint.post("message", "/:id/message", {
      params: byId,
      payload: SimulateMessage,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    }).annotate(OpenApi.Summary, "Let the platform reply"),
    HttpApiEndpoint.post("win", "/:id/win", {
      params: byId,
      payload: SimulateReport,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the MED be denied")
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("lose", "/:id/lose", {
      params: byId,
      payload: SimulateReport,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let the MED be accepted")
      .annotate(OpenApi.Transform, optionalBody)
  )
  .prefix("/operator/v1/simulator/disputes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorPayoutsGroup extends HttpApiGroup.make("simulatorPayouts")
  .add(
    HttpApiEndpoint.post("complete", "/:id/complete", {
      params: byId,
      payload: SimulateReport,
      success: OperatorPayout,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let a payout arrive")
      .annotate(OpenApi.Description, "409 unless it was handed over.")
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("fail", "/:id/fail", {
      params: byId,
      payload: SimulateFailure,
      success: OperatorPayout,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(OpenApi.Summary, "Let a payout fail")
      .annotate(OpenApi.Description, "409 unless it was handed over.")
  )
  .prefix("/operator/v1/simulator/payouts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

const about = OpenApi.annotations({
  title: "Payments Service Operator API",
  version: "1.0.0",
  description:
    "What operators do: accounts, applications, keys, every charge and payout, disputes, deliveries, logs and the ledger. Conventions are those of `/v1`; every state-changing call is kept in the audit log.",
  transform: honestOpenApi
})

/** The whole of `/operator/v1`. */
export class OperatorApi extends HttpApi.make("operator")
  .add(AccountsGroup)
  .add(ApplicationsGroup)
  .add(KeysGroup)
  .add(ChargesGroup)
  .add(ChargeActionsGroup)
  .add(CheckoutChargesGroup)
  .add(PayoutsGroup)
  .add(PayoutActionsGroup)
  .add(DisputesGroup)
  .add(DisputeActionsGroup)
  .add(DeliveriesGroup)
  .add(DeliveryActionsGroup)
  .add(WebhookEndpointsGroup)
  .add(WebhookEndpointActionsGroup)
  .add(OutboxFailuresGroup)
  .add(OutboxFailureActionsGroup)
  .add(RequestsGroup)
  .add(AuditGroup)
  .add(LedgerGroup)
  .add(StatsGroup)
  .add(SimulatorChargesGroup)
  .add(SimulatorReturnsGroup)
  .add(SimulatorDisputesGroup)
  .add(SimulatorPayoutsGroup)
  .annotateMerge(about)
  // As of a body, all bad fields at once.
  .annotate(HttpApi.QueryParseOptions, { errors: "all" }) {}
