/**
 * The operations of the Promise client, by group.
 *
 * Generated from `PaymentsApi` by `pnpm run client:generate`. Do not edit.
 */

import type { Call, CreateOptions, RequestOptions } from "../Call.ts"
import type { PageCall } from "../PageCall.ts"
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
} from "./Resources.ts"

/** The operations under `charges`. */
export interface ChargesOperations {
  /**
   * Create a Pix charge.
   *
   * The charge is stored before the acquirer is called. A repeated `Idempotency-Key` returns 201 with the charge as it is now and the header `Idempotent-Replayed: true`.
   *
   * Scope: `charge:write`.
   *
   * Errors: `IDEMPOTENCY_KEY_REQUIRED`, `VALIDATION_ERROR`, `METHOD_NOT_SUPPORTED`, `AMOUNT_BELOW_MINIMUM`, `INVALID_DOCUMENT`, `ACCOUNT_INACTIVE`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_URL`, `ACQUIRER_REJECTED`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (params: CreateCharge, options?: CreateOptions) => Call<Charge>

  /**
   * List charges, newest first.
   *
   * Scope: `charge:read`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly list: (query?: ListChargesQuery, options?: RequestOptions) => PageCall<Charge>

  /**
   * Get a charge.
   *
   * Scope: `charge:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `CHARGE_NOT_FOUND`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (id: string, options?: RequestOptions) => Call<Charge>
}

/** The operations under `payouts`. */
export interface PayoutsOperations {
  /**
   * Send a Pix payout.
   *
   * Amount and fee leave the available balance at creation. A repeated `Idempotency-Key` returns 201 with the payout as it is now and the header `Idempotent-Replayed: true`.
   *
   * Scope: `payout:write`.
   *
   * Errors: `IDEMPOTENCY_KEY_REQUIRED`, `VALIDATION_ERROR`, `METHOD_NOT_SUPPORTED`, `AMOUNT_BELOW_MINIMUM`, `INVALID_DOCUMENT`, `ACCOUNT_INACTIVE`, `ACCOUNT_RESTRICTED`, `INSUFFICIENT_BALANCE`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_URL`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (params: CreatePayout, options?: CreateOptions) => Call<Payout>

  /**
   * List payouts, including those that operators requested, newest first.
   *
   * Scope: `payout:read`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly list: (query?: ListPayoutsQuery, options?: RequestOptions) => PageCall<Payout>

  /**
   * Get a payout.
   *
   * Scope: `payout:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYOUT_NOT_FOUND`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (id: string, options?: RequestOptions) => Call<Payout>
}

/** The operations under `balance`. */
export interface BalanceOperations {
  /**
   * Get the balance.
   *
   * Scope: `balance:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (options?: RequestOptions) => Call<Balance>
}

/** The operations under `account`. */
export interface AccountOperations {
  /**
   * Get the account that owns the key.
   *
   * Scope: `account:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly retrieve: (options?: RequestOptions) => Call<Account>
}

/** The operations under `webhooks`. */
export interface WebhooksOperations {
  /**
   * List the webhook endpoints of the key's application.
   *
   * Scope: `webhook:read`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly list: (options?: RequestOptions) => PageCall<WebhookEndpoint>

  /**
   * Register a webhook endpoint.
   *
   * Scope: `webhook:write`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_EVENT`, `INVALID_WEBHOOK_URL`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (params: CreateWebhookEndpoint, options?: RequestOptions) => Call<WebhookEndpoint>

  /**
   * Update, pause or resume a webhook endpoint.
   *
   * Scope: `webhook:write`.
   *
   * Errors: `VALIDATION_ERROR`, `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `WEBHOOK_NOT_FOUND`, `PAYLOAD_TOO_LARGE`, `INVALID_WEBHOOK_EVENT`, `INVALID_WEBHOOK_URL`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly update: (id: string, params: UpdateWebhookEndpoint, options?: RequestOptions) => Call<WebhookEndpoint>

  /**
   * Delete a webhook endpoint.
   *
   * Scope: `webhook:write`.
   *
   * Errors: `UNAUTHORIZED`, `INSUFFICIENT_SCOPE`, `WEBHOOK_NOT_FOUND`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly delete: (id: string, options?: RequestOptions) => Call<void>

  /**
   * List the event catalog.
   *
   * Any accepted key may call.
   *
   * Errors: `UNAUTHORIZED`, `RATE_LIMITED`, `INTERNAL_ERROR`, `SERVICE_UNAVAILABLE`.
   */
  readonly events: (options?: RequestOptions) => PageCall<EventCatalogEntry>
}

/** Every operation of `/v1`, by group and name. */
export interface Operations {
  /** The operations under `charges`. */
  readonly charges: ChargesOperations
  /** The operations under `payouts`. */
  readonly payouts: PayoutsOperations
  /** The operations under `balance`. */
  readonly balance: BalanceOperations
  /** The operations under `account`. */
  readonly account: AccountOperations
  /** The operations under `webhooks`. */
  readonly webhooks: WebhooksOperations
}
