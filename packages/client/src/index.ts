/**
 * The client of the Pix payments service. It uses `fetch` and has no dependencies. It runs on Node, Bun, Deno and workers.
 *
 * @module
 */
export {
  Call,
  type CreateOptions,
  type RequestOptions,
  type ResponseHeaders,
  type ResponseInfo,
  type WithResponse
} from "./Call.ts"
export {
  AbortError,
  ApiError,
  type ApiErrorFields,
  AuthenticationError,
  type CallInfo,
  ConnectionError,
  type ConnectionErrorReason,
  InvalidRequestError,
  isCode,
  NotFoundError,
  PaymentsError,
  PermissionError,
  RateLimitError,
  ReplayMismatchError,
  ServerError,
  TimeoutError,
  UsageError,
  WaitError
} from "./Errors.ts"
export type * from "./generated/Operations.ts"
export type * from "./generated/Resources.ts"
export type { AttemptInfo, Hooks } from "./Hooks.ts"
export { type ListPage, PageCall, type PageQuery } from "./PageCall.ts"
export { type Charges, Payments, type PaymentsOptions, type Payouts, type RawOptions } from "./Payments.ts"
export {
  type ChargeIn,
  type CompletedPayout,
  type FailedCharge,
  type FailedPayout,
  hasStatus,
  type PaidCharge,
  type PayoutIn
} from "./States.ts"
export type { Fetch, FetchInit, FetchResponse } from "./Transport.ts"
export { txidOf } from "./Txid.ts"
export type { ChargeCondition, Condition, PayoutCondition, Pollable, WaitOptions } from "./WaitUntil.ts"
