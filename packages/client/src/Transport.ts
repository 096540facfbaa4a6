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
  abortError,
  ApiError,
  apiError,
  type CallInfo,
  ConnectionError,
  isUnanswered,
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
  const throwIfAborted = () => {
    if (signal?.aborted) throw abortError(call, signal)
  }
  const usageError = (problem: string, options?: { readonly cause: unknown }) =>
    new UsageError(`${name}: ${problem}`, call, options)
  const throwIf = (problem: string | false | undefined) => {
    if (problem) throw usageError(problem)
  }

  const timeoutMs = options.timeoutMs ?? config.timeoutMs
  const maxRetries = options.maxRetries ?? config.maxRetries
  const extraHeaders = { ...config.headers, ...options.headers }
  throwIf(
    optionsProblem({ timeoutMs, maxRetries, idempotencyKey, headers: extraHeaders }) ??
      paramsProblem(name, operation.body) ??
      pathProblem(operation)
  )
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
    const info: AttemptInfo = { ...identity, method, url, attempt, requestId: sentId }
    const onInterrupt = (interruption: Interruption) => {
      if (interruption === "aborted") return abortError(call, signal)
      // Before the first attempt, only the `apiKey` function can take this long.
      const message = call.attempts
        ? `no response of ${hostOf(info)} within ${timeoutMs} ms${nextStep(info)}`
        : `the apiKey function took longer than ${timeoutMs} ms; nothing was sent`
      return new TimeoutError(`${name}: ${message}`, { ...call, timeoutMs })
    }
    throwIfAborted()
    const { apiKey } = config
    const key =
      typeof apiKey === "function"
        ? await withTimeout(async () => apiKey(), timeoutMs, signal, onInterrupt).catch((cause: unknown) => {
            throw cause instanceof PaymentsError
              ? cause
              : usageError("the apiKey function failed: see cause", { cause })
          })
        : apiKey
    throwIf(apiKeyProblem(key))
    headers["x-request-id"] = sentId
    headers["x-api-key"] = key
    runHook(config.hooks.onRequest, info)
    throwIfAborted()
    // From here on, errors count this attempt as sent.
    call = { ...identity, requestId: sentId, attempts: attempt }
    const startedMs = performance.now()
    const durationMs = () => performance.now() - startedMs

    try {
      let received: FetchResponse | undefined
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
      ).catch((cause: unknown) => {
        // The status of an error response is enough: its body may be missing.
        if (received && !received.ok && !(cause instanceof AbortError)) return { response: received, text: undefined }
        const { message, ...fields } = connectionFailure(info, cause, mayBeDone)
        const error =
          cause instanceof PaymentsError ? cause : new ConnectionError(message, { ...call, ...fields }, { cause })
        runHook(config.hooks.onFailure, { ...info, error, durationMs: durationMs() })
        throw error
      })
      const { headers: answered, ok, status } = response
      const requestId = answered.get("x-request-id") ?? sentId
      call = { ...call, requestId }
      runHook(config.hooks.onResponse, { ...info, requestId, status, durationMs: durationMs() })
      const errorOf = (status: number, body: unknown, afterMs?: number) =>
        apiError(apiErrorFields({ status, text, headers: answered }, body, afterMs, name, requestId), call)
      const parsed = parse(text)
      if (!ok && !isAlreadyDeleted(method, Object(parsed).code, mayBeDone)) {
        // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
        throw errorOf(status, parsed ?? text, retryAfterMs(answered.get("retry-after"), Date.now()))
      }
      if (!isComplete(route, status, text, parsed)) {
        throw new ConnectionError(
          `${name}: the response is incomplete, or not the service's: ${excerptOf({ status, text, headers: answered })}${nextStep(info)}`,
          { ...call, reason: "malformed", status }
        )
      }
      const replayed = answered.get("idempotent-replayed") === "true"
      if (replayed && body) {
        const fields = options.onReplayMismatch === "return" ? [] : replayDifferences(JSON.parse(body), parsed)
        if (fields.length) {
          throw new ReplayMismatchError(
            `${name}: the idempotencyKey was used before with other params (${fields.join(", ")}): use another`,
            { ...call, fields, data: parsed }
          )
        }
        const rejection = mayBeDone && acquirerRejection(parsed)
        if (rejection) throw errorOf(422, rejection)
      }
      return {
        data: (ok ? parsed : undefined) as T,
        response: { status, headers: answered, requestId, ...keyed, replayed, attempts: attempt }
      }
    } catch (cause) {
      const error = cause as PaymentsError
      const { reason, retryAfterMs: afterMs = 0, status } = Object(error)
      const isLost = isUnanswered(error)
      const mayRetry = isLost ? isRepeatable : error instanceof ApiError && isRetryable(status, isRepeatable)
      if (!mayRetry || attempt > maxRetries || afterMs > MAX_RETRY_AFTER_MS) throw error
      mayBeDone ||= isLost ? reason !== "not-sent" : isOutcomeUnknown(status)
      const delayMs = retryDelayMs(attempt, afterMs, Math.random())
      runHook(config.hooks.onRetry, { ...info, error, delayMs })
      await sleep(delayMs, signal, () => abortError(call, signal))
    }
  }
}

const pathProblem = ({ id, route }: Operation) =>
  route.id && !isPathSegment(id)
    ? "id is missing or invalid: pass the resource's id"
    : !route.path.startsWith("/") && "the path must begin with /"

const urlOf = (baseUrl: string, { id, query, route }: Operation): string => {
  const path = route.path.replace("{id}", () => encodeURIComponent(`${id}`))
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null)
  const search = `${new URLSearchParams(given)}`
  return baseUrl + path + (search && `?${search}`)
}

const parse = (text = ""): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
