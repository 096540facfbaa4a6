/**
 * The error bodies of the API, `{ code, message, details?, charge_id? }`: one class per code. ERR-1, ERR-13.
 *
 * Guarantees
 * - Status and default message are those of `domain/ErrorCode`.
 * - The body has exactly these keys.
 *
 * Services do not fail with these errors: the handlers of a group translate domain errors into them.
 */
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const body = <C extends ErrorCode>(code: C) => ({
  code: Schema.tag(code),
  message: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed(errorCodes[code].message))),
  details: Schema.optionalKey(Schema.Array(Schema.String))
})

const status = (code: ErrorCode) => ({ httpApiStatus: errorCodes[code].status })

export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(
  body("UNAUTHORIZED"),
  status("UNAUTHORIZED")
) {}

export class InsufficientScope extends Schema.Error<InsufficientScope>("InsufficientScope")(
  body("INSUFFICIENT_SCOPE"),
  status("INSUFFICIENT_SCOPE")
) {}

/** Operator interface only: role, account or own approval. */
export class Forbidden extends Schema.Error<Forbidden>("Forbidden")(body("FORBIDDEN"), status("FORBIDDEN")) {}

export class IdempotencyKeyRequired extends Schema.Error<IdempotencyKeyRequired>("IdempotencyKeyRequired")(
  body("IDEMPOTENCY_KEY_REQUIRED"),
  status("IDEMPOTENCY_KEY_REQUIRED")
) {}

export class ValidationError extends Schema.Error<ValidationError>("ValidationError")(
  body("VALIDATION_ERROR"),
  status("VALIDATION_ERROR")
) {}

export class InvalidDocument extends Schema.Error<InvalidDocument>("InvalidDocument")(
  body("INVALID_DOCUMENT"),
  status("INVALID_DOCUMENT")
) {}

export class MethodNotSupported extends Schema.Error<MethodNotSupported>("MethodNotSupported")(
  body("METHOD_NOT_SUPPORTED"),
  status("METHOD_NOT_SUPPORTED")
) {}

export class AmountBelowMinimum extends Schema.Error<AmountBelowMinimum>("AmountBelowMinimum")(
  body("AMOUNT_BELOW_MINIMUM"),
  status("AMOUNT_BELOW_MINIMUM")
) {}

export class InsufficientBalance extends Schema.Error<InsufficientBalance>("InsufficientBalance")(
  body("INSUFFICIENT_BALANCE"),
  status("INSUFFICIENT_BALANCE")
) {}

export class AccountInactive extends Schema.Error<AccountInactive>("AccountInactive")(
  body("ACCOUNT_INACTIVE"),
  status("ACCOUNT_INACTIVE")
) {}

export class AccountRestricted extends Schema.Error<AccountRestricted>("AccountRestricted")(
  body("ACCOUNT_RESTRICTED"),
  status("ACCOUNT_RESTRICTED")
) {}

export class ChargeNotFound extends Schema.Error<ChargeNotFound>("ChargeNotFound")(
  body("CHARGE_NOT_FOUND"),
  status("CHARGE_NOT_FOUND")
) {}

export class PayoutNotFound extends Schema.Error<PayoutNotFound>("PayoutNotFound")(
  body("PAYOUT_NOT_FOUND"),
  status("PAYOUT_NOT_FOUND")
) {}

export class WebhookNotFound extends Schema.Error<WebhookNotFound>("WebhookNotFound")(
  body("WEBHOOK_NOT_FOUND"),
  status("WEBHOOK_NOT_FOUND")
) {}

export class InvalidWebhookUrl extends Schema.Error<InvalidWebhookUrl>("InvalidWebhookUrl")(
  body("INVALID_WEBHOOK_URL"),
  status("INVALID_WEBHOOK_URL")
) {}

export class InvalidWebhookEvent extends Schema.Error<InvalidWebhookEvent>("InvalidWebhookEvent")(
  body("INVALID_WEBHOOK_EVENT"),
  status("INVALID_WEBHOOK_EVENT")
) {}

/** `charge_id` is the charge stored as `failed`; `message` is the acquirer's reason (CHG-3). */
export class AcquirerRejected extends Schema.Error<AcquirerRejected>("AcquirerRejected")(
  { ...body("ACQUIRER_REJECTED"), charge_id: Schema.String.annotate({ format: "uuid" }) },
  status("ACQUIRER_REJECTED")
) {}

export class NotFound extends Schema.Error<NotFound>("NotFound")(body("NOT_FOUND"), status("NOT_FOUND")) {}

export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(
  body("METHOD_NOT_ALLOWED"),
  status("METHOD_NOT_ALLOWED")
) {}

export class InvalidState extends Schema.Error<InvalidState>("InvalidState")(
  body("INVALID_STATE"),
  status("INVALID_STATE")
) {}

export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(
  body("PAYLOAD_TOO_LARGE"),
  status("PAYLOAD_TOO_LARGE")
) {}

/** Operator interface only: the key is that of another body or another operator. */
export class IdempotencyKeyReused extends Schema.Error<IdempotencyKeyReused>("IdempotencyKeyReused")(
  body("IDEMPOTENCY_KEY_REUSED"),
  status("IDEMPOTENCY_KEY_REUSED")
) {}

/** Operator interface only: the events after a place are not kept. */
export class CursorExpired extends Schema.Error<CursorExpired>("CursorExpired")(
  body("CURSOR_EXPIRED"),
  status("CURSOR_EXPIRED")
) {}

/** Operator interface only. */
export class MisdirectedRequest extends Schema.Error<MisdirectedRequest>("MisdirectedRequest")(
  body("MISDIRECTED_REQUEST"),
  status("MISDIRECTED_REQUEST")
) {}

export class RateLimited extends Schema.Error<RateLimited>("RateLimited")(
  body("RATE_LIMITED"),
  status("RATE_LIMITED")
) {}

export class InternalError extends Schema.Error<InternalError>("InternalError")(
  body("INTERNAL_ERROR"),
  status("INTERNAL_ERROR")
) {}

export class ServiceUnavailable extends Schema.Error<ServiceUnavailable>("ServiceUnavailable")(
  body("SERVICE_UNAVAILABLE"),
  status("SERVICE_UNAVAILABLE")
) {}
