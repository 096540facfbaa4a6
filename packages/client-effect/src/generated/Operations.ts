/**
 * The operations of the Effect client, by group.
 *
 * Generated from `PaymentsApi` by `pnpm run client:generate`. Do not edit.
 */

import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { CreateOptions, RequestOptions } from "../Options.ts"
import type { PaymentsError } from "../PaymentsError.ts"
import type {
  Account,
  Balance,
  Charge,
  CreateCharge,
  CreatePayout,
  CreateWebhookEndpoint,
  EventCatalogEntry,
  ListChargesQuery,
  ListPayoutsQuery,
  Payout,
  UpdateWebhookEndpoint,
  WebhookEndpoint
} from "@pix-payments/client/internal/generated/Resources"

/** The operations under `charges`. */
export interface ChargesService {
  /**
   * Create a Pix charge.
   *
   * The charge is stored before the acquirer is called. A repeated `Idempotency-Key` returns 201 with the charge as it is now and the header `Idempotent-Replayed: true`.
   *
   * Scope: `charge:write`.
   *
   * Errors: `IDEMPOTENCY_KEY_REQUIRED`, `VALIDATION_ERROR`, `METHOD_NOT_SUPPORTED`, `AMOUNT_BELOW_MINIMUM`, `INVALID_DOCUMENT`, `ACCOUNT_INACTIVE`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_URL`, `ACQUIRER_REJECTED`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (params: CreateCharge, options?: CreateOptions) => Effect.Effect<Charge, PaymentsError>

  /**
   * List charges, newest first.
   *
   * Scope: `charge:read`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly list: (query?: ListChargesQuery, options?: RequestOptions) => Stream.Stream<Charge, PaymentsError>

  /**
   * Get a charge.
   *
   * Scope: `charge:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `CHARGE_NOT_FOUND`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (id: string, options?: RequestOptions) => Effect.Effect<Charge, PaymentsError>
}

/** The operations under `payouts`. */
export interface PayoutsService {
  /**
   * Send a Pix payout.
   *
   * Amount and fee leave the available balance at creation. A repeated `Idempotency-Key` returns 201 with the payout as it is now and the header `Idempotent-Replayed: true`.
   *
   * Scope: `payout:write`.
   *
   * Errors: `IDEMPOTENCY_KEY_REQUIRED`, `VALIDATION_ERROR`, `METHOD_NOT_SUPPORTED`, `AMOUNT_BELOW_MINIMUM`, `INVALID_DOCUMENT`, `ACCOUNT_INACTIVE`, `ACCOUNT_RESTRICTED`, `INSUFFICIENT_BALANCE`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_URL`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (params: CreatePayout, options?: CreateOptions) => Effect.Effect<Payout, PaymentsError>

  /**
   * List payouts, including those that operators requested, newest first.
   *
   * Scope: `payout:read`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly list: (query?: ListPayoutsQuery, options?: RequestOptions) => Stream.Stream<Payout, PaymentsError>

  /**
   * Get a payout.
   *
   * Scope: `payout:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYOUT_NOT_FOUND`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (id: string, options?: RequestOptions) => Effect.Effect<Payout, PaymentsError>
}

/** The operations under `balance`. */
export interface BalanceService {
  /**
   * Get the balance.
   *
   * Scope: `balance:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (options?: RequestOptions) => Effect.Effect<Balance, PaymentsError>
}

/** The operations under `account`. */
export interface AccountService {
  /**
   * Get the account that owns the key.
   *
   * Scope: `account:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (options?: RequestOptions) => Effect.Effect<Account, PaymentsError>
}

/** The operations under `webhooks`. */
export interface WebhooksService {
  /**
   * List the webhook endpoints of the key's application.
   *
   * Scope: `webhook:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly list: (options?: RequestOptions) => Stream.Stream<WebhookEndpoint, PaymentsError>

  /**
   * Register a webhook endpoint.
   *
   * Scope: `webhook:write`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_EVENT`, `INVALID_WEBHOOK_URL`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (
    params: CreateWebhookEndpoint,
    options?: RequestOptions
  ) => Effect.Effect<WebhookEndpoint, PaymentsError>

  /**
   * Update, pause or resume a webhook endpoint.
   *
   * Scope: `webhook:write`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `WEBHOOK_NOT_FOUND`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_EVENT`, `INVALID_WEBHOOK_URL`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly update: (
    id: string,
    params: UpdateWebhookEndpoint,
    options?: RequestOptions
  ) => Effect.Effect<WebhookEndpoint, PaymentsError>

  /**
   * Delete a webhook endpoint.
   *
   * Scope: `webhook:write`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `WEBHOOK_NOT_FOUND`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly delete: (id: string, options?: RequestOptions) => Effect.Effect<void, PaymentsError>

  /**
   * List the event catalog.
   *
   * Any accepted key may call.
   *
   * Errors: `UNAUTHORIZED`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly events: (options?: RequestOptions) => Stream.Stream<EventCatalogEntry, PaymentsError>
}

/** Every operation of `/v1`, by group and name. */
export interface PaymentsService {
  /** The operations under `charges`. */
  readonly charges: ChargesService
  /** The operations under `payouts`. */
  readonly payouts: PayoutsService
  /** The operations under `balance`. */
  readonly balance: BalanceService
  /** The operations under `account`. */
  readonly account: AccountService
  /** The operations under `webhooks`. */
  readonly webhooks: WebhooksService
}
