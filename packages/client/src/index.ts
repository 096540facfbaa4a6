/**
 * The client of the Pix payments service, over `fetch`: no dependencies, for Node, Bun, Deno and workers.
 *
 * @module
 */
export { Call, type CreateOptions, type RequestOptions, type ResponseInfo, type WithResponse } from "./Call.ts"
export {
  AbortError,
  ApiError,
  type ApiErrorFields,
  AuthenticationError,
  type CallFacts,
  ConnectionError,
  InvalidRequestError,
  isCode,
  NotFoundError,
  PaymentsError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UsageError,
  WaitError
} from "./Errors.ts"
export type * from "./generated/Operations.ts"
export type * from "./generated/Resources.ts"
export type { AttemptInfo, Hooks } from "./Hooks.ts"
export { PageCall, type PageQuery } from "./PageCall.ts"
export { type Charges, Payments, type PaymentsOptions } from "./Payments.ts"
export type { ChargeCondition, WaitOptions } from "./WaitUntil.ts"
