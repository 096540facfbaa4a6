/**
 * The Effect client of `/v1`, derived from the API's declaration: `payments.charges.create(…)`.
 *
 * Guarantees:
 * - `HttpApiClient` encodes requests from `PaymentsApi`. Results and errors are the generated plain types, so `HttpClient` is
 *   the only unstable module of `effect` in the public types.
 * - `create` fixes the idempotency key and the params of its effect: running the effect again creates nothing more.
 */
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { Authentication } from "@pix-payments/api/Security"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import type { ChargesService, PaymentsService, PayoutsService } from "./generated/Operations.ts"
import { callerOf, type CallSite, captureCallSite } from "@pix-payments/client/internal/CallSite"
import type { Charge, Page, Payout } from "@pix-payments/client/internal/generated/Resources"
import { type Route, routes, version } from "@pix-payments/client/internal/generated/Routes"
import { MAX_PAGE_SIZE, startPagination } from "@pix-payments/client/internal/Pagination"
import { paramsProblem } from "@pix-payments/client/internal/Params"
import {
  apiKeyProblem,
  baseUrlProblem,
  normalizeBaseUrl,
  optionsProblem
} from "@pix-payments/client/internal/Validation"
import {
  type ChargeCondition,
  type Condition,
  intervalOf,
  isMet,
  MAX_WAIT_MS,
  isTransient,
  waitProblem,
  nextPollDelayMs,
  nextPollOf,
  type PayoutCondition,
  type Pollable,
  type PollableKind
} from "@pix-payments/client/internal/WaitUntil"
import type { CreateOptions, RequestOptions, WithResponse } from "./Options.ts"
import { PaymentsError } from "./PaymentsError.ts"
import { AttemptHeaders, type Defaults, type Method, send, serialize } from "./Transport.ts"

/** Options of `PaymentsClient.layer`. */
export interface PaymentsClientOptions {
  /** The service's URL without `/v1`: `https://pix.example.com`. */
  readonly baseUrl: string
  /** An API key. It moves money: keep it on your server and out of version control. */
  readonly apiKey: Redacted.Redacted<string>
  /** Time limit of each attempt, including its response body, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of retries. Default: 2. */
  readonly maxRetries?: number | undefined
  /** Sent with every request. `X-Api-Key` and `Idempotency-Key` are rejected: use `apiKey` and `idempotencyKey`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of `waitUntil`. */
export interface WaitOptions extends RequestOptions {
  /** The longest time to wait, in milliseconds. 0 polls once, `Infinity` without end. Default: one hour. */
  readonly maxWaitMs?: number | undefined
  /** The first interval, in milliseconds. Each next one is longer by as much. Default: 30 000; 1000 for a service on this machine. */
  readonly intervalMs?: number | undefined
}

/** The operations under `charges`. */
export interface ChargesClient extends ChargesService {
  /**
   * Polls a charge until it has a status, one of several statuses, or satisfies a predicate: at once, then after 30 s, 60 s,
   * 90 s and so on, and once more when `maxWaitMs` has passed. Webhooks are faster, and a key that polls more often may be
   * suspended. Fails with `WaitError` if the condition can no longer be met or `maxWaitMs` has passed, and with `UsageError`
   * if `maxWaitMs` or `intervalMs` is negative or not a number.
   *
   * `expired` ends the wait: a payment after it is reported by webhook only. After a connection error, a timeout, a 429 or a 5xx
   * it polls again after the next interval, and fails with that error if `maxWaitMs` has passed. Any other error ends the
   * wait at once.
   */
  readonly waitUntil: (
    id: string,
    condition: ChargeCondition,
    options?: WaitOptions
  ) => Effect.Effect<Charge, PaymentsError>
}

/** The operations under `payouts`. */
export interface PayoutsClient extends PayoutsService {
  /**
   * Polls a payout until it has a status, one of several statuses, or satisfies a predicate, with the intervals and failures
   * of `charges.waitUntil`. Use it to learn that a payout is `completed`: `payment.pix.completed` is not dispatched yet.
   */
  readonly waitUntil: (
    id: string,
    condition: PayoutCondition,
    options?: WaitOptions
  ) => Effect.Effect<Payout, PaymentsError>
}

/** The operations with a single result, each returning it with its response. */
export type WithResponses<Operations> = {
  readonly [Group in keyof Operations]: {
    readonly [
      Name in keyof Operations[Group] as Operations[Group][Name] extends (
        ...parameters: infer _
      ) => Effect.Effect<unknown, PaymentsError>
        ? Name
        : never
    ]: Operations[Group][Name] extends (...parameters: infer Parameters) => Effect.Effect<infer Result, PaymentsError>
      ? (...parameters: Parameters) => Effect.Effect<WithResponse<Result>, PaymentsError>
      : never
  }
}

/** Every operation of `/v1`. Lists are streams of items. Failures are `PaymentsError`s. */
export interface PaymentsClientShape extends Omit<PaymentsService, "charges" | "payouts"> {
  /** Money in: Pix charges. */
  readonly charges: ChargesClient
  /** Money out: Pix payouts. */
  readonly payouts: PayoutsClient
  /** The same operations with their response: status, headers, request id, idempotency key, number of attempts. */
  readonly withResponse: WithResponses<PaymentsService>
}

/**
 * The client as an Effect service.
 *
 * @example
 * ```ts
 * import { PaymentsClient } from "@pix-payments/client-effect"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const payments = yield* PaymentsClient
 *   const charge = yield* payments.charges.create(
 *     { amount: 1990, customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" } },
 *     { idempotencyKey: "order-1001" }
 *   )
 *   return charge.pix.br_code
 * })
 *
 * // Reads PAYMENTS_URL and PAYMENTS_API_KEY.
 * Effect.runPromise(Effect.provide(program, PaymentsClient.layerConfig)).then(console.log)
 * ```
 */
export class PaymentsClient extends Context.Service<PaymentsClient, PaymentsClientShape>()(
  "@pix-payments/client/PaymentsClient"
) {
  /** Uses your `HttpClient`. It must not follow redirects: they would send the API key to another host. */
  static readonly layerHttpClient = (
    options: PaymentsClientOptions
  ): Layer.Layer<PaymentsClient, PaymentsError, HttpClient.HttpClient> =>
    Layer.effect(PaymentsClient, make(options)).pipe(
      Layer.provide(
        HttpApiMiddleware.layerClient(Authentication, ({ next, request }) =>
          Effect.flatMap(AttemptHeaders, (headers) =>
            next(
              HttpClientRequest.setHeaders(request, {
                "user-agent": `pix-payments-client/${version}`,
                ...headers,
                ...request.headers,
                accept: "application/json",
                "x-api-key": Redacted.value(options.apiKey)
              })
            )
          )
        )
      )
    )

  /** Uses `fetch`. */
  static readonly layer = (options: PaymentsClientOptions): Layer.Layer<PaymentsClient, PaymentsError> =>
    PaymentsClient.layerHttpClient(options).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" }))
    )

  /**
   * Uses `fetch`, configured by `PAYMENTS_URL` and `PAYMENTS_API_KEY`, and optionally `PAYMENTS_TIMEOUT` (`"10 seconds"`) and
   * `PAYMENTS_MAX_RETRIES`.
   */
  static readonly layerConfig: Layer.Layer<PaymentsClient, PaymentsError | Config.ConfigError> = Layer.unwrap(
    Effect.map(
      Config.all({
        baseUrl: Config.String("PAYMENTS_URL"),
        apiKey: Config.Redacted("PAYMENTS_API_KEY"),
        timeoutMs: Config.option(Config.map(Config.Duration("PAYMENTS_TIMEOUT"), Duration.toMillis)),
        maxRetries: Config.option(Config.Int("PAYMENTS_MAX_RETRIES"))
      }),
      ({ maxRetries, timeoutMs, ...connection }) =>
        PaymentsClient.layer({
          ...connection,
          timeoutMs: Option.getOrUndefined(timeoutMs),
          maxRetries: Option.getOrUndefined(maxRetries)
        })
    )
  )
}

// The service validates requests: it may accept values that this release does not know.
const lenient = { disableChecks: true } as const
const api = PaymentsApi.annotate(HttpApi.PayloadParseOptions, lenient)
  .annotate(HttpApi.QueryParseOptions, lenient)
  .annotate(HttpApi.HeadersParseOptions, lenient)

const make = Effect.fnUntraced(function* (options: PaymentsClientOptions) {
  const { apiKey, baseUrl, headers = {}, maxRetries = 2, timeoutMs = 30_000 } = options
  const defaults: Defaults = { baseUrl, timeoutMs, maxRetries, headers }
  const problem = baseUrlProblem(baseUrl) ?? apiKeyProblem(Redacted.value(apiKey)) ?? optionsProblem(defaults)
  if (problem !== undefined) {
    return yield* new PaymentsError({
      operation: "PaymentsClient",
      attempts: 0,
      reason: { _tag: "UsageError", message: problem }
    })
  }
  const derived: Readonly<Record<string, Readonly<Record<string, unknown>>>> = yield* HttpApiClient.make(api, {
    baseUrl: normalizeBaseUrl(baseUrl)
  })

  const plain: Record<string, Record<string, unknown>> = {}
  const withResponse: Record<string, Record<string, unknown>> = {}
  for (const [group, members] of Object.entries(routes)) {
    const results: Record<string, unknown> = (plain[group] = {})
    const responses: Record<string, unknown> = (withResponse[group] = {})
    for (const [name, route] of Object.entries(members)) {
      const call = operationOf(defaults, `${group}.${name}`, route, derived[group]?.[name] as Method)
      const from = <A>(use: (parameters: ReadonlyArray<unknown>, site: CallSite) => A) =>
        function method(...parameters: ReadonlyArray<unknown>) {
          const site = captureCallSite(method)
          return use(parameters, site)
        }
      if (isList(route)) {
        results[name] = from((parameters, site) => streamItems(route, parameters, call, site))
      } else {
        results[name] = from((parameters, site) => Effect.map(call(parameters, site), ({ data }) => data))
        responses[name] = from(call)
      }
    }
  }
  const operations = plain as unknown as PaymentsService
  return PaymentsClient.of({
    ...operations,
    charges: {
      ...operations.charges,
      waitUntil: waitUntil("charge", operations.charges.retrieve, intervalOf(baseUrl))
    },
    payouts: {
      ...operations.payouts,
      waitUntil: waitUntil("payout", operations.payouts.retrieve, intervalOf(baseUrl))
    },
    withResponse: withResponse as unknown as PaymentsClientShape["withResponse"]
  })
})

const isList = (route: Route): boolean => route.list === true

type OperationCall = (
  parameters: ReadonlyArray<unknown>,
  site: CallSite
) => Effect.Effect<WithResponse<unknown>, PaymentsError>

/** The method of one operation. Its signature is the generated one. */
const operationOf =
  (defaults: Defaults, name: string, route: Route, method: Method): OperationCall =>
  (parameters, site) => {
    const rest = [...parameters]
    const id = route.id ? (rest.shift() as string) : undefined
    // Serialized when the operation is called, not when its effect runs: every run and retry sends the same creation.
    const params = route.body ? rest.shift() : undefined
    const body = route.body ? serialize(params) : undefined
    const problem = paramsProblem(name, params)
    const query = route.query ? serialize(rest.shift()) : undefined
    const options: CreateOptions = rest[0] ?? {}
    // `null` is rejected, not replaced: a generated key would hide the mistake.
    const { idempotencyKey: given } = options
    const idempotencyKey = route.keyed ? (given === undefined ? crypto.randomUUID() : given) : undefined
    return send(defaults, { name, route, method, id, body, query, problem, idempotencyKey, site }, options)
  }

/** The items of every page of a list. */
const streamItems = (
  route: Route,
  parameters: ReadonlyArray<unknown>,
  call: OperationCall,
  site: CallSite
): Stream.Stream<unknown, PaymentsError> => {
  const [query, options] = route.query ? parameters : [undefined, parameters[0]]
  const first: object = { limit: MAX_PAGE_SIZE, ...(query as object | undefined) }
  return Stream.suspend(() => {
    const cursorAfter = startPagination()
    return Stream.paginate(first, (pageQuery) =>
      Effect.map(call(route.query ? [pageQuery, options] : [options], site), ({ data }) => {
        const page = data as Page<unknown>
        const cursor = cursorAfter(page)
        const next = Option.map(Option.fromUndefinedOr(cursor?.next), (last) => ({ ...first, starting_after: last }))
        return [cursor ? page.data : [], next] as const
      })
    )
  })
}

/** Whether polling continues after an error. */
const isTransientError = ({ reason }: PaymentsError): boolean =>
  "status" in reason ? isTransient(reason.status) : reason._tag === "ConnectionError" || reason._tag === "TimeoutError"

const waitUntil = <Resource extends Pollable>(
  kind: PollableKind,
  retrieve: (id: string, options?: RequestOptions) => Effect.Effect<Resource, PaymentsError>,
  defaultIntervalMs: number
) =>
  function wait(
    id: string,
    condition: Condition<Resource>,
    { intervalMs = defaultIntervalMs, maxWaitMs = MAX_WAIT_MS, ...options }: WaitOptions = {}
  ) {
    const site = captureCallSite(wait)
    const operation = `${kind}s.waitUntil`
    return Effect.gen(function* () {
      const problem = waitProblem(maxWaitMs, intervalMs)
      if (problem !== undefined) {
        const message = `${operation}: ${problem}`
        return yield* new PaymentsError({ operation, attempts: 0, reason: { _tag: "UsageError", message } })
      }
      const endMs = (yield* Clock.currentTimeMillis) + maxWaitMs
      let isLast = false
      for (let attempts = 1; ; attempts++) {
        const read = yield* Effect.catchIf(retrieve(id, options), isTransientError, Effect.succeed)
        const failed = read instanceof PaymentsError
        if (!failed && isMet(condition, read)) return read
        const leftMs: number = isLast ? 0 : endMs - (yield* Clock.currentTimeMillis)
        const next = failed
          ? (nextPollDelayMs(attempts, intervalMs, leftMs, Object(read.reason).retryAfterMs) ?? read)
          : nextPollOf(kind, condition, read, attempts, intervalMs, leftMs, maxWaitMs)
        if (next instanceof PaymentsError) return yield* next
        if (typeof next === "string") {
          const reason = { _tag: "WaitError", message: next, [kind]: read } as const
          return yield* new PaymentsError({ operation, attempts, reason })
        }
        isLast = next === leftMs
        yield* Effect.sleep(next)
      }
    }).pipe(Effect.withSpan(operation, undefined, { captureStackTrace: () => callerOf(site) }))
  }
