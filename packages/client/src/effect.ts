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
  type WaitOptions,
  type WithResponses
} from "./effect/PaymentsClient.ts"
export {
  type ConnectionFailed,
  type InvalidCall,
  PaymentsError,
  type PaymentsErrorFields,
  type PaymentsErrorReason,
  type Refusal,
  type RefusalFields,
  type TimedOut,
  type UnknownRefusal,
  type WaitOver
} from "./effect/PaymentsError.ts"
export type { CreateOptions, RequestOptions, ResponseInfo, WithResponse } from "./effect/Options.ts"
export type { ApiErrorFields, CallFacts } from "./Errors.ts"
export type * from "./generated/EffectOperations.ts"
export type * from "./generated/Resources.ts"
export type { ChargeCondition } from "./WaitUntil.ts"
