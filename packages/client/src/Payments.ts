/**
 * The Promise client of `/v1`: `new Payments({ baseUrl, apiKey })`.
 *
 * Guarantees:
 * - Every operation of the API is there: the methods are made from the generated route table.
 * - Only `fetch`, `URL`, `AbortController` and `crypto.randomUUID` are used.
 * - The API key cannot be read from a client.
 * - The stack of an error includes the line of the call.
 */
import { Call, type CreateOptions, type RequestOptions, type WithResponse } from "./Call.ts"
import { type CallSite, captureCallSite, withCallSite } from "./CallSite.ts"
import { UsageError } from "./Errors.ts"
import type {
  AccountOperations,
  BalanceOperations,
  ChargesOperations,
  Operations,
  PayoutsOperations,
  WebhooksOperations
} from "./generated/Operations.ts"
import type { Charge, Page, Payout } from "./generated/Resources.ts"
import { type Route, routes } from "./generated/Routes.ts"
import type { Hooks } from "./Hooks.ts"
import { PageCall, type PageQuery } from "./PageCall.ts"
import { type Config, type Fetch, type Operation, send } from "./Transport.ts"
import { apiKeyProblem, baseUrlProblem, normalizeBaseUrl, optionsProblem } from "./Validation.ts"
import type { ChargeIn, PayoutIn } from "./States.ts"
import {
  type ChargeCondition,
  type Condition,
  intervalOf,
  type KnownStatus,
  type PayoutCondition,
  type PollableKind,
  type WaitOptions,
  waitUntil
} from "./WaitUntil.ts"

/** Options of `new Payments`. */
export interface PaymentsOptions {
  /** The service's URL without `/v1`: `https://pix.example.com`. Default: `PAYMENTS_URL`. */
  readonly baseUrl?: string | undefined
  /**
   * An API key, or a function that returns one before each attempt, for keys that rotate. Default: `PAYMENTS_API_KEY`.
   * The key moves money: keep it on your server and out of version control.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** Time limit of each attempt, including its response body, in milliseconds. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** Maximum number of retries. Default: 2. */
  readonly maxRetries?: number | undefined
  /** Replaces the global `fetch`, for example to use a proxy. */
  readonly fetch?: Fetch | undefined
  /** Sent with every request. `X-Api-Key` and `Idempotency-Key` are rejected: use `apiKey` and `idempotencyKey`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Functions that observe attempts, responses and retries. */
  readonly hooks?: Hooks | undefined
  /** Allows the client in browsers, where anybody can read the API key. Default: false. */
  readonly dangerouslyAllowBrowser?: boolean | undefined
}

/** Options of `request`. */
export interface RawOptions extends RequestOptions {
  /** Query parameters. Those that are `undefined` or `null` are left out. */
  readonly query?: Readonly<Record<string, unknown>> | undefined
  /** The request body, sent as JSON. */
  readonly body?: unknown
  /** Makes a POST safe to retry, if the route accepts a key. None is generated. */
  readonly idempotencyKey?: string | undefined
}

/** The operations under `charges`. */
export interface Charges extends ChargesOperations {
  /**
   * Polls a charge until it has a status, one of several statuses, or satisfies a predicate: at once, then after 30 s, 60 s,
   * 90 s and so on, and once more when `maxWaitMs` has passed, by default after an hour. Webhooks are faster, and a key that polls more often may be
   * suspended.
   *
   * `expired` ends the wait: a payment after it is reported by webhook only. After a connection error, a timeout, a 429 or a 5xx
   * it polls again after the next interval, and throws that error if `maxWaitMs` has passed. Any other error is thrown at
   * once.
   *
   * @throws {WaitError} if the condition can no longer be met, or after `maxWaitMs`; `error.charge` is the last state
   * @throws {UsageError} if `maxWaitMs` or `intervalMs` is negative or not a number
   */
  readonly waitUntil: {
    <Status extends KnownStatus<Charge["status"]>>(
      id: string,
      status: Status | ReadonlyArray<Status>,
      options?: WaitOptions
    ): Promise<ChargeIn<Status>>
    (id: string, condition: ChargeCondition, options?: WaitOptions): Promise<Charge>
  }
}

/** The operations under `payouts`. */
export interface Payouts extends PayoutsOperations {
  /**
   * Polls a payout until it has a status, one of several statuses, or satisfies a predicate, with the intervals of
   * `charges.waitUntil`. Use it to learn that a payout is `completed`: `payment.pix.completed` is not dispatched yet.
   *
   * @throws {WaitError} if the condition can no longer be met, or after `maxWaitMs`; `error.payout` is the last state
   * @throws {UsageError} if `maxWaitMs` or `intervalMs` is negative or not a number
   */
  readonly waitUntil: {
    <Status extends KnownStatus<Payout["status"]>>(
      id: string,
      status: Status | ReadonlyArray<Status>,
      options?: WaitOptions
    ): Promise<PayoutIn<Status>>
    (id: string, condition: PayoutCondition, options?: WaitOptions): Promise<Payout>
  }
}

/**
 * The client of the payments service.
 *
 * @example
 * ```ts
 * import { Payments } from "@pix-payments/client"
 *
 * const payments = new Payments({ baseUrl: "https://pix.example.com", apiKey: "pix_…" })
 *
 * const charge = await payments.charges.create(
 *   {
 *     amount: 1990, // cents: R$ 19,90
 *     customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
 *   },
 *   { idempotencyKey: "order-1001" }
 * )
 * console.log(charge.pix.br_code)
 * ```
 */
export class Payments implements Operations {
  /** Money in: Pix charges. */
  declare readonly charges: Charges
  /** Money out: Pix payouts. */
  declare readonly payouts: Payouts
  /** The account's balance. */
  declare readonly balance: BalanceOperations
  /** The account that owns the key. */
  declare readonly account: AccountOperations
  /** Webhook endpoints and the event catalog. */
  declare readonly webhooks: WebhooksOperations

  /**
   * Sends any request, for routes that this release does not know: `payments.request("GET", "/v1/refunds")`. Timeouts,
   * retries and errors are those of any other call.
   */
  readonly request: <T = unknown>(method: string, path: string, options?: RawOptions) => Call<T>

  /** @throws {UsageError} if an option is missing or invalid */
  constructor(options: PaymentsOptions = {}) {
    const config = configOf(options)
    for (const [group, members] of Object.entries(routes)) {
      const operations: Record<string, unknown> = {}
      for (const [name, route] of Object.entries(members)) {
        operations[name] = operationOf(config, `${group}.${name}`, route)
      }
      Object.assign(this, { [group]: operations })
    }
    addWaitUntil("charge", this.charges, config)
    addWaitUntil("payout", this.payouts, config)
    this.request = function request(verb, path, options = {}) {
      const method = verb.toUpperCase()
      const { body, idempotencyKey, query } = options
      const operation = {
        name: `${method} ${path}`,
        route: { method, path, empty: true as const },
        body,
        query,
        idempotencyKey
      }
      return startCall(config, operation, options, captureCallSite(request))
    }
  }
}

const configOf = (options: PaymentsOptions): Config => {
  const environment = (name: string): string | undefined => Reflect.get(globalThis, "process")?.env?.[name]
  const { fetch, headers, hooks = {}, maxRetries = 2, timeoutMs = 30_000 } = options
  const { apiKey = environment("PAYMENTS_API_KEY"), baseUrl = environment("PAYMENTS_URL") } = options
  const isBrowser = typeof Reflect.get(globalThis, "document") === "object" && options.dangerouslyAllowBrowser !== true
  const problem =
    baseUrlProblem(baseUrl) ??
    (typeof apiKey === "function" ? undefined : apiKeyProblem(apiKey)) ??
    optionsProblem({ timeoutMs, maxRetries, headers }) ??
    (isBrowser
      ? "call the service from your server: in a browser anybody can read the API key (see dangerouslyAllowBrowser)"
      : undefined)
  if (problem) throw new UsageError(problem, { operation: "new Payments", attempts: 0 })
  return {
    apiKey: apiKey as Config["apiKey"],
    baseUrl: normalizeBaseUrl(baseUrl as string),
    // Looked up at each call, so that a later replacement (a test's mock, instrumentation) takes effect.
    fetch: fetch ?? ((...parameters) => globalThis.fetch(...parameters)),
    timeoutMs,
    maxRetries,
    headers,
    hooks
  }
}

/** The method of one operation. Its signature is the generated one. */
const operationOf = (config: Config, name: string, route: Route) =>
  function call(...parameters: ReadonlyArray<unknown>): unknown {
    // Here, because a function that ends in a call is no longer on the stack in JavaScriptCore.
    const site = captureCallSite(call)
    const rest = [...parameters]
    const id = route.id ? rest.shift() : undefined
    const body = route.body ? (rest.shift() ?? {}) : undefined
    const query = route.query ? (rest.shift() as PageQuery | undefined) : undefined
    const options: CreateOptions = rest[0] ?? {}
    if (route.list) {
      return new PageCall(query ?? {}, (page) =>
        withCallSite(send<Page<unknown>>(config, { name, route, query: route.query && page }, options), site)
      )
    }
    const { idempotencyKey: given } = options
    // `null` is rejected, not replaced: a generated key would hide the mistake.
    const idempotencyKey = route.keyed ? (given === undefined ? crypto.randomUUID() : given) : undefined
    return startCall(config, { name, route, id, body, idempotencyKey }, options, site)
  }

/** Sends the request at once. */
const startCall = <T>(config: Config, operation: Operation, options: CreateOptions, site: CallSite): Call<T> => {
  const settled: Promise<WithResponse<T>> = withCallSite(send(config, operation, options), site)
  return new Call(() => settled, operation.idempotencyKey)
}

const addWaitUntil = <Resource extends Charge | Payout>(
  kind: PollableKind,
  group: { readonly retrieve: (id: string, options?: RequestOptions) => Promise<Resource> },
  { baseUrl }: Config
) => {
  const { retrieve } = group
  Object.assign(group, {
    waitUntil: function wait(id: string, condition: Condition<Resource>, options?: WaitOptions) {
      const site = captureCallSite(wait)
      const intervalMs = options?.intervalMs ?? intervalOf(baseUrl)
      return withCallSite(waitUntil(kind, retrieve, id, condition, { ...options, intervalMs }), site)
    }
  })
}
