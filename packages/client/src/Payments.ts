/**
 * The Promise client of `/v1`: `new Payments({ baseUrl, apiKey })`.
 *
 * Guarantees:
 * - Every operation of the declaration is there, made from the generated table of routes.
 * - Nothing but `fetch`, `URL`, `AbortController` and `crypto.randomUUID` is used.
 * - The API key cannot be read from a client.
 * - A failure's stack names the line of the call.
 */
import { Call, type CreateOptions, type RequestOptions, type WithResponse } from "./Call.ts"
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
import { bareUrl, whatIsWrong, wrongKey, wrongUrl } from "./Limits.ts"
import { PageCall, type PageQuery } from "./PageCall.ts"
import { originOf, traced } from "./Stack.ts"
import { type Config, type Fetch, type Operation, send } from "./Transport.ts"
import {
  type ChargeCondition,
  type Condition,
  type Kind,
  type PayoutCondition,
  type WaitOptions,
  waitUntil
} from "./WaitUntil.ts"

/** Where the service is, and how it is called. */
export interface PaymentsOptions {
  /** The service's address, what stands before `/v1`: `https://pix.example.com`. `PAYMENTS_URL` when absent. */
  readonly baseUrl?: string | undefined
  /**
   * The key of an application, or a function that gives it before each attempt, for keys that are rotated.
   * `PAYMENTS_API_KEY` when absent. It moves money: keep it out of browsers and of version control.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** The time that each attempt has until its whole answer is there, in milliseconds; 30 000 when absent. */
  readonly timeoutMs?: number | undefined
  /** How often a request is sent again at most; 2 when absent. */
  readonly maxRetries?: number | undefined
  /** In place of the global `fetch`: a wrapper, or one that goes through a proxy. */
  readonly fetch?: Fetch | undefined
  /** Sent with every request. `X-Api-Key` and `Idempotency-Key` are refused: they have options of their own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Called with attempts, answers, failures and waits. */
  readonly hooks?: Hooks | undefined
  /** Anybody can read the key in a browser; say `true` only where that does no harm. */
  readonly dangerouslyAllowBrowser?: boolean | undefined
}

/** What `request` takes. */
export interface RawOptions extends RequestOptions {
  /** Its values that are `undefined` or `null` are left out. */
  readonly query?: Readonly<Record<string, unknown>> | undefined
  /** Sent as JSON. */
  readonly body?: unknown
  /** A POST is repeated only under a key, and only where the service takes one. None is made for it. */
  readonly idempotencyKey?: string | undefined
}

/** The operations under `charges`. */
export interface Charges extends ChargesOperations {
  /**
   * Polls a charge until it has this status, one of these, or is as the function wants: at once, then after 30 s, 60 s,
   * 90 s and so on, and once more when `waitMs` is over. Webhooks come sooner; a key that polls more often may be
   * suspended. A function that no status fulfils waits until the charge is final or `expired`.
   *
   * `expired` ends the wait as over: a charge that is paid late all the same is reported by webhook only. A question
   * without an answer, or answered with 429 or 5xx, is asked again after the next wait; its error is the wait's where
   * `waitMs` is over. Any other error ends the wait at once.
   *
   * @throws {WaitError} when the charge can no longer become so, or `waitMs` is over; `error.charge` is the last state
   * @throws {UsageError} when `waitMs` is negative or no number
   */
  readonly waitUntil: (id: string, condition: ChargeCondition, options?: WaitOptions) => Promise<Charge>
}

/** The operations under `payouts`. */
export interface Payouts extends PayoutsOperations {
  /**
   * Polls a payout until it has this status, one of these, or is as the function wants, at the intervals of
   * `charges.waitUntil`. `payment.pix.completed` is not dispatched yet: polling is how to learn of it.
   *
   * @throws {WaitError} when the payout can no longer become so, or `waitMs` is over; `error.payout` is the last state
   * @throws {UsageError} when `waitMs` is negative or no number
   */
  readonly waitUntil: (id: string, condition: PayoutCondition, options?: WaitOptions) => Promise<Payout>
}

/**
 * A client of the payments service.
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
  /** What the account has. */
  declare readonly balance: BalanceOperations
  /** The account that owns the key. */
  declare readonly account: AccountOperations
  /** Registered webhook endpoints, and the events there are. */
  declare readonly webhooks: WebhooksOperations

  /**
   * Any request to the service, for what this release does not know yet: `payments.request("GET", "/v1/refunds")`. It has
   * the retries, limits and errors of every other call.
   */
  readonly request: <T = unknown>(method: string, path: string, options?: RawOptions) => Call<T>

  /** @throws {UsageError} when an option is missing or malformed */
  constructor(options: PaymentsOptions = {}) {
    const config = configOf(options)
    for (const [group, members] of Object.entries(routes)) {
      const operations: Record<string, unknown> = {}
      for (const [name, route] of Object.entries(members)) {
        operations[name] = caller(config, `${group}.${name}`, route)
      }
      Object.assign(this, { [group]: operations })
    }
    waitable("charge", this.charges)
    waitable("payout", this.payouts)
    this.request = function request(verb, path, options = {}) {
      const method = verb.toUpperCase()
      const { body, idempotencyKey, query } = options
      const operation = { name: `${method} ${path}`, route: { method, path }, body, query, idempotencyKey }
      return started(config, operation, options, request)
    }
  }
}

const configOf = (options: PaymentsOptions): Config => {
  const setting = (name: string): string | undefined => Reflect.get(globalThis, "process")?.env?.[name]
  const { fetch, headers, hooks = {}, maxRetries = 2, timeoutMs = 30_000 } = options
  const { apiKey = setting("PAYMENTS_API_KEY"), baseUrl = setting("PAYMENTS_URL") } = options
  const isExposed = typeof Reflect.get(globalThis, "document") === "object" && options.dangerouslyAllowBrowser !== true
  const wrong =
    wrongUrl(baseUrl) ??
    (typeof apiKey === "function" ? undefined : wrongKey(apiKey)) ??
    whatIsWrong({ timeoutMs, maxRetries, headers }) ??
    (isExposed ? "an API key moves money and must not be in a browser; see dangerouslyAllowBrowser" : undefined)
  if (wrong) throw new UsageError(wrong, { operation: "new Payments", attempts: 0 })
  return {
    apiKey: apiKey as Config["apiKey"],
    baseUrl: bareUrl(baseUrl as string),
    // Looked up at each call, so that what replaces it later is used.
    fetch: fetch ?? ((...parameters) => globalThis.fetch(...parameters)),
    timeoutMs,
    maxRetries,
    headers,
    hooks
  }
}

/** The function of one operation; its signature is the generated one. */
const caller = (config: Config, name: string, route: Route) =>
  function call(...parameters: ReadonlyArray<unknown>): unknown {
    const rest = [...parameters]
    const id = route.id ? rest.shift() : undefined
    const body = route.body ? (rest.shift() ?? {}) : undefined
    const query = route.query ? (rest.shift() as PageQuery | undefined) : undefined
    const options: CreateOptions = rest[0] ?? {}
    if (route.list) {
      const origin = originOf(call)
      return new PageCall(query ?? {}, (page) =>
        traced(send<Page<unknown>>(config, { name, route, query: route.query && page }, options), origin)
      )
    }
    const { idempotencyKey: own } = options
    // One that is `null` is no wish for another: it is refused.
    const idempotencyKey = route.keyed ? (own === undefined ? crypto.randomUUID() : own) : undefined
    return started(config, { name, route, id, body, idempotencyKey }, options, call)
  }

/** A call that is sent at once; `below` is the function that the caller called. */
const started = <T>(
  config: Config,
  operation: Operation,
  options: CreateOptions,
  below: (...parameters: never) => unknown
): Call<T> => {
  const answered: Promise<WithResponse<T>> = traced(send(config, operation, options), originOf(below))
  return new Call(() => answered, operation.idempotencyKey)
}

/** Gives a group its `waitUntil`. */
const waitable = <Resource extends Charge | Payout>(
  kind: Kind,
  group: { readonly retrieve: (id: string, options?: RequestOptions) => Promise<Resource> }
) => {
  const { retrieve } = group
  Object.assign(group, {
    waitUntil: function wait(id: string, condition: Condition<Resource>, options?: WaitOptions) {
      return traced(waitUntil(kind, retrieve, id, condition, options), originOf(wait))
    }
  })
}
