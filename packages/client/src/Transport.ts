/**
 * How an operation becomes requests, and their answers a result or one error.
 *
 * Guarantees:
 * - One call has one idempotency key, whatever its attempts; a creation is never repeated without it, but after 429.
 * - A refusal is known by its status, whether its body arrives or not; a charge that was refused to an earlier attempt of
 *   the call is refused to the call.
 * - A replay of another creation is an error.
 * - Redirects are not followed: the API key goes to the address it was meant for and to no other, and is shown nowhere.
 */
import { bounded, type Ended, sleep } from "./Bounded.ts"
import type { CreateOptions, ResponseHeaders, WithResponse } from "./Call.ts"
import {
  AbortError,
  ApiError,
  apiError,
  type CallFacts,
  ConnectionError,
  PaymentsError,
  ReplayMismatchError,
  TimeoutError,
  UsageError
} from "./Errors.ts"
import { doubt, failureOf } from "./Failure.ts"
import { type Route, version } from "./generated/Routes.ts"
import { type AttemptInfo, type Hooks, tell } from "./Hooks.ts"
import { isSegment, whatIsWrong, wrongKey } from "./Limits.ts"
import { isWhole, refusalOf } from "./Refusal.ts"
import { differences, refusedCharge } from "./Replay.ts"
import { delayMs, isRemoved, isRetryable, isUncertain, MAX_RETRY_AFTER_MS, retryAfterMs } from "./Retry.ts"

/** What is asked of a `fetch`. */
export interface FetchInit {
  /** The HTTP verb. */
  readonly method: string
  /** Names in lower case. */
  readonly headers: Record<string, string>
  /** JSON; absent where there is none. */
  readonly body?: string
  /** Redirects are not followed. */
  readonly redirect: "manual"
  /** Ends the attempt. */
  readonly signal: AbortSignal
}

/** What is read of an answer. */
export interface FetchResponse {
  /** Whether the status is 2xx. */
  readonly ok: boolean
  /** HTTP status. */
  readonly status: number
  /** The answer's headers. */
  readonly headers: ResponseHeaders
  /** The whole body. */
  text(): Promise<string>
}

/** What sends a request: the global `fetch`, that of a library such as undici, or a wrapper of one. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

/** What all calls of a client share. */
export interface Config {
  readonly apiKey: string | (() => string | Promise<string>)
  readonly baseUrl: string
  readonly fetch: Fetch
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly hooks: Hooks
}

/** An operation, and what it is called with. */
export interface Operation {
  /** `charges.create` */
  readonly name: string
  readonly route: Route
  readonly id?: unknown
  readonly query?: object | undefined
  readonly body?: unknown
  readonly idempotencyKey?: string | undefined
}

/** Sends an operation, again where that helps. */
export const send = async <T>(
  config: Config,
  operation: Operation,
  options: CreateOptions
): Promise<WithResponse<T>> => {
  const { idempotencyKey, name, route } = operation
  const { signal } = options
  const keyed = idempotencyKey && { idempotencyKey }
  const identity = { operation: name, ...keyed }
  let facts: CallFacts = { ...identity, attempts: 0 }
  const usage = (message: string, options?: { readonly cause: unknown }) =>
    new UsageError(`${name}: ${message}`, facts, options)
  const aborted = () => new AbortError(`${name} was aborted`, facts, { cause: signal?.reason })
  const goOn = () => {
    if (signal?.aborted) throw aborted()
  }

  const timeoutMs = options.timeoutMs ?? config.timeoutMs
  const maxRetries = options.maxRetries ?? config.maxRetries
  const extra = { ...config.headers, ...options.headers }
  const wrong = whatIsWrong({ timeoutMs, maxRetries, idempotencyKey, headers: extra })
  if (wrong) throw usage(wrong)
  if (route.id && !isSegment(operation.id)) throw usage("the id is missing or malformed")
  if (!route.path.startsWith("/")) throw usage("the path must begin with /")
  let url: string
  let body: string | undefined
  try {
    url = urlOf(config.baseUrl, operation)
    body = JSON.stringify(operation.body)
  } catch {
    // A circle, a bigint: the complaint may show what was to be sent.
    throw usage("the params cannot be written as text")
  }
  const headers: Record<string, string> = {}
  for (const [header, value] of Object.entries(extra)) headers[header.toLowerCase()] = value
  Object.assign(
    headers,
    { accept: "application/json", "user-agent": `pix-payments-client/${version}` },
    body && { "content-type": "application/json" },
    idempotencyKey && { "idempotency-key": idempotencyKey }
  )
  const isRepeatable = route.method !== "POST" || Boolean(idempotencyKey)

  /** Whether an attempt may have been carried out although no result came of it. */
  let mayBeDone = false
  for (let attempt = 1; ; attempt++) {
    const sentId = crypto.randomUUID()
    headers["x-request-id"] = sentId
    const info: AttemptInfo = { ...identity, method: route.method, url, attempt, requestId: sentId }
    const onEnd = (ended: Ended) => {
      if (ended === "aborted") return aborted()
      const rest = doubt(route.method, facts.attempts > 0)
      return Object.assign(new TimeoutError(`${name}: no answer within ${timeoutMs} ms${rest}`, facts), { timeoutMs })
    }
    goOn()
    const { apiKey } = config
    if (typeof apiKey === "function") {
      const key = await bounded(async () => apiKey(), timeoutMs, signal, onEnd).catch((cause: unknown) => {
        throw cause instanceof PaymentsError ? cause : usage("the function apiKey failed", { cause })
      })
      const wrong = wrongKey(key)
      if (wrong) throw usage(wrong)
      headers["x-api-key"] = key
    } else headers["x-api-key"] = apiKey
    tell(config.hooks.onRequest, info)
    goOn()
    // From here on it is sent: who ended it before is told of the attempts before.
    facts = { ...identity, requestId: sentId, attempts: attempt }
    const startedMs = performance.now()

    let error: PaymentsError
    let answer: FetchResponse | undefined
    let isAnswered = false
    try {
      const { response, text } = await bounded(
        async (signal) => {
          answer = await config.fetch(url, {
            method: route.method,
            headers: { ...headers },
            redirect: "manual",
            signal,
            ...(body && { body })
          })
          return { response: answer, text: await answer.text() }
        },
        timeoutMs,
        signal,
        onEnd
      ).catch((failure: unknown) => {
        if (failure instanceof AbortError || !answer || answer.ok) throw failure
        return { response: answer, text: undefined }
      })
      const { status } = response
      const requestId = response.headers.get("x-request-id") ?? sentId
      facts = { ...facts, requestId }
      isAnswered = true
      tell(config.hooks.onResponse, { ...info, requestId, status, durationMs: performance.now() - startedMs })
      const parsed = parse(text)
      if (!response.ok && !isRemoved(route.method, Object(parsed).code, mayBeDone)) {
        // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
        const waitMs = retryAfterMs(response.headers.get("retry-after"), Date.now())
        throw apiError(refusalOf(status, parsed ?? text, waitMs, name, requestId), facts)
      }
      if (!isWhole(route, status, text, parsed)) {
        const message = `${name}: no whole answer of the service${doubt(route.method)}`
        throw Object.assign(new ConnectionError(message, facts), { reason: "malformed" as const })
      }
      const replayed = response.headers.get("idempotent-replayed") === "true"
      if (replayed && body) {
        const fields = options.onReplayMismatch === "return" ? [] : differences(JSON.parse(body), parsed)
        if (fields.length) {
          const message = `${name}: the idempotency key was used before, with other params: ${fields.join(", ")}`
          throw Object.assign(new ReplayMismatchError(message, facts), { fields, data: parsed })
        }
        const refused = mayBeDone ? refusedCharge(parsed) : undefined
        if (refused) throw apiError(refusalOf(422, refused, undefined, name, requestId), facts)
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
        const { message, ...known } = failureOf(name, route.method, cause, mayBeDone)
        error = Object.assign(new ConnectionError(message, facts, { cause }), known)
      }
      if (!isAnswered) tell(config.hooks.onFailure, { ...info, error, durationMs: performance.now() - startedMs })
    }

    const answered = error instanceof ApiError ? error : undefined
    const isLost = error instanceof ConnectionError || error instanceof TimeoutError
    const mayRepeat = answered ? isRetryable(answered.status, isRepeatable) : isLost && isRepeatable
    const askedMs = answered?.retryAfterMs ?? 0
    if (!mayRepeat || attempt > maxRetries || askedMs > MAX_RETRY_AFTER_MS) throw error
    mayBeDone ||= answered ? isUncertain(answered.status) : Object(error).reason !== "not-sent"
    const waitMs = delayMs(attempt, askedMs, Math.random())
    tell(config.hooks.onRetry, { ...info, error, delayMs: waitMs })
    await sleep(waitMs, signal, aborted)
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
