import * as Schema from "effect/Schema";
declare const Unauthorized_base: Schema.Class<Unauthorized, Schema.Struct<{
    code: Schema.tag<"UNAUTHORIZED">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class Unauthorized extends Unauthorized_base {
}
declare const InsufficientScope_base: Schema.Class<InsufficientScope, Schema.Struct<{
    code: Schema.tag<"INSUFFICIENT_SCOPE">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InsufficientScope extends InsufficientScope_base {
}
declare const IdempotencyKeyRequired_base: Schema.Class<IdempotencyKeyRequired, Schema.Struct<{
    code: Schema.tag<"IDEMPOTENCY_KEY_REQUIRED">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class IdempotencyKeyRequired extends IdempotencyKeyRequired_base {
}
declare const ValidationError_base: Schema.Class<ValidationError, Schema.Struct<{
    code: Schema.tag<"VALIDATION_ERROR">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class ValidationError extends ValidationError_base {
}
declare const InvalidDocument_base: Schema.Class<InvalidDocument, Schema.Struct<{
    code: Schema.tag<"INVALID_DOCUMENT">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InvalidDocument extends InvalidDocument_base {
}
declare const MethodNotSupported_base: Schema.Class<MethodNotSupported, Schema.Struct<{
    code: Schema.tag<"METHOD_NOT_SUPPORTED">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class MethodNotSupported extends MethodNotSupported_base {
}
declare const AmountBelowMinimum_base: Schema.Class<AmountBelowMinimum, Schema.Struct<{
    code: Schema.tag<"AMOUNT_BELOW_MINIMUM">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class AmountBelowMinimum extends AmountBelowMinimum_base {
}
declare const InsufficientBalance_base: Schema.Class<InsufficientBalance, Schema.Struct<{
    code: Schema.tag<"INSUFFICIENT_BALANCE">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InsufficientBalance extends InsufficientBalance_base {
}
declare const AccountInactive_base: Schema.Class<AccountInactive, Schema.Struct<{
    code: Schema.tag<"ACCOUNT_INACTIVE">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class AccountInactive extends AccountInactive_base {
}
declare const AccountRestricted_base: Schema.Class<AccountRestricted, Schema.Struct<{
    code: Schema.tag<"ACCOUNT_RESTRICTED">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class AccountRestricted extends AccountRestricted_base {
}
declare const ChargeNotFound_base: Schema.Class<ChargeNotFound, Schema.Struct<{
    code: Schema.tag<"CHARGE_NOT_FOUND">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class ChargeNotFound extends ChargeNotFound_base {
}
declare const PayoutNotFound_base: Schema.Class<PayoutNotFound, Schema.Struct<{
    code: Schema.tag<"PAYOUT_NOT_FOUND">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class PayoutNotFound extends PayoutNotFound_base {
}
declare const WebhookNotFound_base: Schema.Class<WebhookNotFound, Schema.Struct<{
    code: Schema.tag<"WEBHOOK_NOT_FOUND">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class WebhookNotFound extends WebhookNotFound_base {
}
declare const InvalidWebhookUrl_base: Schema.Class<InvalidWebhookUrl, Schema.Struct<{
    code: Schema.tag<"INVALID_WEBHOOK_URL">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InvalidWebhookUrl extends InvalidWebhookUrl_base {
}
declare const InvalidWebhookEvent_base: Schema.Class<InvalidWebhookEvent, Schema.Struct<{
    code: Schema.tag<"INVALID_WEBHOOK_EVENT">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InvalidWebhookEvent extends InvalidWebhookEvent_base {
}
declare const AcquirerRejected_base: Schema.Class<AcquirerRejected, Schema.Struct<{
    readonly code: Schema.tag<"ACQUIRER_REJECTED">;
    readonly message: Schema.withConstructorDefault<Schema.String>;
    readonly details: Schema.optionalKey<Schema.$Array<Schema.String>>;
    readonly charge_id: Schema.String;
}>, import("effect/Cause").YieldableError>;
/** `charge_id` points to the charge stored as `failed`; `message` passes on the acquirer's reason. */
export declare class AcquirerRejected extends AcquirerRejected_base {
}
declare const NotFound_base: Schema.Class<NotFound, Schema.Struct<{
    code: Schema.tag<"NOT_FOUND">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class NotFound extends NotFound_base {
}
declare const MethodNotAllowed_base: Schema.Class<MethodNotAllowed, Schema.Struct<{
    code: Schema.tag<"METHOD_NOT_ALLOWED">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class MethodNotAllowed extends MethodNotAllowed_base {
}
declare const InvalidState_base: Schema.Class<InvalidState, Schema.Struct<{
    code: Schema.tag<"INVALID_STATE">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InvalidState extends InvalidState_base {
}
declare const PayloadTooLarge_base: Schema.Class<PayloadTooLarge, Schema.Struct<{
    code: Schema.tag<"PAYLOAD_TOO_LARGE">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class PayloadTooLarge extends PayloadTooLarge_base {
}
declare const RateLimited_base: Schema.Class<RateLimited, Schema.Struct<{
    code: Schema.tag<"RATE_LIMITED">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class RateLimited extends RateLimited_base {
}
declare const InternalError_base: Schema.Class<InternalError, Schema.Struct<{
    code: Schema.tag<"INTERNAL_ERROR">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class InternalError extends InternalError_base {
}
declare const ServiceUnavailable_base: Schema.Class<ServiceUnavailable, Schema.Struct<{
    code: Schema.tag<"SERVICE_UNAVAILABLE">;
    message: Schema.withConstructorDefault<Schema.String>;
    details: Schema.optionalKey<Schema.$Array<Schema.String>>;
}>, import("effect/Cause").YieldableError>;
export declare class ServiceUnavailable extends ServiceUnavailable_base {
}
export {};
