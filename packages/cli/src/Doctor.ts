/**
 * `pix doctor`: whether a shop is set up. CLI-32.
 *
 * Guarantees:
 * - Nothing is created or changed: scopes that write are seen from what the service refuses first.
 * - A check that depends on one that failed is left out. Each that fails says what to do.
 * - The receiver gets a test delivery only, which no handler takes for money.
 */
import { Payments, type PaymentsOptions } from "@pix-payments/client"
import { signForTest } from "@pix-payments/client/testing"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { exitCodes, Failure, usage } from "./Failure.ts"
import { type Row, showTable, wantsJson, writeJson } from "./Output.ts"
import { variable } from "./Profile.ts"
import { type Shop, shopOf, unsafe } from "./Shop.ts"

interface Check {
  readonly check: string
  readonly ok: boolean
  /** What was found, or what to do. */
  readonly says: string
}

const TIMEOUT_MS = 10_000
/** Receivers accept attempts of the last five minutes: a clock that is off by more refuses all. */
const MAX_CLOCK_MS = 60_000

interface Answered {
  readonly status: number
  readonly code: string | undefined
  readonly body: unknown
  readonly date: string | null
  readonly location: string | undefined
}

const ask = async ({ key, url }: Shop, method: string, path: string): Promise<Answered> => {
  const response = await fetch(url.replace(/\/+$/, "") + path, {
    method,
    headers: { "x-api-key": key, ...(method === "POST" ? { "content-type": "application/json" } : {}) },
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(method === "POST" ? { body: "{}" } : {})
  })
  const body: unknown = await response.json().catch(() => undefined)
  const { headers, status } = response
  // Without its query, which may have secrets.
  const location = headers.get("location")?.split("?")[0]
  return { status, code: Object(body).code, body, date: headers.get("date"), location }
}

/** What the client refuses in the shop's variables: it has read them with white space and all. */
const refusedByClient = (check: string, options: PaymentsOptions): ReadonlyArray<Check> => {
  try {
    void new Payments({ baseUrl: "https://pix.example.com", apiKey: "pix_", ...options })
    return []
  } catch (error) {
    const says = String(Object(error).message).replace("baseUrl", "PAYMENTS_URL").replace("apiKey", "PAYMENTS_API_KEY")
    return [{ check, ok: false, says }]
  }
}

const causeOf = (error: unknown): string => String(Object(Object(error).cause).code ?? Object(error).name)

/** The routes that show each scope. A POST of `{}` without a key is refused after its scope was checked. */
const scopes = [
  ["charge:read", "GET", "/v1/charges?limit=1"],
  ["charge:write", "POST", "/v1/charges"],
  ["payout:read", "GET", "/v1/payouts?limit=1"],
  ["payout:write", "POST", "/v1/payouts"],
  ["balance:read", "GET", "/v1/balance"],
  ["account:read", "GET", "/v1/account"],
  ["webhook:read", "GET", "/v1/webhooks"],
  ["webhook:write", "POST", "/v1/webhooks"]
] as const

/** What most shops need. */
const NEEDED: ReadonlyArray<string> = ["charge:read", "charge:write"]

const serviceChecks = async (shop: Shop, nowMs: () => number): Promise<ReadonlyArray<Check>> => {
  const refused = [
    ...refusedByClient("url", { baseUrl: shop.url }),
    ...refusedByClient("key", { apiKey: process.env["PAYMENTS_API_KEY"] })
  ]
  if (refused.length > 0) return refused
  const problem = unsafe(shop)
  if (problem !== undefined) return [{ check: "url", ok: false, says: problem }]
  let first: Answered
  try {
    first = await ask(shop, "GET", "/v1/webhooks/events")
  } catch (error) {
    return [{ check: "url", ok: false, says: `Nothing answers at ${shop.url} (${causeOf(error)}): check PAYMENTS_URL` }]
  }
  const { body, date, status } = first
  if (status !== 401 && Object(body).object !== "list") {
    return [{ check: "url", ok: false, says: `${shop.url} ${anotherListener(first)}` }]
  }
  const offMs = date === null ? 0 : nowMs() - Date.parse(date)
  const isClockRight = Math.abs(offMs) < MAX_CLOCK_MS
  const found: Array<Check> = [
    { check: "url", ok: true, says: shop.url },
    {
      check: "clock",
      ok: isClockRight,
      says: isClockRight
        ? "agrees with the service's"
        : `is ${Math.round(Math.abs(offMs) / 1000)} s ${offMs > 0 ? "ahead of" : "behind"} the service's: synchronize it, or webhooks are refused`
    },
    status === 401
      ? { check: "key", ok: false, says: "is not accepted: it is revoked, expired, of another installation, or cut" }
      : { check: "key", ok: true, says: "is accepted" }
  ]
  if (status === 401) return found
  const allowed = new Map<string, Answered>()
  try {
    for (const [scope, method, path] of scopes) {
      const answer = await ask(shop, method, path)
      if (answer.status !== 403) allowed.set(scope, answer)
    }
  } catch (error) {
    return [
      ...found,
      { check: "scopes", ok: false, says: `The service answers no more (${causeOf(error)}): try again` }
    ]
  }
  const missing = NEEDED.filter((scope) => !allowed.has(scope))
  found.push(
    missing.length === 0
      ? { check: "scopes", ok: true, says: [...allowed.keys()].join(", ") }
      : { check: "scopes", ok: false, says: `${missing.join(", ")} missing: create a key that has them` }
  )
  const listed = allowed.get("webhook:read")
  return listed === undefined ? found : [...found, endpointCheck(Object(listed.body).data)]
}

/** What answers in the place of `/v1`. */
const anotherListener = ({ code, location, status }: Answered): string => {
  if (status >= 500) return `answers ${status}: the service, or a proxy before it, fails`
  const why =
    code === "NOT_FOUND"
      ? "it is the operators' listener, or has a path too many"
      : `it answers ${status}${location === undefined ? "" : `, a redirect to ${location}`}`
  return `is not the listener of /v1: ${why}`
}

const endpointCheck = (endpoints: ReadonlyArray<Row>): Check => {
  const check = "endpoint"
  const ready = endpoints.filter(
    ({ active, events }) => active === true && Array.isArray(events) && events.includes("charge.pix.paid")
  )
  if (ready.length === 0) {
    const says = "none is active and subscribed to charge.pix.paid: create one, or give charges a webhook_url"
    return { check, ok: false, says }
  }
  const unsigned = ready.filter(({ has_secret }) => has_secret !== true)
  return unsigned.length === 0
    ? { check, ok: true, says: ready.map(({ url }) => String(url)).join(", ") }
    : { check, ok: false, says: `${String(unsigned[0]!["url"])} has no secret: its deliveries are not signed` }
}

/** Sends a delivery that the receiver must accept, and one that it must refuse. */
const receiverChecks = async (to: string, secret: string): Promise<ReadonlyArray<Check>> => {
  const event = {
    id: crypto.randomUUID(),
    object: "event",
    event: "charge.pix.paid",
    resource: "charge",
    method: "pix",
    action: "paid",
    created_at: "2026-01-01T00:00:00.000Z",
    sequence: 1,
    data: { id: crypto.randomUUID(), object: "charge", test: true, status: "canceled", amount: 1, currency: "BRL" }
  }
  const send = async (by: string): Promise<number | string> => {
    const delivery = await signForTest({ event, secret: by })
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      return (await fetch(to, { method: "POST", ...delivery, redirect: "manual", signal })).status
    } catch (error) {
      return causeOf(error)
    }
  }
  const right = await send(secret)
  if (typeof right === "string") return [{ check: "receiver", ok: false, says: `Nothing answers at ${to} (${right})` }]
  const forged = await send(`${secret}, but another`)
  const isAccepted = right >= 200 && right < 300
  const isRefused = forged === 401
  return [
    {
      check: "signature",
      ok: isAccepted,
      says: isAccepted
        ? `a signed test is answered ${right}`
        : `a signed test is answered ${right}: compare the secrets, and verify the raw body`
    },
    {
      check: "forgery",
      ok: isRefused,
      says: isRefused ? "is answered 401" : `is answered ${forged}: verify each delivery, and answer 401`
    }
  ]
}

export const doctorCommand = Command.make(
  "doctor",
  {
    receiver: Flag.String("receiver").pipe(
      Flag.withDescription("The URL of your receiver, which gets a signed test and a forgery. Needs WEBHOOK_SECRET"),
      Flag.optional
    )
  },
  ({ receiver }) =>
    Effect.gen(function* () {
      const shop = shopOf()
      if (shop === undefined) {
        return yield* usage(
          "Set PAYMENTS_API_KEY to your key, and PAYMENTS_URL to the service (http://127.0.0.1:3000)."
        )
      }
      const to = Option.getOrUndefined(receiver)
      const secret = variable("WEBHOOK_SECRET")
      if (to !== undefined && (secret === undefined || !URL.canParse(to))) {
        return yield* usage("--receiver needs a URL, and WEBHOOK_SECRET set to the secret of the endpoint.")
      }
      const checks = yield* Effect.promise(async () => [
        // @effect-diagnostics-next-line globalDate:off -- the clock of the machine is what is checked
        ...(await serviceChecks(shop, () => Date.now())),
        ...(to === undefined || secret === undefined ? [] : await receiverChecks(to, secret))
      ])
      if (yield* wantsJson) writeJson({ object: "list", data: checks })
      else showTable(checks.map(({ check, ok, says }) => ({ check, state: ok ? "ok" : "wrong", says })))
      const wrong = checks.filter(({ ok }) => !ok)
      if (wrong.length > 0) {
        return yield* new Failure({
          message: wrong.map(({ check, says }) => `${check}: ${says}`).join("\n"),
          exitCode: exitCodes.negative
        })
      }
    })
).pipe(
  Command.withDescription("Check a shop's set-up: URL, clock, key, scopes, endpoint and receiver"),
  Command.withExamples([
    { command: "pix doctor" },
    { command: "pix doctor --receiver http://localhost:4000/webhooks", description: "With a signed test and a forgery" }
  ])
)
