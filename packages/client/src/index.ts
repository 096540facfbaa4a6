/**
 * The client of the Pix payments service, over `fetch`: no dependencies, for Node, Bun, Deno and workers.
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
  type CallFacts,
  ConnectionError,
  type ConnectionFailure,
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
export type { Fetch, FetchInit, FetchResponse } from "./Transport.ts"
export type { Awaitable, ChargeCondition, Condition, PayoutCondition, WaitOptions } from "./WaitUntil.ts"
