/**
 * The errors of a call: one class per cause, all of them `PaymentsError`.
 *
 * Guarantees:
 * - An error carries what is needed to repeat the call (`idempotencyKey`) and to ask about it (`requestId`).
 * - No error contains what was sent: no API key, no secret, no request body.
 * - `instanceof` works across copies of this package, such as ESM and CommonJS in one process.
 */
import type { Charge, ErrorCode, ErrorFields, Payout } from "./generated/Resources.ts"

/** The call that failed. */
export interface CallInfo {
  /** Group and name of the operation: `charges.create`. */
  readonly operation: string
  /** The idempotency key to repeat a creation with. Only creations have one. */
  readonly idempotencyKey?: string
  /** `X-Request-Id` of the last attempt; quote it when you ask the service's operators. */
  readonly requestId?: string
  /** How many times the request was sent; 0 if never. */
  readonly attempts: number
}

/** Any failure of a call. A creation that failed may still have been processed: repeat it with its `idempotencyKey`. */
export class PaymentsError extends Error implements CallInfo {
  /** Group and name of the operation: `charges.create`. */
  declare readonly operation: string
  /** The idempotency key to repeat a creation with. Only creations have one. */
  declare readonly idempotencyKey?: string
  /** `X-Request-Id` of the last attempt; quote it when you ask the service's operators. */
  declare readonly requestId?: string
  /** How many times the request was sent; 0 if never. */
  declare readonly attempts: number

  /** `fields`: the call, and the fields of the class. */
  constructor(
    message: string,
    // oxlint-disable-next-line typescript/no-explicit-any -- an interface such as CallInfo is no record of unknown
    fields: CallInfo & Readonly<Record<string, any>>,
    options?: { readonly cause?: unknown }
  ) {
    super(message, options)
    Object.assign(this, fields)
  }

  /**
   * Works across copies of this package: an application may load it both as ESM and as CommonJS, or in two versions.
   * Subclasses that an application declares use plain `instanceof`.
   *
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    const brand = brandOf(this.prototype.name)
    return Object.hasOwn(this.prototype, brand) ? brand in Object(value) : super[Symbol.hasInstance](value)
  }

  /** The error's fields, for logs. */
  toJSON(): object {
    return { ...this, name: this.name, message: this.message }
  }
}

/** An option, id or param is invalid. Nothing was sent. */
export class UsageError extends PaymentsError {}

/**
 * Why there is no response. `not-sent`: no attempt reached the service, nothing was processed. `lost`: the connection broke;
 * the service may have processed the call. `malformed`: the response is incomplete or not the service's; the service may
 * have processed the call.
 */
export type ConnectionErrorReason = "not-sent" | "lost" | "malformed"

/** There is no usable response: the connection failed or broke, or the response is incomplete or not the service's. */
export class ConnectionError extends PaymentsError {
  /** Whether the request may have reached the service. */
  declare readonly reason: ConnectionErrorReason
  /** The transport's error code, if any: `ECONNREFUSED`. */
  declare readonly causeCode?: string
  /** The HTTP status of a `malformed` response. */
  declare readonly status?: number
}

/** An attempt took longer than `timeoutMs`. */
export class TimeoutError extends PaymentsError {
  /** The time limit of each attempt, in milliseconds. */
  declare readonly timeoutMs: number
}

/** The call's `signal` aborted it. `cause` is the signal's reason. */
export class AbortError extends PaymentsError {}

/** `waitUntil` gave up: `maxWaitMs` has passed, or the condition can no longer be met. */
export class WaitError extends PaymentsError {
  /** The charge as last read, from `charges.waitUntil`. */
  declare readonly charge?: Charge
  /** The payout as last read, from `payouts.waitUntil`. */
  declare readonly payout?: Payout
}

/**
 * The idempotency key already created a resource from other params. Nothing was created now. Use another key, or
 * `onReplayMismatch: "return"` to get the stored resource.
 */
export class ReplayMismatchError extends PaymentsError {
  /** The names of the params that differ: `amount`, `customer.document`. */
  declare readonly fields: ReadonlyArray<string>
  /** The charge or payout that the key created. */
  declare readonly data: Charge | Payout
  /** The key, which belongs to `data`. */
  declare readonly idempotencyKey: string
}

/** The fields of an error response. */
export interface ApiErrorFields {
  /** HTTP status. */
  readonly status: number
  /** The error code to branch on. Later releases may add codes. `UNKNOWN` if the body has none. */
  readonly code: ErrorCode | (string & Record<never, never>)
  /** Invalid fields, required scopes or unknown events; empty if the error lists nothing. */
  readonly details: ReadonlyArray<string>
  /** The id of the `failed` charge, if the acquirer rejected it. */
  readonly charge_id?: string
  /** The wait that the service asks for before a retry, in milliseconds. */
  readonly retryAfterMs?: number
  /** The parsed body, or its text if it is not JSON; `undefined` if it is incomplete. */
  readonly body: unknown
}

/**
 * The service answered with an error. `message` is for humans: code, invalid fields or explanation, status and request id.
 * Branch on `code`, with `isCode`.
 */
export class ApiError extends PaymentsError implements ApiErrorFields {
  /** HTTP status. */
  declare readonly status: number
  /** The error code to branch on. Later releases may add codes. `UNKNOWN` if the body has none. */
  declare readonly code: ApiErrorFields["code"]
  /** Invalid fields, required scopes or unknown events; empty if the error lists nothing. */
  declare readonly details: ReadonlyArray<string>
  /** The id of the `failed` charge, if the acquirer rejected it. */
  declare readonly charge_id?: string
  /** The wait that the service asks for before a retry, in milliseconds. */
  declare readonly retryAfterMs?: number
  /** The parsed body, or its text if it is not JSON; `undefined` if it is incomplete. */
  declare readonly body: unknown
}

/** 400, 413, 422 and other 4xx: change the request. Repeating it does not help. */
export class InvalidRequestError extends ApiError {}
/** 401: the API key is missing or not accepted. */
export class AuthenticationError extends ApiError {}
/** 403: the API key lacks the scopes in `details`. */
export class PermissionError extends ApiError {}
/** 404: the resource does not exist in this account. */
export class NotFoundError extends ApiError {}
/** 429: too many requests. Wait `retryAfterMs` before the next one. */
export class RateLimitError extends ApiError {}
/** 5xx: the service failed. Repeat the call with the same idempotency key. */
export class ServerError extends ApiError {}

/**
 * Whether an error is an `ApiError` with this code. Narrows to the fields that come with the code.
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
 *   console.log("not enough balance yet")
 * }
 * ```
 */
export const isCode = <const C extends ApiErrorFields["code"]>(
  error: unknown,
  code: C
): error is ApiError & { readonly code: C } & (C extends ErrorCode ? ErrorFields[C] : unknown) =>
  error instanceof ApiError && error.code === code

/** Makes the error of an error response, of the class for its status. */
export const apiError = (
  { message, ...fields }: ApiErrorFields & { readonly message: string },
  call: CallInfo
): ApiError => new (classOf(fields.status))(message, { ...call, ...fields })

const classOf = (status: number): typeof ApiError =>
  BY_STATUS[status] ?? (status >= 500 ? ServerError : status >= 400 ? InvalidRequestError : ApiError)

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitError
}

/** The error of a call that its signal aborted. */
export const abortError = (call: CallInfo, signal: AbortSignal | undefined): AbortError =>
  new AbortError(`${call.operation} was aborted`, call, { cause: signal?.reason })

/** Whether a call failed without a usable response. */
export const isUnanswered = (error: unknown): error is ConnectionError | TimeoutError =>
  error instanceof ConnectionError || error instanceof TimeoutError

/** A symbol of the global registry, which marks the errors of a class in every copy of this package. */
const brandOf = (name: string): symbol => Symbol.for(`@pix-payments/client/${name}`)

// The names are explicit because a bundler may rename classes.
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
  Object.assign(type.prototype, { name, [brandOf(name)]: true })
}
