/**
 * How an operation becomes requests, and their answers a result or one error.
 *
 * Guarantees: one call has one idempotency key, whatever its attempts; a creation is never repeated without it, but after
 * 429. A refusal is told by its status, whether its body arrives or not. Redirects are not followed, so that the API key
 * goes to the address it was meant for and to no other. The key is read here and nowhere shown.
 */
import { bounded, sleep } from "./Bounded.ts"
import type { CreateOptions, WithResponse } from "./Call.ts"
import {
  AbortError,
  ApiError,
  apiError,
  type CallFacts,
  ConnectionError,
  PaymentsError,
  TimeoutError,
  UsageError
} from "./Errors.ts"
import { type Route, version } from "./generated/Routes.ts"
import { type AttemptInfo, type Hooks, tell } from "./Hooks.ts"
import { isSegment, whatIsWrong } from "./Limits.ts"
import { refusalOf } from "./Refusal.ts"
import { delayMs, isRemoved, isRetryable, MAX_RETRY_AFTER_MS, retryAfterMs } from "./Retry.ts"

/** What all calls of a client share. */
export interface Config {
  readonly apiKey: string
  readonly baseUrl: string
  readonly fetch: (input: string, init: RequestInit) => Promise<Response>
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
  const identity = { operation: name, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) }
  let facts: CallFacts = { ...identity, attempts: 0 }
  const usage = (message: string) => new UsageError(`${name}: ${message}`, facts)
  const aborted = () => new AbortError(`${name} was aborted`, facts, { cause: options.signal?.reason })
  const goOn = () => {
    if (options.signal?.aborted) throw aborted()
  }

  const timeoutMs = options.timeoutMs ?? config.timeoutMs
  const maxRetries = options.maxRetries ?? config.maxRetries
  const extra = { ...config.headers, ...options.headers }
  const wrong = whatIsWrong({ timeoutMs, maxRetries, idempotencyKey, headers: extra })
  if (wrong !== undefined) throw usage(wrong)
  if (route.id && !isSegment(operation.id)) throw usage("the id must be a string that names something")
  let url: string
  let body: string | undefined
  try {
    url = urlOf(config.baseUrl, operation)
    body = JSON.stringify(operation.body)
  } catch {
    // A circle, a bigint: the complaint may show what was to be sent.
    throw usage("what is to be sent cannot be written as text")
  }
  const headers = new Headers(extra)
  headers.set("accept", "application/json")
  headers.set("user-agent", `pix-payments-client/${version}`)
  headers.set("x-api-key", config.apiKey)
  if (body !== undefined) headers.set("content-type", "application/json")
  if (idempotencyKey !== undefined) headers.set("idempotency-key", idempotencyKey)
  const isRepeatable = route.method !== "POST" || idempotencyKey !== undefined

  /** Whether an attempt may have been carried out although no result came of it. */
  let mayBeDone = false
  for (let attempt = 1; ; attempt++) {
    const sentId = crypto.randomUUID()
    headers.set("x-request-id", sentId)
    const info: AttemptInfo = { ...identity, method: route.method, url, attempt, requestId: sentId }
    goOn()
    tell(config.hooks.onRequest, info)
    goOn()
    // From here on it is sent: who ended it before is told of the attempts before.
    facts = { ...identity, requestId: sentId, attempts: attempt }
    const startedMs = performance.now()

    let error: PaymentsError
    let answer: Response | undefined
    try {
      const { response, text } = await bounded(
        async (signal) => {
          answer = await config.fetch(url, {
            method: route.method,
            headers,
            redirect: "manual",
            signal,
            ...(body === undefined ? {} : { body })
          })
          return { response: answer, text: await answer.text() }
        },
        timeoutMs,
        options.signal,
        (ended) =>
          ended === "aborted"
            ? aborted()
            : Object.assign(new TimeoutError(`${name} had no answer within ${timeoutMs} ms`, facts), { timeoutMs })
      ).catch((failure: unknown) => {
        if (failure instanceof AbortError || !answer || answer.ok) throw failure
        return { response: answer, text: undefined }
      })
      const requestId = response.headers.get("x-request-id") ?? sentId
      facts = { ...facts, requestId }
      tell(config.hooks.onResponse, {
        ...info,
        requestId,
        status: response.status,
        durationMs: performance.now() - startedMs
      })
      const parsed = parse(text)
      if (response.ok || isRemoved(route.method, Object(parsed).code, mayBeDone)) {
        if (parsed === undefined && (text !== "" || response.status !== 204)) throw cutShort(facts)
        return {
          data: (route.method === "DELETE" ? undefined : parsed) as T,
          response: {
            status: response.status,
            headers: response.headers,
            requestId,
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
            replayed: response.headers.get("idempotent-replayed") === "true",
            attempts: attempt
          }
        }
      }
      error = refusal(response, parsed ?? text, facts)
    } catch (cause) {
      if (cause instanceof AbortError) throw cause
      error =
        cause instanceof PaymentsError
          ? cause
          : new ConnectionError(`${name} did not reach the service`, facts, { cause })
    }

    const answered = error instanceof ApiError ? error : undefined
    const mayRepeat = answered === undefined ? isRepeatable : isRetryable(answered.status, isRepeatable)
    const askedMs = answered?.retryAfterMs ?? 0
    if (!mayRepeat || attempt > maxRetries || askedMs > MAX_RETRY_AFTER_MS) throw error
    mayBeDone ||= answered === undefined || answered.status >= 500
    const waitMs = delayMs(attempt, askedMs, Math.random())
    tell(config.hooks.onRetry, { ...info, error, delayMs: waitMs })
    await sleep(waitMs, options.signal, aborted)
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

const cutShort = (facts: CallFacts) =>
  new ConnectionError(`${facts.operation} was answered with something that is no whole JSON`, facts)

const refusal = (response: Response, body: unknown, facts: CallFacts): ApiError => {
  // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
  const waitMs = retryAfterMs(response.headers.get("retry-after"), Date.now())
  return apiError(refusalOf(response.status, body, waitMs, facts.operation), facts)
}
