/**
 * How an operation of the derived client becomes one result or one error.
 *
 * Guarantees:
 * - An operation has the idempotency key and the params that it came with, however often its effect runs and whatever its
 *   attempts; a creation is never repeated without the key, but after 429.
 * - A refusal is known by its status, whether its body arrives or not, and whether the `HttpClient` beneath takes it for
 *   a response or for an error. A charge that was refused to an earlier attempt is refused to the call.
 * - A replay of another creation is an error.
 * - What the service answers is given as it came: unknown fields stay, unknown values are values.
 * - Each operation is a span of its name. Time is `Clock`'s and chance `Random`'s, so that tests decide both.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Random from "effect/Random"
import type * as Schema from "effect/Schema"
import type { CallFacts } from "@pix-payments/client/internal/Errors"
import type { Route } from "@pix-payments/client/internal/generated/Routes"
import { doubt, failureOf } from "@pix-payments/client/internal/Failure"
import { isSegment, whatIsWrong } from "@pix-payments/client/internal/Limits"
import { isWhole, refusalOf } from "@pix-payments/client/internal/Refusal"
import { differences, refusedCharge } from "@pix-payments/client/internal/Replay"
import type { Charge, Payout } from "@pix-payments/client/internal/generated/Resources"
import {
  delayMs,
  isRemoved,
  isRetryable,
  isUncertain,
  MAX_RETRY_AFTER_MS,
  retryAfterMs
} from "@pix-payments/client/internal/Retry"
import type { CreateOptions, WithResponse } from "./Options.ts"
import { PaymentsError, type PaymentsErrorReason, refusalReason } from "./PaymentsError.ts"

/** The headers of the attempt under way, for the middleware that sends it. */
export const AttemptHeaders = Context.Reference<Readonly<Record<string, string>>>(
  "@pix-payments/client/AttemptHeaders",
  { defaultValue: () => ({}) }
)

/** A method of the derived client, whatever its operation. */
export type Method = (request: {
  readonly params?: { readonly id: string }
  readonly query?: object
  readonly payload?: unknown
  readonly headers?: { readonly "idempotency-key": string }
  readonly responseMode: "response-only"
}) => Effect.Effect<HttpClientResponse, HttpClientError | Schema.SchemaError>

/** An operation, and what it is called with. */
export interface Operation {
  /** `charges.create` */
  readonly name: string
  readonly route: Route
  readonly method: Method
  readonly id?: string | undefined
  /** As text; `undefined` where there is none, or where it cannot be written. */
  readonly query?: string | undefined
  /** As text; `undefined` where there is none, or where it cannot be written. */
  readonly body?: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** What all calls of a client share. */
export interface Defaults {
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>>
}

/** Sends an operation, again where that helps. */
export const send = <T>(
  defaults: Defaults,
  operation: Operation,
  options: CreateOptions
): Effect.Effect<WithResponse<T>, PaymentsError> => {
  /** Whether an attempt of any run of this effect may have been carried out although no result came of it. */
  let mayBeDone = false
  return Effect.suspend(() => {
    const { idempotencyKey, name, route } = operation
    const timeoutMs = options.timeoutMs ?? defaults.timeoutMs
    const maxRetries = options.maxRetries ?? defaults.maxRetries
    const identity = { operation: name, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) }
    const isRepeatable = route.method !== "POST" || idempotencyKey !== undefined
    const invalid = (message: string) =>
      Effect.fail(
        new PaymentsError({ ...identity, attempts: 0, reason: { _tag: "InvalidCall", message: `${name}: ${message}` } })
      )
    const wrong =
      whatIsWrong({ timeoutMs, maxRetries, idempotencyKey, headers: { ...defaults.headers, ...options.headers } }) ??
      (route.id && !isSegment(operation.id) ? "the id must be a string that names something" : undefined)
    if (wrong !== undefined) return invalid(wrong)
    const { body, query } = operation
    if ((route.body && body === undefined) || (route.query && query === undefined)) {
      return invalid("what is to be sent cannot be written as text")
    }

    const request = operation.method({
      ...(operation.id === undefined ? {} : { params: { id: operation.id } }),
      ...(query === undefined ? {} : { query: JSON.parse(query) }),
      ...(body === undefined ? {} : { payload: JSON.parse(body) }),
      ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
      responseMode: "response-only"
    })

    const attempt = (facts: CallFacts & { readonly requestId: string }) =>
      Effect.gen(function* () {
        const fail = (reason: PaymentsErrorReason, requestId = facts.requestId) =>
          Effect.fail(new PaymentsError({ ...facts, requestId, reason }))
        const malformed = {
          _tag: "ConnectionFailed",
          message: `${name}: no whole answer of the service${doubt(route.method)}`,
          reason: "malformed"
        } as const
        let answer: HttpClientResponse | undefined
        const { response, text } = yield* request.pipe(
          // `HttpClient.filterStatusOk`, and what is like it, makes an error of an answer.
          Effect.catchIf(isAnswer, ({ response }) => Effect.succeed(response)),
          Effect.flatMap((response) => {
            answer = response
            return Effect.map(response.text, (text) => ({ response, text }))
          }),
          Effect.provideService(AttemptHeaders, {
            ...defaults.headers,
            ...options.headers,
            "x-request-id": facts.requestId
          }),
          Effect.catch((error) =>
            error._tag === "SchemaError"
              ? invalid("the request does not fit its declaration")
              : fail({
                  _tag: "ConnectionFailed",
                  ...failureOf(name, route.method, error, mayBeDone),
                  cause: error.cause
                })
          ),
          Effect.timeoutOrElse({
            duration: timeoutMs,
            orElse: () =>
              fail({
                _tag: "TimedOut",
                message: `${name}: no answer within ${timeoutMs} ms${doubt(route.method)}`,
                timeoutMs
              })
          }),
          Effect.catch((error) =>
            answer === undefined || isOk(answer)
              ? Effect.fail(error)
              : Effect.succeed({ response: answer, text: undefined })
          )
        )
        const requestId = response.headers["x-request-id"] ?? facts.requestId
        const parsed = parse(text)
        if (!isOk(response) && !isRemoved(route.method, Object(parsed).code, mayBeDone)) {
          const waitMs = retryAfterMs(response.headers["retry-after"] ?? null, yield* Clock.currentTimeMillis)
          const fields = refusalOf(response.status, parsed ?? text, waitMs, name, requestId)
          return yield* fail(refusalReason(fields, isKnown), requestId)
        }
        if (!isWhole(route, response.status, text, parsed)) return yield* fail(malformed, requestId)
        const replayed = response.headers["idempotent-replayed"] === "true"
        if (replayed && body !== undefined) {
          const fields = options.onReplayMismatch === "return" ? [] : differences(JSON.parse(body), parsed)
          if (fields.length > 0) {
            const message = `${name}: the idempotency key was used before, with other params: ${fields.join(", ")}`
            return yield* fail({ _tag: "ReplayMismatch", message, fields, data: parsed as Charge | Payout }, requestId)
          }
          const refused = mayBeDone ? refusedCharge(parsed) : undefined
          if (refused !== undefined) {
            const refusal = refusalReason(refusalOf(422, refused, undefined, name, requestId), isKnown)
            return yield* fail(refusal, requestId)
          }
        }
        return {
          data: (route.method === "DELETE" ? undefined : parsed) as T,
          response: {
            status: response.status,
            headers: response.headers,
            requestId,
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
            replayed,
            attempts: facts.attempts
          }
        }
      })

    const from = (attempts: number): Effect.Effect<WithResponse<T>, PaymentsError> =>
      Effect.suspend(() => attempt({ ...identity, attempts, requestId: crypto.randomUUID() })).pipe(
        Effect.catch((error) => {
          const { reason } = error
          const isAnswered = "status" in reason
          const isLost = reason._tag === "ConnectionFailed" || reason._tag === "TimedOut"
          mayBeDone ||= isAnswered ? isUncertain(reason.status) : isLost && Object(reason).reason !== "not-sent"
          const askedMs = isAnswered ? (reason.retryAfterMs ?? 0) : 0
          const mayRepeat = isAnswered ? isRetryable(reason.status, isRepeatable) : isRepeatable && isLost
          if (!mayRepeat || attempts > maxRetries || askedMs > MAX_RETRY_AFTER_MS) return Effect.fail(error)
          return Random.next.pipe(
            Effect.flatMap((random) => Effect.sleep(delayMs(attempts, askedMs, random))),
            Effect.andThen(from(attempts + 1))
          )
        })
      )
    return from(1)
  }).pipe(Effect.withSpan(operation.name, { kind: "client" }))
}

/** Whether this release knows a code. */
const isKnown = (code: string): boolean => Object.hasOwn(errorCodes, code)

/** Params as they are now; what is `undefined` is absent, and nothing at all where they cannot be written. */
export const textOf = (params: unknown): string | undefined => {
  try {
    return JSON.stringify(params ?? {})
  } catch {
    // A circle, a bigint: the complaint may show what was to be sent.
    return undefined
  }
}

/** Whether an error is an answer that an `HttpClient` did not want. */
const isAnswer = (
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
