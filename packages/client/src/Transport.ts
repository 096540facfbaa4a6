/**
 * Sends an operation: requests, retries, and a result or one error.
 *
 * Guarantees:
 * - All attempts of a call have the same idempotency key. A POST without a key is retried only after 429.
 * - The status decides whether a response is an error, even if its body is incomplete.
 * - A charge that the acquirer rejected in an earlier attempt of the call rejects the call (CHG-3).
 * - A replay of a creation with other params is an error.
 * - Redirects are not followed, so the API key goes to no other host. No error or hook contains it.
 */
import type { CreateOptions, ResponseHeaders, WithResponse } from "./Call.ts"
import { connectionFailure, hostOf, nextStep } from "./ConnectionFailure.ts"
import {
  AbortError,
  ApiError,
  apiError,
  type CallInfo,
  ConnectionError,
  PaymentsError,
  ReplayMismatchError,
  TimeoutError,
  UsageError
} from "./Errors.ts"
import { type Route, version } from "./generated/Routes.ts"
import { type AttemptInfo, type Hooks, runHook } from "./Hooks.ts"
import { paramsProblem } from "./Params.ts"
import { acquirerRejection, replayDifferences } from "./Replay.ts"
import { apiErrorFields, excerptOf, isComplete } from "./ResponseBody.ts"
import {
  isAlreadyDeleted,
  isOutcomeUnknown,
  isRetryable,
  MAX_RETRY_AFTER_MS,
  retryAfterMs,
  retryDelayMs
} from "./Retry.ts"
import { type Interruption, sleep, withTimeout } from "./Timeout.ts"
import { apiKeyProblem, isPathSegment, optionsProblem } from "./Validation.ts"

/** What the client passes to `fetch`. */
export interface FetchInit {
  /** HTTP method. */
  readonly method: string
  /** Names in lower case. */
  readonly headers: Record<string, string>
  /** JSON; absent if the request has no body. */
  readonly body?: string
  /** Redirects are not followed. */
  readonly redirect: "manual"
  /** Aborts the attempt. */
  readonly signal: AbortSignal
}

/** What the client reads of a response. */
export interface FetchResponse {
  /** Whether the status is 2xx. */
  readonly ok: boolean
  /** HTTP status. */
  readonly status: number
  /** Response headers. */
  readonly headers: ResponseHeaders
  /** The complete body. */
  text(): Promise<string>
}

/** A function that sends a request: the global `fetch`, that of a library such as undici, or a wrapper. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** The settings of a client. */
export interface Config {
  readonly apiKey: string | (() => string | Promise<string>)
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly hooks: Hooks
}

/** An operation with its arguments. */
export interface Operation {
  /** `charges.create` */
  readonly name: string
  readonly route: Route
  readonly id?: unknown
  readonly query?: object | undefined
  readonly body?: unknown
  readonly idempotencyKey?: string | undefined
}

/** Sends an operation, with retries. */
export const send = async <T>(
  config: Config,
  operation: Operation,
  options: CreateOptions
): Promise<WithResponse<T>> => {
  const { idempotencyKey, name, route } = operation
  const { method } = route
  const { signal } = options
  const keyed = idempotencyKey && { idempotencyKey }
  const identity = { operation: name, ...keyed }
  let call: CallInfo = { ...identity, attempts: 0 }
  const usageError = (message: string, options?: { readonly cause: unknown }) =>
    new UsageError(`${name}: ${message}`, call, options)
  const abortError = () => new AbortError(`${name} was aborted`, call, { cause: signal?.reason })
  const throwIfAborted = () => {
    if (signal?.aborted) throw abortError()
  }

  const timeoutMs = options.timeoutMs ?? config.timeoutMs
  const maxRetries = options.maxRetries ?? config.maxRetries
  const extraHeaders = { ...config.headers, ...options.headers }
  const problem =
    optionsProblem({ timeoutMs, maxRetries, idempotencyKey, headers: extraHeaders }) ??
    paramsProblem(name, operation.body)
  if (problem) throw usageError(problem)
  if (route.id && !isPathSegment(operation.id)) throw usageError("id is missing or invalid: pass the resource's id")
  if (!route.path.startsWith("/")) throw usageError("the path must begin with /")
  let url: string
  let body: string | undefined
  try {
    url = urlOf(config.baseUrl, operation)
    body = JSON.stringify(operation.body)
  } catch {
    // The original message may contain params.
    throw usageError("params must be JSON: no BigInt, no circular reference")
  }
  const headers: Record<string, string> = { "user-agent": `pix-payments-client/${version}` }
  for (const [header, value] of Object.entries(extraHeaders)) headers[header.toLowerCase()] = value
  Object.assign(
    headers,
    { accept: "application/json" },
    body && { "content-type": "application/json" },
    idempotencyKey && { "idempotency-key": idempotencyKey }
  )
  const ownId = headers["x-request-id"]
  const isRepeatable = method !== "POST" || Boolean(idempotencyKey)

  /** Whether an attempt without a result may have been processed. */
  let mayBeDone = false
  for (let attempt = 1; ; attempt++) {
    const sentId = ownId ?? crypto.randomUUID()
    headers["x-request-id"] = sentId
    const info: AttemptInfo = { ...identity, method, url, attempt, requestId: sentId }
    const onInterrupt = (interruption: Interruption) => {
      if (interruption === "aborted") return abortError()
      // Before the first attempt, only the `apiKey` function can take this long.
      const message = call.attempts
        ? `no response of ${hostOf({ url })} within ${timeoutMs} ms${nextStep({ ...identity, method })}`
        : `the apiKey function took longer than ${timeoutMs} ms; nothing was sent`
      return Object.assign(new TimeoutError(`${name}: ${message}`, call), { timeoutMs })
    }
    throwIfAborted()
    const { apiKey } = config
    if (typeof apiKey === "function") {
      const key = await withTimeout(async () => apiKey(), timeoutMs, signal, onInterrupt).catch((cause: unknown) => {
        throw cause instanceof PaymentsError ? cause : usageError("the apiKey function failed: see cause", { cause })
      })
      const problem = apiKeyProblem(key)
      if (problem) throw usageError(problem)
      headers["x-api-key"] = key
    } else headers["x-api-key"] = apiKey
    runHook(config.hooks.onRequest, info)
    throwIfAborted()
    // From here on, errors count this attempt as sent.
    call = { ...identity, requestId: sentId, attempts: attempt }
    const startedMs = performance.now()

    let error: PaymentsError
    let received: FetchResponse | undefined
    let hasResponse = false
    try {
      const { response, text } = await withTimeout(
        async (signal) => {
          received = await config.fetch(url, {
            method,
            headers: { ...headers },
            redirect: "manual",
            signal,
            ...(body && { body })
          })
          return { response: received, text: await received.text() }
        },
        timeoutMs,
        signal,
        onInterrupt
      ).catch((failure: unknown) => {
        // The status of an error response is enough: its body may be missing.
        if (failure instanceof AbortError || !received || received.ok) throw failure
        return { response: received, text: undefined }
      })
      const { status } = response
      const described = { status, text, header: (name: string) => response.headers.get(name) }
      const requestId = response.headers.get("x-request-id") ?? sentId
      call = { ...call, requestId }
      hasResponse = true
      runHook(config.hooks.onResponse, { ...info, requestId, status, durationMs: performance.now() - startedMs })
      const parsed = parse(text)
      if (!response.ok && !isAlreadyDeleted(method, Object(parsed).code, mayBeDone)) {
        // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
        const afterMs = retryAfterMs(response.headers.get("retry-after"), Date.now())
        throw apiError(apiErrorFields(described, parsed ?? text, afterMs, name, requestId), call)
      }
      if (!isComplete(route, status, text, parsed)) {
        const message = `${name}: the response is incomplete, or not the service's: ${excerptOf(described)}${nextStep(info)}`
        throw Object.assign(new ConnectionError(message, call), { reason: "malformed" as const, status })
      }
      const replayed = response.headers.get("idempotent-replayed") === "true"
      if (replayed && body) {
        const fields = options.onReplayMismatch === "return" ? [] : replayDifferences(JSON.parse(body), parsed)
        if (fields.length) {
          const message = `${name}: the idempotencyKey was used before with other params (${fields.join(", ")}): use another`
          throw Object.assign(new ReplayMismatchError(message, call), { fields, data: parsed })
        }
        const rejection = mayBeDone ? acquirerRejection(parsed) : undefined
        if (rejection)
          throw apiError(apiErrorFields({ ...described, status: 422 }, rejection, undefined, name, requestId), call)
      }
      return {
        data: (response.ok ? parsed : undefined) as T,
        response: {
          status,
          headers: response.headers,
          requestId,
          ...keyed,
          replayed,
          attempts: attempt
        }
      }
    } catch (cause) {
      if (cause instanceof PaymentsError) error = cause
      else {
        const { message, ...fields } = connectionFailure(info, cause, mayBeDone)
        error = Object.assign(new ConnectionError(message, call, { cause }), fields)
      }
      if (!hasResponse) runHook(config.hooks.onFailure, { ...info, error, durationMs: performance.now() - startedMs })
    }

    const answered = error instanceof ApiError ? error : undefined
    const isLost = error instanceof ConnectionError || error instanceof TimeoutError
    const mayRetry = answered ? isRetryable(answered.status, isRepeatable) : isLost && isRepeatable
    const afterMs = answered?.retryAfterMs ?? 0
    if (!mayRetry || attempt > maxRetries || afterMs > MAX_RETRY_AFTER_MS) throw error
    mayBeDone ||= answered ? isOutcomeUnknown(answered.status) : Object(error).reason !== "not-sent"
    const delayMs = retryDelayMs(attempt, afterMs, Math.random())
    runHook(config.hooks.onRetry, { ...info, error, delayMs })
    await sleep(delayMs, signal, abortError)
  }
}

const urlOf = (baseUrl: string, { id, query, route }: Operation): string => {
  const path = route.path.replace("{id}", () => encodeURIComponent(String(id)))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) search.set(name, String(value))
  }
  return baseUrl + path + (search.size > 0 ? `?${search}` : "")
}

const parse = (text = ""): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
