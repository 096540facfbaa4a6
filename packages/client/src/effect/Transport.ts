/**
 * How an operation of the derived client becomes one result or one error.
 *
 * Guarantees: one call has one idempotency key, whatever its attempts; a creation is never repeated without it. What
 * the service answers is given as it came: unknown fields stay, unknown values are values. Time is `Clock`'s and chance
 * `Random`'s, so that tests decide both.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Random from "effect/Random"
import type * as Schema from "effect/Schema"
import type { CallFacts } from "../Errors.ts"
import type { Route } from "../generated/Routes.ts"
import { isSegment, whatIsWrong } from "../Limits.ts"
import { refusalOf } from "../Refusal.ts"
import { backoffMs, isRetryable, MAX_RETRY_AFTER_MS, retryAfterMs } from "../Retry.ts"
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
  readonly query?: object | undefined
  readonly body?: object | undefined
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
): Effect.Effect<WithResponse<T>, PaymentsError> =>
  Effect.suspend(() => {
    const { name, route } = operation
    const timeoutMs = options.timeoutMs ?? defaults.timeoutMs
    const maxRetries = options.maxRetries ?? defaults.maxRetries
    const idempotencyKey = route.keyed ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
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

    const request = operation.method({
      ...(operation.id === undefined ? {} : { params: { id: operation.id } }),
      ...(route.query ? { query: present(operation.query) } : {}),
      ...(route.body ? { payload: present(operation.body) } : {}),
      ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
      responseMode: "response-only"
    })

    const attempt = (facts: CallFacts & { readonly requestId: string }, mayBeDone: boolean) =>
      Effect.gen(function* () {
        const fail = (reason: PaymentsErrorReason, requestId = facts.requestId) =>
          Effect.fail(new PaymentsError({ ...facts, requestId, reason }))
        const cutShort = {
          _tag: "ConnectionFailed",
          message: `${name} was answered with something that is no whole JSON`
        } as const
        const { response, text } = yield* request.pipe(
          Effect.flatMap((answer) => Effect.map(answer.text, (body) => ({ response: answer, text: body }))),
          Effect.provideService(AttemptHeaders, {
            ...defaults.headers,
            ...options.headers,
            "x-request-id": facts.requestId
          }),
          Effect.catch((error) =>
            error._tag === "SchemaError"
              ? invalid("the request does not fit its declaration")
              : fail({ _tag: "ConnectionFailed", message: `${name} did not reach the service`, cause: error.cause })
          ),
          Effect.timeoutOrElse({
            duration: timeoutMs,
            orElse: () => fail({ _tag: "TimedOut", message: `${name} had no answer within ${timeoutMs} ms`, timeoutMs })
          })
        )
        const requestId = response.headers["x-request-id"] ?? facts.requestId
        const parsed = parse(text)
        // Gone is what was asked for, whichever attempt removed it.
        const isGone = route.method === "DELETE" && response.status === 404 && mayBeDone
        const isOk = response.status >= 200 && response.status < 300
        if (!isOk && !isGone) {
          const waitMs = retryAfterMs(response.headers["retry-after"] ?? null, yield* Clock.currentTimeMillis)
          const fields = refusalOf(response.status, parsed ?? text, waitMs, name)
          return yield* fail(refusalReason(fields, isKnown), requestId)
        }
        if (parsed === undefined && (text !== "" || (isOk && response.status !== 204))) {
          return yield* fail(cutShort, requestId)
        }
        return {
          data: (route.method === "DELETE" ? undefined : parsed) as T,
          response: {
            status: response.status,
            headers: response.headers,
            requestId,
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
            replayed: response.headers["idempotent-replayed"] === "true",
            attempts: facts.attempts
          }
        }
      })

    const from = (attempts: number, mayBeDone: boolean): Effect.Effect<WithResponse<T>, PaymentsError> =>
      Effect.suspend(() => attempt({ ...identity, attempts, requestId: crypto.randomUUID() }, mayBeDone)).pipe(
        Effect.catch((error) => {
          const { reason } = error
          const isSure = "status" in reason
          const askedMs = isSure ? (reason.retryAfterMs ?? 0) : 0
          const mayRepeat = isSure
            ? isRetryable(reason.status, reason.code, isRepeatable)
            : isRepeatable && reason._tag !== "InvalidCall"
          if (!mayRepeat || attempts > maxRetries || askedMs > MAX_RETRY_AFTER_MS) return Effect.fail(error)
          return Random.next.pipe(
            Effect.flatMap((random) => Effect.sleep(Math.max(askedMs, backoffMs(attempts, random)))),
            Effect.andThen(from(attempts + 1, mayBeDone || !isSure || reason.status >= 500))
          )
        })
      )
    return from(1, false)
  })

/** Whether this release knows a code. */
const isKnown = (code: string): boolean => Object.hasOwn(errorCodes, code)

/** Fields that are `undefined` are absent. */
const present = (fields: object | undefined): object =>
  Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined))

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
