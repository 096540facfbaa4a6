/**
 * The Effect client of the Pix payments service: a service, its layers, one tagged error, lists as streams.
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
  type ConnectionFailed,
  type InvalidCall,
  PaymentsError,
  type PaymentsErrorFields,
  type PaymentsErrorReason,
  type Refusal,
  type RefusalFields,
  type ReplayMismatch,
  type TimedOut,
  type UnknownRefusal,
  type WaitOver
} from "./PaymentsError.ts"
export type { CreateOptions, RequestOptions, ResponseInfo, WithResponse } from "./Options.ts"
export type { ApiErrorFields, CallFacts, ConnectionFailure } from "@pix-payments/client/internal/Errors"
export type * from "./generated/Operations.ts"
export type * from "@pix-payments/client/internal/generated/Resources"
export type { Awaitable, ChargeCondition, Condition, PayoutCondition } from "@pix-payments/client/internal/WaitUntil"
