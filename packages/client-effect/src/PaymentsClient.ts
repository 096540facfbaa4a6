/**
 * The Effect client of `/v1`, derived from the declaration: `payments.charges.create(…)`.
 *
 * Guarantees: requests are encoded by `HttpApiClient` from `PaymentsApi` and from nothing else; results and errors are
 * the plain types that are generated from it, so that of `effect`'s unstable modules nothing is public but `HttpClient`.
 * A creation's idempotency key and params belong to its effect: running it again creates nothing more, and nothing else.
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
import type { Charge, Page, Payout } from "@pix-payments/client/internal/generated/Resources"
import { type Route, routes, version } from "@pix-payments/client/internal/generated/Routes"
import { bareUrl, whatIsWrong, wrongKey, wrongUrl } from "@pix-payments/client/internal/Limits"
import {
  type Awaitable,
  type ChargeCondition,
  type Condition,
  isMet,
  isPassing,
  type Kind,
  nextDelay,
  nextWait,
  type PayoutCondition,
  wrongWait
} from "@pix-payments/client/internal/WaitUntil"
import { LARGEST_PAGE, startWalk } from "@pix-payments/client/internal/Walk"
import type { CreateOptions, RequestOptions, WithResponse } from "./Options.ts"
import { PaymentsError } from "./PaymentsError.ts"
import { AttemptHeaders, type Defaults, type Method, send, textOf } from "./Transport.ts"

/** Where the service is, and how it is called. */
export interface PaymentsClientOptions {
  /** The service's address, what stands before `/v1`: `https://pix.example.com`. */
  readonly baseUrl: string
  /** The key of an application. It moves money. */
  readonly apiKey: Redacted.Redacted<string>
  /** The time that each attempt has until its whole answer is there, in milliseconds; 30 000 when absent. */
  readonly timeoutMs?: number | undefined
  /** How often a request is sent again at most; 2 when absent. */
  readonly maxRetries?: number | undefined
  /** Sent with every request. `X-Api-Key` and `Idempotency-Key` are refused: they have options of their own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What `waitUntil` takes. */
export interface WaitOptions extends RequestOptions {
  /**
   * How long to wait in all, in milliseconds, from 0, which asks once; the last wait is shortened to what is left. Without
   * it, until the condition is met or can no longer be met, however long the service does not answer.
   */
  readonly waitMs?: number | undefined
}

/** The operations under `charges`. */
export interface ChargesClient extends ChargesService {
  /**
   * Asks for a charge until it has this status, one of these, or is as the function wants: at once, then after 30 s,
   * 60 s, 90 s and so on, and once more when `waitMs` is over. Webhooks come sooner; a key that polls more often may be
   * suspended. Fails with `WaitOver` when the charge can no longer become so, or `waitMs` is over; with `InvalidCall` when
   * `waitMs` is negative or no number. A function that no status fulfils waits until the charge is final or `expired`.
   *
   * `expired` ends the wait as over: a charge that is paid late all the same is reported by webhook only. A question without
   * an answer, or answered with 429 or 5xx, is asked again after the next wait; its error is the wait's where `waitMs` is
   * over. Any other error ends the wait at once.
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
   * Polls a payout until it has this status, one of these, or is as the function wants, at the intervals and with the
   * failures of `charges.waitUntil`. `payment.pix.completed` is not dispatched yet: polling is how to learn of it.
   */
  readonly waitUntil: (
    id: string,
    condition: PayoutCondition,
    options?: WaitOptions
  ) => Effect.Effect<Payout, PaymentsError>
}

/** The operations that answer with one result, each with its response. */
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

/** Every operation of `/v1`. Lists are streams of their items; what fails is a `PaymentsError`. */
export interface PaymentsClientShape extends Omit<PaymentsService, "charges" | "payouts"> {
  /** Money in: Pix charges. */
  readonly charges: ChargesClient
  /** Money out: Pix payouts. */
  readonly payouts: PayoutsClient
  /** The same operations, each with status, headers, request id, idempotency key and number of attempts. */
  readonly withResponse: WithResponses<PaymentsService>
}

/**
 * The client, as a service.
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
 * // PAYMENTS_URL and PAYMENTS_API_KEY say where and who.
 * Effect.runPromise(Effect.provide(program, PaymentsClient.layerConfig)).then(console.log)
 * ```
 */
export class PaymentsClient extends Context.Service<PaymentsClient, PaymentsClientShape>()(
  "@pix-payments/client/PaymentsClient"
) {
  /** Over an `HttpClient` of yours. Redirects must not be followed: the API key is meant for one address. */
  static readonly layerHttpClient = (
    options: PaymentsClientOptions
  ): Layer.Layer<PaymentsClient, PaymentsError, HttpClient.HttpClient> =>
    Layer.effect(PaymentsClient, make(options)).pipe(
      Layer.provide(
        HttpApiMiddleware.layerClient(Authentication, ({ next, request }) =>
          Effect.flatMap(AttemptHeaders, (headers) =>
            next(
              HttpClientRequest.setHeaders(request, {
                ...headers,
                ...request.headers,
                accept: "application/json",
                "user-agent": `pix-payments-client/${version}`,
                "x-api-key": Redacted.value(options.apiKey)
              })
            )
          )
        )
      )
    )

  /** Over `fetch`. */
  static readonly layer = (options: PaymentsClientOptions): Layer.Layer<PaymentsClient, PaymentsError> =>
    PaymentsClient.layerHttpClient(options).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" }))
    )

  /**
   * Over `fetch`, from `PAYMENTS_URL` and `PAYMENTS_API_KEY`, and where they are set `PAYMENTS_TIMEOUT` (`"10 seconds"`)
   * and `PAYMENTS_MAX_RETRIES`.
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

// What may be sent is decided by the service, which may allow more than this release knows.
const lenient = { disableChecks: true } as const
const api = PaymentsApi.annotate(HttpApi.PayloadParseOptions, lenient)
  .annotate(HttpApi.QueryParseOptions, lenient)
  .annotate(HttpApi.HeadersParseOptions, lenient)

const make = Effect.fnUntraced(function* (options: PaymentsClientOptions) {
  const { apiKey, baseUrl, headers = {}, maxRetries = 2, timeoutMs = 30_000 } = options
  const defaults: Defaults = { timeoutMs, maxRetries, headers }
  const wrong = wrongUrl(baseUrl) ?? wrongKey(Redacted.value(apiKey)) ?? whatIsWrong(defaults)
  if (wrong !== undefined) {
    return yield* new PaymentsError({
      operation: "PaymentsClient",
      attempts: 0,
      reason: { _tag: "InvalidCall", message: wrong }
    })
  }
  const derived: Readonly<Record<string, Readonly<Record<string, unknown>>>> = yield* HttpApiClient.make(api, {
    baseUrl: bareUrl(baseUrl)
  })

  const plain: Record<string, Record<string, unknown>> = {}
  const withResponse: Record<string, Record<string, unknown>> = {}
  for (const [group, members] of Object.entries(routes)) {
    const results: Record<string, unknown> = (plain[group] = {})
    const responses: Record<string, unknown> = (withResponse[group] = {})
    for (const [name, route] of Object.entries(members)) {
      const call = caller(defaults, `${group}.${name}`, route, derived[group]?.[name] as Method)
      if (isList(route)) {
        results[name] = (...parameters: ReadonlyArray<unknown>) => items(route, parameters, call)
      } else {
        results[name] = (...parameters: ReadonlyArray<unknown>) => Effect.map(call(parameters), ({ data }) => data)
        responses[name] = (...parameters: ReadonlyArray<unknown>) => call(parameters)
      }
    }
  }
  const operations = plain as unknown as PaymentsService
  return PaymentsClient.of({
    ...operations,
    charges: { ...operations.charges, waitUntil: waitUntil("charge", operations.charges.retrieve) },
    payouts: { ...operations.payouts, waitUntil: waitUntil("payout", operations.payouts.retrieve) },
    withResponse: withResponse as unknown as PaymentsClientShape["withResponse"]
  })
})

const isList = (route: Route): boolean => route.list === true

type Caller = (parameters: ReadonlyArray<unknown>) => Effect.Effect<WithResponse<unknown>, PaymentsError>

/** The function of one operation; its signature is the generated one. */
const caller =
  (defaults: Defaults, name: string, route: Route, method: Method): Caller =>
  (parameters) => {
    const rest = [...parameters]
    const id = route.id ? (rest.shift() as string) : undefined
    // Made with the effect, not by its run: one that is run again, or retried, is the same creation of the same things.
    const body = route.body ? textOf(rest.shift()) : undefined
    const query = route.query ? textOf(rest.shift()) : undefined
    const options: CreateOptions = rest[0] ?? {}
    // One that is `null` is no wish for another: it is refused.
    const { idempotencyKey: own } = options
    const idempotencyKey = route.keyed ? (own === undefined ? crypto.randomUUID() : own) : undefined
    return send(defaults, { name, route, method, id, body, query, idempotencyKey }, options)
  }

/** The items of a list, page after page. */
const items = (
  route: Route,
  parameters: ReadonlyArray<unknown>,
  call: Caller
): Stream.Stream<unknown, PaymentsError> => {
  const [query, options] = route.query ? parameters : [undefined, parameters[0]]
  const first: object = { limit: LARGEST_PAGE, ...(query as object | undefined) }
  return Stream.suspend(() => {
    const judge = startWalk()
    return Stream.paginate(first, (from) =>
      Effect.map(call(route.query ? [from, options] : [options]), ({ data }) => {
        const page = data as Page<unknown>
        const step = judge(page)
        const next = Option.map(Option.fromUndefinedOr(step?.next), (last) => ({ ...first, starting_after: last }))
        return [step ? page.data : [], next] as const
      })
    )
  })
}

/** Whether a question that failed may be asked again later. */
const mayPass = ({ reason }: PaymentsError): boolean =>
  "status" in reason ? isPassing(reason.status) : reason._tag === "ConnectionFailed" || reason._tag === "TimedOut"

const waitUntil =
  <Resource extends Awaitable>(
    kind: Kind,
    retrieve: (id: string, options?: RequestOptions) => Effect.Effect<Resource, PaymentsError>
  ) =>
  (id: string, condition: Condition<Resource>, { waitMs = Infinity, ...options }: WaitOptions = {}) => {
    const operation = `${kind}s.waitUntil`
    return Effect.gen(function* () {
      const wrong = wrongWait(waitMs)
      if (wrong !== undefined) {
        const message = `${operation}: ${wrong}`
        return yield* new PaymentsError({ operation, attempts: 0, reason: { _tag: "InvalidCall", message } })
      }
      const endMs = (yield* Clock.currentTimeMillis) + waitMs
      let isLast = false
      for (let attempts = 1; ; attempts++) {
        const read = yield* Effect.catchIf(retrieve(id, options), mayPass, Effect.succeed)
        const failed = read instanceof PaymentsError
        if (!failed && isMet(condition, read)) return read
        const leftMs: number = isLast ? 0 : endMs - (yield* Clock.currentTimeMillis)
        const next = failed
          ? (nextDelay(attempts, leftMs, Object(read.reason).retryAfterMs) ?? read)
          : nextWait(kind, condition, read, attempts, leftMs, waitMs)
        if (next instanceof PaymentsError) return yield* next
        if (typeof next === "string") {
          const reason = { _tag: "WaitOver", message: next, [kind]: read } as const
          return yield* new PaymentsError({ operation, attempts, reason })
        }
        isLast = next === leftMs
        yield* Effect.sleep(next)
      }
    }).pipe(Effect.withSpan(operation))
  }
