/**
 * Why a call failed: one class for each way, all of them `PaymentsError`.
 *
 * Guarantees: an error carries what is needed to repeat the call (`idempotencyKey`) and to ask about it (`requestId`),
 * and never what was sent: no key, no secret, no body of a request.
 */
import type { ErrorCode, ErrorFields } from "./generated/Resources.ts"

/** What is known of a call, whatever became of it. */
export interface CallFacts {
  /** Group and name of the operation: `charges.create`. */
  readonly operation: string
  /** The key under which a creation can be repeated; only on creations. */
  readonly idempotencyKey?: string
  /** `X-Request-Id` of the last attempt: names it in the service's logs. */
  readonly requestId?: string
  /** How often the request was sent; 0 when it never was. */
  readonly attempts: number
}

/** Any failure of a call. A creation that failed may still have been carried out: repeat it with `idempotencyKey`. */
export class PaymentsError extends Error implements CallFacts {
  /** Group and name of the operation: `charges.create`. */
  declare readonly operation: string
  /** The key under which a creation can be repeated; only on creations. */
  declare readonly idempotencyKey?: string
  /** `X-Request-Id` of the last attempt: names it in the service's logs. */
  declare readonly requestId?: string
  /** How often the request was sent; 0 when it never was. */
  declare readonly attempts: number

  constructor(message: string, facts: CallFacts, options?: ErrorOptions) {
    super(message, options)
    Object.assign(this, facts)
  }

  /** The facts, for a log. */
  toJSON(): object {
    return { ...this, name: this.name, message: this.message }
  }
}

/** The call was made wrongly and nothing was sent: an option, an id, or params that cannot be written as JSON. */
export class UsageError extends PaymentsError {}

/** No answer: the connection failed or broke off before one, or what came was no whole answer of the service. */
export class ConnectionError extends PaymentsError {}

/** No whole answer within the time of an attempt. */
export class TimeoutError extends PaymentsError {
  /** The time that each attempt had, in milliseconds. */
  declare readonly timeoutMs: number
}

/** The caller's `signal` ended the call; `cause` is its reason. */
export class AbortError extends PaymentsError {}

/** `waitUntil` gave up: its time is over, or the charge can no longer become as wanted. */
export class WaitError extends PaymentsError {
  /** The charge as it was read last. */
  declare readonly charge: { readonly id: string; readonly status: string }
}

/** What an answer with an error says. */
export interface ApiErrorFields {
  /** HTTP status. */
  readonly status: number
  /** What to branch on. One that this release does not know is possible; `UNKNOWN` where the body names none. */
  readonly code: ErrorCode | (string & Record<never, never>)
  /** Failed fields, required scopes or unknown events; empty where there is nothing to list. */
  readonly details: ReadonlyArray<string>
  /** The charge that was stored as `failed`, where the acquirer refused it. */
  readonly charge_id?: string
  /** How long the service asks to wait before another try, in milliseconds. */
  readonly retryAfterMs?: number
  /** The body as it came: parsed, or its text where it is no JSON; `undefined` where it broke off. */
  readonly body: unknown
}

/** The service answered with an error. `message` is for humans; branch on `code`, best with `isCode`. */
export class ApiError extends PaymentsError implements ApiErrorFields {
  /** HTTP status. */
  declare readonly status: number
  /** What to branch on. One that this release does not know is possible; `UNKNOWN` where the body names none. */
  declare readonly code: ApiErrorFields["code"]
  /** Failed fields, required scopes or unknown events; empty where there is nothing to list. */
  declare readonly details: ReadonlyArray<string>
  /** The charge that was stored as `failed`, where the acquirer refused it. */
  declare readonly charge_id?: string
  /** How long the service asks to wait before another try, in milliseconds. */
  declare readonly retryAfterMs?: number
  /** The body as it came: parsed, or its text where it is no JSON; `undefined` where it broke off. */
  declare readonly body: unknown
}

/** 400, 413, 422 and other 4xx: repeating does not help. */
export class InvalidRequestError extends ApiError {}
/** 401: the API key is missing or not accepted. */
export class AuthenticationError extends ApiError {}
/** 403: the API key lacks a scope; `details` names it. */
export class PermissionError extends ApiError {}
/** 404: it does not exist in this account. */
export class NotFoundError extends ApiError {}
/** 429: too many requests; `retryAfterMs` says when to come back. */
export class RateLimitError extends ApiError {}
/** 5xx: the whole call may be repeated with the same idempotency key. */
export class ServerError extends ApiError {}

/**
 * Whether an error is an answer with this code. Narrows to the fields that the code brings.
 *
 * @example
 * ```ts
 * import { isCode, Payments } from "@pix-payments/client"
 *
 * const payments = new Payments({ baseUrl: "https://pix.example.com", apiKey: "pix_…" })
 *
 * try {
 *   await payments.payouts.create({ amount: 50_000, pix_key_type: "email", pix_key: "ana@example.com" })
 * } catch (error) {
 *   if (!isCode(error, "INSUFFICIENT_BALANCE")) throw error
 *   console.log("not enough money yet")
 * }
 * ```
 */
export const isCode = <const C extends ApiErrorFields["code"]>(
  error: unknown,
  code: C
): error is ApiError & { readonly code: C } & (C extends ErrorCode ? ErrorFields[C] : unknown) =>
  error instanceof ApiError && error.code === code

/** The error of an answer. */
export const apiError = (fields: ApiErrorFields & { readonly message: string }, facts: CallFacts): ApiError => {
  const { message, ...rest } = fields
  return Object.assign(new (classOf(rest.status))(message, facts), rest)
}

const classOf = (status: number): typeof ApiError => {
  switch (status) {
    case 401:
      return AuthenticationError
    case 403:
      return PermissionError
    case 404:
      return NotFoundError
    case 429:
      return RateLimitError
    default:
      return status >= 500 ? ServerError : status >= 400 ? InvalidRequestError : ApiError
  }
}

for (const [name, type] of Object.entries({
  PaymentsError,
  UsageError,
  ConnectionError,
  TimeoutError,
  AbortError,
  WaitError,
  ApiError,
  InvalidRequestError,
  AuthenticationError,
  PermissionError,
  NotFoundError,
  RateLimitError,
  ServerError
})) {
  // A bundler may rename classes; their names are part of the contract.
  Object.defineProperty(type.prototype, "name", { value: name, writable: true, configurable: true })
}
