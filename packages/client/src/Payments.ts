/**
 * The Promise client of `/v1`: `new Payments({ baseUrl, apiKey })`.
 *
 * Guarantees: every operation of the declaration is there, made from the generated table of routes; nothing but
 * `fetch`, `URL`, `AbortController` and `crypto.randomUUID` is used; the API key cannot be read from a client.
 */
import { Call, type CreateOptions, type WithResponse } from "./Call.ts"
import { UsageError } from "./Errors.ts"
import type {
  AccountOperations,
  BalanceOperations,
  ChargesOperations,
  Operations,
  PayoutsOperations,
  WebhooksOperations
} from "./generated/Operations.ts"
import type { Charge, Page } from "./generated/Resources.ts"
import { type Route, routes } from "./generated/Routes.ts"
import type { Hooks } from "./Hooks.ts"
import { bareUrl, whatIsWrong, wrongConnection } from "./Limits.ts"
import { PageCall, type PageQuery } from "./PageCall.ts"
import { type Config, send } from "./Transport.ts"
import { type ChargeCondition, type WaitOptions, waitUntil } from "./WaitUntil.ts"

/** Where the service is, and how it is called. */
export interface PaymentsOptions {
  /** The service's address, what stands before `/v1`: `https://pix.example.com`. */
  readonly baseUrl: string
  /** The key of an application. It moves money: keep it out of browsers and of version control. */
  readonly apiKey: string
  /** The time that each attempt has until its whole answer is there, in milliseconds; 30 000 when absent. */
  readonly timeoutMs?: number | undefined
  /** How often a request is sent again at most; 2 when absent. */
  readonly maxRetries?: number | undefined
  /** In place of the global `fetch`. */
  readonly fetch?: ((input: string, init?: RequestInit) => Promise<Response>) | undefined
  /** Sent with every request. `X-Api-Key` and `Idempotency-Key` are refused: they have options of their own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** What to tell of attempts, answers and waits. */
  readonly hooks?: Hooks | undefined
  /** A browser shows the key to whoever looks; say `true` only where that is no harm. */
  readonly dangerouslyAllowBrowser?: boolean | undefined
}

/** The operations under `charges`. */
export interface Charges extends ChargesOperations {
  /**
   * Asks for a charge until it has this status, one of these, or is as the function wants: at once, then after 30 s,
   * 60 s, 90 s and so on, and once more when `waitMs` is over. Webhooks tell sooner; a key that polls more often may be
   * suspended. A function that no status fulfils waits until the charge is final or `expired`.
   *
   * `expired` ends the wait as over: a charge that is paid late all the same is told by webhook only. A question without
   * an answer, or answered with 429 or 5xx, is asked again after the next wait; its error is the wait's where `waitMs` is
   * over. Any other error ends the wait at once.
   *
   * @throws {WaitError} when the charge can no longer become so, or `waitMs` is over
   * @throws {UsageError} when `waitMs` is negative or no number
   */
  readonly waitUntil: (id: string, condition: ChargeCondition, options?: WaitOptions) => Promise<Charge>
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
  declare readonly payouts: PayoutsOperations
  /** What the account has. */
  declare readonly balance: BalanceOperations
  /** The account that owns the key. */
  declare readonly account: AccountOperations
  /** Registered webhook endpoints, and the events there are. */
  declare readonly webhooks: WebhooksOperations

  /** @throws {UsageError} when an option is missing or malformed */
  constructor(options: PaymentsOptions) {
    const config = configOf(options)
    for (const [group, members] of Object.entries(routes)) {
      const operations: Record<string, unknown> = {}
      for (const [name, route] of Object.entries(members)) {
        operations[name] = caller(config, `${group}.${name}`, route)
      }
      Object.assign(this, { [group]: operations })
    }
    const { retrieve } = this.charges
    Object.assign(this.charges, {
      waitUntil: (...parameters: Parameters<Charges["waitUntil"]>) => waitUntil(retrieve, ...parameters)
    })
  }
}

const configOf = (options: PaymentsOptions): Config => {
  const usage = (message: string) => new UsageError(message, { operation: "new Payments", attempts: 0 })
  const { apiKey, baseUrl, fetch, headers, hooks = {}, maxRetries = 2, timeoutMs = 30_000 } = options
  const wrong = wrongConnection(baseUrl, apiKey) ?? whatIsWrong({ timeoutMs, maxRetries, headers })
  if (wrong !== undefined) throw usage(wrong)
  if (typeof Reflect.get(globalThis, "document") === "object" && options.dangerouslyAllowBrowser !== true) {
    throw usage("an API key moves money and must not be in a browser; see dangerouslyAllowBrowser")
  }
  return {
    apiKey,
    baseUrl: bareUrl(baseUrl),
    // Looked up at each call, so that what replaces it later is used.
    fetch: fetch ?? ((...parameters) => globalThis.fetch(...parameters)),
    timeoutMs,
    maxRetries,
    headers,
    hooks
  }
}

/** The function of one operation; its signature is the generated one. */
const caller =
  (config: Config, name: string, route: Route) =>
  (...parameters: ReadonlyArray<unknown>): unknown => {
    const rest = [...parameters]
    const id = route.id ? rest.shift() : undefined
    const body = route.body ? (rest.shift() ?? {}) : undefined
    const query = route.query ? (rest.shift() as PageQuery | undefined) : undefined
    const options: CreateOptions = rest[0] ?? {}
    if (route.list) {
      return new PageCall(query ?? {}, (page) =>
        send<Page<unknown>>(config, { name, route, query: route.query && page }, options)
      )
    }
    const { idempotencyKey: own } = options
    // One that is `null` is no wish for another: it is refused.
    const idempotencyKey = route.keyed ? (own === undefined ? crypto.randomUUID() : own) : undefined
    const answered: Promise<WithResponse<unknown>> = send(config, { name, route, id, body, idempotencyKey }, options)
    // It may fail before anybody waits for it, who is told then.
    answered.catch(() => {})
    return new Call(() => answered, idempotencyKey)
  }
