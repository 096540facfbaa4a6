/**
 * The public interface, `/v1`, declared once: API-13.
 *
 * The server's routes, the typed clients and `openapi.json` are derived from this value.
 */
import { Account } from "@pix-payments/domain/Account"
import { Balance } from "@pix-payments/domain/Balance"
import { Charge, chargeQuery, CreateCharge } from "@pix-payments/domain/Charge"
import { EventCatalogEntry } from "@pix-payments/domain/EventCatalog"
import { IdempotencyKey } from "@pix-payments/domain/IdempotencyKey"
import { listOf } from "@pix-payments/domain/List"
import { CreatePayout, Payout, payoutQuery } from "@pix-payments/domain/Payout"
import { CreateWebhookEndpoint, UpdateWebhookEndpoint, WebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { normalizeOpenApi } from "./OpenApiDocument.ts"
import { Authentication, RequestErrors, RequiredScopes } from "./Security.ts"
import {
  AccountInactive,
  AccountRestricted,
  AcquirerRejected,
  AmountBelowMinimum,
  ChargeNotFound,
  IdempotencyKeyRequired,
  InsufficientBalance,
  InvalidDocument,
  InvalidWebhookEvent,
  InvalidWebhookUrl,
  MethodNotSupported,
  PayoutNotFound,
  ValidationError,
  WebhookNotFound
} from "./WireErrors.ts"

const idempotent = { "idempotency-key": IdempotencyKey }

// Any string: an id that is no UUID is answered as an unknown one (ERR-8).
const byId = { id: Schema.String.annotate({ format: "uuid" }) }

export class ChargesGroup extends HttpApiGroup.make("charges")
  .add(
    HttpApiEndpoint.post("create", "/", {
      headers: idempotent,
      payload: CreateCharge,
      success: Charge.pipe(HttpApiSchema.status(201)),
      error: [
        IdempotencyKeyRequired,
        ValidationError,
        MethodNotSupported,
        AmountBelowMinimum,
        InvalidDocument,
        InvalidWebhookUrl,
        AccountInactive,
        AcquirerRejected
      ]
    })
      .annotate(RequiredScopes, ["charge:write"])
      .annotate(OpenApi.Summary, "Create a Pix charge")
      .annotate(
        OpenApi.Description,
        "The charge is stored before the acquirer is called. A repeated `Idempotency-Key` returns 201 with the charge as it is now and the header `Idempotent-Replayed: true`."
      ),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Charge, error: ChargeNotFound })
      .annotate(RequiredScopes, ["charge:read"])
      .annotate(OpenApi.Summary, "Get a charge"),
    HttpApiEndpoint.get("list", "/", { query: chargeQuery, success: listOf(Charge), error: ValidationError })
      .annotate(RequiredScopes, ["charge:read"])
      .annotate(OpenApi.Summary, "List charges, newest first")
  )
  .prefix("/v1/charges")
  .middleware(Authentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money in: Pix charges created through the API.") {}

export class PayoutsGroup extends HttpApiGroup.make("payouts")
  .add(
    HttpApiEndpoint.post("create", "/", {
      headers: idempotent,
      payload: CreatePayout,
      success: Payout.pipe(HttpApiSchema.status(201)),
      error: [
        IdempotencyKeyRequired,
        ValidationError,
        MethodNotSupported,
        AmountBelowMinimum,
        InvalidDocument,
        InvalidWebhookUrl,
        AccountInactive,
        AccountRestricted,
        InsufficientBalance
      ]
    })
      .annotate(RequiredScopes, ["payout:write"])
      .annotate(OpenApi.Summary, "Send a Pix payout")
      .annotate(
        OpenApi.Description,
        "Amount and fee leave the available balance at creation. A repeated `Idempotency-Key` returns 201 with the payout as it is now and the header `Idempotent-Replayed: true`."
      ),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Payout, error: PayoutNotFound })
      .annotate(RequiredScopes, ["payout:read"])
      .annotate(OpenApi.Summary, "Get a payout"),
    HttpApiEndpoint.get("list", "/", { query: payoutQuery, success: listOf(Payout), error: ValidationError })
      .annotate(RequiredScopes, ["payout:read"])
      .annotate(OpenApi.Summary, "List payouts, including those that operators requested, newest first")
  )
  .prefix("/v1/payouts")
  .middleware(Authentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Money out: Pix payouts from the account's balance.") {}

export class BalanceGroup extends HttpApiGroup.make("balance")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { success: Balance })
      .annotate(RequiredScopes, ["balance:read"])
      .annotate(OpenApi.Summary, "Get the balance")
  )
  .prefix("/v1/balance")
  .middleware(Authentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "What the account has: spendable now, and not yet released.") {}

export class AccountGroup extends HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("retrieve", "/", { success: Account })
      .annotate(RequiredScopes, ["account:read"])
      .annotate(OpenApi.Summary, "Get the account that owns the key")
  )
  .prefix("/v1/account")
  .middleware(Authentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The account that the key belongs to.") {}

export class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/", { success: listOf(WebhookEndpoint) })
      .annotate(RequiredScopes, ["webhook:read"])
      .annotate(OpenApi.Summary, "List the webhook endpoints of the key's application"),
    HttpApiEndpoint.post("create", "/", {
      payload: CreateWebhookEndpoint,
      success: WebhookEndpoint.pipe(HttpApiSchema.status(201)),
      error: [ValidationError, InvalidWebhookEvent, InvalidWebhookUrl]
    })
      .annotate(RequiredScopes, ["webhook:write"])
      .annotate(OpenApi.Summary, "Register a webhook endpoint"),
    HttpApiEndpoint.patch("update", "/:id", {
      params: byId,
      payload: UpdateWebhookEndpoint,
      success: WebhookEndpoint,
      error: [ValidationError, InvalidWebhookEvent, InvalidWebhookUrl, WebhookNotFound]
    })
      .annotate(RequiredScopes, ["webhook:write"])
      .annotate(OpenApi.Summary, "Update, pause or resume a webhook endpoint"),
    HttpApiEndpoint.delete("delete", "/:id", {
      params: byId,
      success: HttpApiSchema.NoContent,
      error: WebhookNotFound
    })
      .annotate(RequiredScopes, ["webhook:write"])
      .annotate(OpenApi.Summary, "Delete a webhook endpoint"),
    HttpApiEndpoint.get("events", "/events", { success: listOf(EventCatalogEntry) }).annotate(
      OpenApi.Summary,
      "List the event catalog"
    )
  )
  .prefix("/v1/webhooks")
  .middleware(Authentication)
  .middleware(RequestErrors)
  // The document's own section "Webhooks" has the events that are sent.
  .annotate(OpenApi.Title, "Webhook endpoints")
  .annotate(OpenApi.Description, "Registered endpoints of the key's application, and the event catalog.") {}

const about = OpenApi.annotations({
  title: "Payments Service API",
  version: "1.0.0",
  description:
    "Pix charges, Pix payouts, balance, account and webhooks. Money amounts are integers in cents; instants are ISO 8601 in UTC. Clients ignore unknown fields and treat unknown enum values as a generic case.",
  transform: normalizeOpenApi
})

/** The whole of `/v1`. */
export class PaymentsApi extends HttpApi.make("payments")
  .add(ChargesGroup)
  .add(PayoutsGroup)
  .add(BalanceGroup)
  .add(AccountGroup)
  .add(WebhooksGroup)
  .annotateMerge(about)
  // ERR-3: all bad parameters at once.
  .annotate(HttpApi.QueryParseOptions, { errors: "all" }) {}
