/**
 * Why a call failed: one class for each way, all of them `PaymentsError`.
 *
 * Guarantees:
 * - An error carries what is needed to repeat the call (`idempotencyKey`) and to ask about it (`requestId`).
 * - No error shows what was sent: no API key, no secret, no body of a request.
 * - `instanceof` holds across copies of this package, so that ESM and CommonJS in one process agree.
 */
import { brand, isBranded } from "./Brand.ts"
import type { Charge, ErrorCode, ErrorFields, Payout } from "./generated/Resources.ts"

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

  constructor(message: string, facts: CallFacts, options?: { readonly cause?: unknown }) {
    super(message, options)
    Object.assign(this, facts)
  }

  /** @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(this, value)
  }

  /** The facts, for a log. */
  toJSON(): object {
    return { ...this, name: this.name, message: this.message }
  }
}

/** The call was made wrongly and nothing was sent: an option, an id, or params that cannot be written as JSON. */
export class UsageError extends PaymentsError {}

/**
 * Why there was no answer. `not-sent`: no attempt reached the service, so nothing was done. `lost`: the connection broke,
 * and the service may have carried out the call. `malformed`: what came is no whole answer of the service, which may have
 * carried out the call.
 */
export type ConnectionFailure = "not-sent" | "lost" | "malformed"

/** No answer: the connection failed or broke off before one, or what came was no whole answer of the service. */
export class ConnectionError extends PaymentsError {
  /** What is known of it: whether anything was sent at all. */
  declare readonly reason: ConnectionFailure
  /** The code of the transport's error, where it has one: `ECONNREFUSED`. */
  declare readonly causeCode?: string
}

/** No whole answer within the time of an attempt. */
export class TimeoutError extends PaymentsError {
  /** The time that each attempt had, in milliseconds. */
  declare readonly timeoutMs: number
}

/** The caller's `signal` ended the call; `cause` is its reason. */
export class AbortError extends PaymentsError {}

/** `waitUntil` gave up: its time is over, or the charge or payout can no longer become as wanted. */
export class WaitError extends PaymentsError {
  /** The charge as it was read last, by `charges.waitUntil`. */
  declare readonly charge?: Charge
  /** The payout as it was read last, by `payouts.waitUntil`. */
  declare readonly payout?: Payout
}

/**
 * The idempotency key was used before, for something else: what the service has under it differs from what was sent.
 * Nothing was created. Use another key, or `onReplayMismatch: "return"` to get what is there.
 */
export class ReplayMismatchError extends PaymentsError {
  /** What differs, by the names of the params: `amount`, `customer.document`. */
  declare readonly fields: ReadonlyArray<string>
  /** The charge or payout that the key names. */
  declare readonly data: Charge | Payout
  /** The key, which names another creation. */
  declare readonly idempotencyKey: string
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

/**
 * The service answered with an error. `message` is for humans: code, failed fields or reason, status and request id.
 * Branch on `code`, best with `isCode`.
 */
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
  ReplayMismatchError,
  ApiError,
  InvalidRequestError,
  AuthenticationError,
  PermissionError,
  NotFoundError,
  RateLimitError,
  ServerError
})) {
  brand(name, type)
}
