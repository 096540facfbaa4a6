/**
 * The Effect client of the Pix payments service: a service with layers, one tagged error, lists as streams.
 *
 * @module
 */
export {
  type ChargesClient,
  PaymentsClient,
  type PaymentsClientOptions,
  type PaymentsClientShape,
  type PayoutsClient,
  type WaitOptions,
  type WithResponses
} from "./PaymentsClient.ts"
export {
  type ApiErrorReason,
  type ApiErrorReasonFields,
  type ConnectionError,
  PaymentsError,
  type PaymentsErrorFields,
  type PaymentsErrorReason,
  type ReplayMismatchError,
  type TimeoutError,
  type UnknownApiError,
  type UsageError,
  type WaitError
} from "./PaymentsError.ts"
export type { CreateOptions, RequestOptions, ResponseInfo, WithResponse } from "./Options.ts"
export type { ApiErrorFields, CallInfo, ConnectionErrorReason } from "@pix-payments/client/internal/Errors"
export type * from "./generated/Operations.ts"
export type * from "@pix-payments/client/internal/generated/Resources"
export type { ChargeCondition, Condition, PayoutCondition, Pollable } from "@pix-payments/client/internal/WaitUntil"
export { txidOf } from "@pix-payments/client/internal/Txid"
