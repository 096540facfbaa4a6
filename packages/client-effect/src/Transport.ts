/**
 * Sends an operation of the derived client: requests, retries, and a result or one error.
 *
 * Guarantees:
 * - The idempotency key and the params are fixed when the operation is called. Every run and attempt of its effect sends the
 *   same ones. A POST without a key is retried only after 429.
 * - The status decides whether a response is an error, even if its body is incomplete, and even if the `HttpClient` turns
 *   error responses into failures. A charge that the acquirer rejected in an earlier attempt fails the operation (CHG-3).
 * - A replay of a creation with other params is an error.
 * - Results are not decoded: unknown fields and unknown values are kept.
 * - Each operation is a span with its name, whose frame is the line that called it. Time comes from `Clock` and jitter from `Random`, so tests control both.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Random from "effect/Random"
import type * as Schema from "effect/Schema"
import { callerOf, type CallSite } from "@pix-payments/client/internal/CallSite"
import { connectionFailure, hostOf, nextStep } from "@pix-payments/client/internal/ConnectionFailure"
import type { CallInfo } from "@pix-payments/client/internal/Errors"
import type { Charge, Payout } from "@pix-payments/client/internal/generated/Resources"
import type { Route } from "@pix-payments/client/internal/generated/Routes"
import { acquirerRejection, replayDifferences } from "@pix-payments/client/internal/Replay"
import { apiErrorFields, excerptOf, isComplete } from "@pix-payments/client/internal/ResponseBody"
import {
  isAlreadyDeleted,
  isOutcomeUnknown,
  isRetryable,
  MAX_RETRY_AFTER_MS,
  retryAfterMs,
  retryDelayMs
} from "@pix-payments/client/internal/Retry"
import { isPathSegment, optionsProblem } from "@pix-payments/client/internal/Validation"
import type { CreateOptions, WithResponse } from "./Options.ts"
import { apiErrorReason, PaymentsError, type PaymentsErrorReason } from "./PaymentsError.ts"

/** The headers of the current attempt, for the middleware that sends it. */
export const AttemptHeaders = Context.Reference<Readonly<Record<string, string>>>(
  "@pix-payments/client/AttemptHeaders",
  { defaultValue: () => ({}) }
)

/** A method of the derived client, for any operation. */
export type Method = (request: {
  readonly params?: { readonly id: string }
  readonly query?: object
  readonly payload?: unknown
  readonly headers?: { readonly "idempotency-key": string }
  readonly responseMode: "response-only"
}) => Effect.Effect<HttpClientResponse, HttpClientError | Schema.SchemaError>

/** An operation with its arguments. */
export interface Operation {
  /** `charges.create` */
  readonly name: string
  readonly route: Route
  readonly method: Method
  readonly id?: string | undefined
  /** JSON; `undefined` if the operation has none, or if it cannot be serialized. */
  readonly query?: string | undefined
  /** JSON; `undefined` if the operation has none, or if it cannot be serialized. */
  readonly body?: string | undefined
  /** What is wrong with the params. */
  readonly problem?: string | undefined
  readonly idempotencyKey?: string | undefined
  /** Where the application called it. */
  readonly site: CallSite
}

/** The settings of a client. */
export interface Defaults {
  readonly baseUrl: string
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>>
}

/** Sends an operation, with retries. */
export const send = <T>(
  defaults: Defaults,
  operation: Operation,
  options: CreateOptions
): Effect.Effect<WithResponse<T>, PaymentsError> => {
  /** Whether an attempt without a result, in any run of this effect, may have been processed. */
  let mayBeDone = false
  return Effect.suspend(() => {
    const { idempotencyKey, name, route } = operation
    const { method } = route
    const timeoutMs = options.timeoutMs ?? defaults.timeoutMs
    const maxRetries = options.maxRetries ?? defaults.maxRetries
    const identity = { operation: name, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) }
    const isRepeatable = method !== "POST" || idempotencyKey !== undefined
    const usageError = (message: string) =>
      Effect.fail(
        new PaymentsError({ ...identity, attempts: 0, reason: { _tag: "UsageError", message: `${name}: ${message}` } })
      )
    const problem =
      optionsProblem({ timeoutMs, maxRetries, idempotencyKey, headers: { ...defaults.headers, ...options.headers } }) ??
      (route.id && !isPathSegment(operation.id) ? "id is missing or invalid: pass the resource's id" : undefined) ??
      operation.problem
    if (problem !== undefined) return usageError(problem)
    const { body, query } = operation
    if ((route.body && body === undefined) || (route.query && query === undefined)) {
      return usageError("params must be JSON: no BigInt, no circular reference")
    }

    const request = operation.method({
      ...(operation.id === undefined ? {} : { params: { id: operation.id } }),
      ...(query === undefined ? {} : { query: JSON.parse(query) }),
      ...(body === undefined ? {} : { payload: JSON.parse(body) }),
      ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
      responseMode: "response-only"
    })

    const failedCall = { ...identity, method, url: defaults.baseUrl }
    const extraHeaders = Object.fromEntries(
      Object.entries({ ...defaults.headers, ...options.headers }).map(([header, value]) => [
        header.toLowerCase(),
        value
      ])
    )

    const attempt = (call: CallInfo & { readonly requestId: string }) =>
      Effect.gen(function* () {
        const fail = (reason: PaymentsErrorReason, requestId = call.requestId) =>
          Effect.fail(new PaymentsError({ ...call, requestId, reason }))
        let received: HttpClientResponse | undefined
        const { response, text } = yield* request.pipe(
          // `HttpClient.filterStatusOk` and similar turn error responses into failures.
          Effect.catchIf(hasResponse, ({ response }) => Effect.succeed(response)),
          Effect.flatMap((response) => {
            received = response
            return Effect.map(response.text, (text) => ({ response, text }))
          }),
          Effect.provideService(AttemptHeaders, {
            ...extraHeaders,
            "x-request-id": call.requestId
          }),
          Effect.catch((error) =>
            error._tag === "SchemaError"
              ? usageError("a param has the wrong type: compare the params with their TypeScript type")
              : fail({
                  _tag: "ConnectionError",
                  ...connectionFailure(failedCall, error, mayBeDone),
                  cause: error.cause
                })
          ),
          Effect.timeoutOrElse({
            duration: timeoutMs,
            orElse: () =>
              fail({
                _tag: "TimeoutError",
                message: `${name}: no response of ${hostOf(failedCall)} within ${timeoutMs} ms${nextStep(failedCall)}`,
                timeoutMs
              })
          }),
          Effect.catch((error) =>
            received === undefined || isOk(received)
              ? Effect.fail(error)
              : Effect.succeed({ response: received, text: undefined })
          )
        )
        const requestId = response.headers["x-request-id"] ?? call.requestId
        const parsed = parse(text)
        const { status } = response
        const described = { status, text, headers: { get: (header: string) => response.headers[header] ?? null } }
        if (!isOk(response) && !isAlreadyDeleted(method, Object(parsed).code, mayBeDone)) {
          const afterMs = retryAfterMs(response.headers["retry-after"] ?? null, yield* Clock.currentTimeMillis)
          const fields = apiErrorFields(described, parsed ?? text, afterMs, name, requestId)
          return yield* fail(apiErrorReason(fields, isKnown), requestId)
        }
        if (!isComplete(route, status, text, parsed)) {
          const message = `${name}: the response is incomplete, or not the service's: ${excerptOf(described)}${nextStep(failedCall)}`
          return yield* fail({ _tag: "ConnectionError", message, reason: "malformed" }, requestId)
        }
        const replayed = response.headers["idempotent-replayed"] === "true"
        if (replayed && body !== undefined) {
          const fields = options.onReplayMismatch === "return" ? [] : replayDifferences(JSON.parse(body), parsed)
          if (fields.length > 0) {
            const message = `${name}: the idempotencyKey was used before with other params (${fields.join(", ")}): use another`
            const data = parsed as Charge | Payout
            return yield* fail({ _tag: "ReplayMismatchError", message, fields, data }, requestId)
          }
          const rejection = mayBeDone ? acquirerRejection(parsed) : undefined
          if (rejection !== undefined) {
            const fields = apiErrorFields({ ...described, status: 422 }, rejection, undefined, name, requestId)
            return yield* fail(apiErrorReason(fields, isKnown), requestId)
          }
        }
        return {
          data: (method === "DELETE" ? undefined : parsed) as T,
          response: {
            status,
            headers: response.headers,
            requestId,
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
            replayed,
            attempts: call.attempts
          }
        }
      })

    const attemptFrom = (attempts: number): Effect.Effect<WithResponse<T>, PaymentsError> =>
      Effect.suspend(() =>
        attempt({ ...identity, attempts, requestId: extraHeaders["x-request-id"] ?? crypto.randomUUID() })
      ).pipe(
        Effect.catch((error) => {
          const { reason } = error
          const isAnswered = "status" in reason
          const isLost = reason._tag === "ConnectionError" || reason._tag === "TimeoutError"
          mayBeDone ||= isAnswered ? isOutcomeUnknown(reason.status) : isLost && Object(reason).reason !== "not-sent"
          const afterMs = isAnswered ? (reason.retryAfterMs ?? 0) : 0
          const mayRetry = isAnswered ? isRetryable(reason.status, isRepeatable) : isRepeatable && isLost
          if (!mayRetry || attempts > maxRetries || afterMs > MAX_RETRY_AFTER_MS) return Effect.fail(error)
          return Random.next.pipe(
            Effect.flatMap((random) => Effect.sleep(retryDelayMs(attempts, afterMs, random))),
            Effect.andThen(attemptFrom(attempts + 1))
          )
        })
      )
    return attemptFrom(1)
  }).pipe(Effect.withSpan(operation.name, { kind: "client" }, { captureStackTrace: () => callerOf(operation.site) }))
}

/** Whether this release knows an error code. */
const isKnown = (code: string): boolean => Object.hasOwn(errorCodes, code)

/** The params as JSON, so that later changes to the object have no effect; `undefined` if they cannot be serialized. */
export const serialize = (params: unknown): string | undefined => {
  try {
    return JSON.stringify(params ?? {})
  } catch {
    // The error is dropped: its message may contain params.
    return undefined
  }
}

/** Whether a failure carries an error response. */
const hasResponse = (
  error: HttpClientError | Schema.SchemaError
): error is HttpClientError & { readonly response: HttpClientResponse } =>
  error._tag !== "SchemaError" && error.response !== undefined

const isOk = ({ status }: HttpClientResponse): boolean => status >= 200 && status < 300

const parse = (text = ""): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
