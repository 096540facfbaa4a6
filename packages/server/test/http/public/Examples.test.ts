/**
 * The examples of `/openapi.json`: what the service was sent, answered and delivered, in `packages/api/examples.json`.
 *
 * `WRITE_EXAMPLES=1` writes the file. Without it the service's answers are compared with it, but for ids, instants and BR codes.
 */
import { assert, layer } from "@effect/vitest"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import type { Examples } from "@pix-payments/api/PaymentsDocument"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as fs from "node:fs"
import { unknownId } from "../../support/Declared.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { operated, paidCharge, payoutReaching, simulated } from "../../support/Money.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import {
  type Answer,
  type CallOptions,
  type Fields,
  newKey,
  type TestCaller,
  TestService
} from "../../support/TestService.ts"

const file = new URL("../../../../api/examples.json", import.meta.url)

const customer = {
  name: "Ana Souza",
  email: "ana@example.com",
  document: "529.982.247-25",
  phone: "+5511987654321"
}

/** An accepted body of each operation that takes one. */
const requests = {
  "charges.create": {
    amount: 1990,
    customer,
    description: "Order 1001",
    reference: "order-1001",
    expires_in: 3600,
    webhook_url: "https://shop.example.com/webhooks",
    webhook_secret: "a-long-random-secret-of-the-shop"
  },
  "payouts.create": {
    amount: 50_000,
    pix_key_type: "email",
    pix_key: "bruno@example.com",
    recipient_name: "Bruno Lima",
    recipient_document: "111.444.777-35",
    description: "Delivery of October",
    reference: "payout-77"
  },
  "webhooks.create": {
    url: "https://shop.example.com/webhooks",
    events: ["charge.pix.paid", "charge.pix.refunded"],
    description: "Orders of the shop",
    secret: "a-long-random-secret-of-the-shop"
  },
  "webhooks.update": { active: false }
}

/** What each operation sends to be refused with a code, besides what all of them are refused for. */
const refusedFor: Readonly<Record<keyof typeof requests, Readonly<Record<string, Fields>>>> = {
  "charges.create": {
    VALIDATION_ERROR: { amount: 19.9, expires_in: 3_600_000 },
    METHOD_NOT_SUPPORTED: { method: "boleto" },
    AMOUNT_BELOW_MINIMUM: { amount: 19 },
    INVALID_DOCUMENT: { customer: { ...customer, document: "529.982.247-26" } },
    INVALID_WEBHOOK_URL: { webhook_url: "http://192.168.0.10/webhooks" },
    ACQUIRER_REJECTED: { customer: { ...customer, email: "refuse@simulator.test" } }
  },
  "payouts.create": {
    VALIDATION_ERROR: { pix_key: "bruno" },
    METHOD_NOT_SUPPORTED: { method: "ted" },
    AMOUNT_BELOW_MINIMUM: { amount: 50 },
    INVALID_DOCUMENT: { recipient_document: "111.444.777-36" },
    INVALID_WEBHOOK_URL: { webhook_url: "http://192.168.0.10/webhooks" },
    INSUFFICIENT_BALANCE: { amount: 5_000_000 }
  },
  "webhooks.create": {
    VALIDATION_ERROR: { events: [] },
    INVALID_WEBHOOK_EVENT: { events: ["charge.paid"] },
    INVALID_WEBHOOK_URL: { url: "http://192.168.0.10/webhooks" }
  },
  "webhooks.update": {
    VALIDATION_ERROR: { active: "no" },
    INVALID_WEBHOOK_EVENT: { events: ["charge.paid"] },
    INVALID_WEBHOOK_URL: { url: "http://192.168.0.10/webhooks" }
  }
}

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Examples", (it) => {
  it.effect("ADD-3, ERR-1: the examples of the document are what the service is sent, answers and delivers", () =>
    Effect.gen(function* () {
      const recorded = yield* record
      if (process.env["WRITE_EXAMPLES"] === "1") fs.writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`)
      const committed: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
      assert.deepStrictEqual(lasting(committed), lasting(recorded), "WRITE_EXAMPLES=1 writes them")
    }).pipe(Effect.scoped)
  )
})

const record = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const caller = yield* makeCaller()
  const { answers, events } = yield* recordAnswers(caller)
  return {
    requests,
    answers,
    errors: yield* recordErrors(caller),
    commonErrors: yield* recordCommonErrors(caller),
    events
  } satisfies Examples
})

const recordAnswers = Effect.fnUntraced(function* ({ key }: TestCaller) {
  const { call } = yield* TestService
  const { received, url } = yield* receiver()
  const answers: Record<string, unknown> = {}
  const keep = (id: string, answer: Answer<Fields>) => {
    assert.isBelow(answer.status, 300, `${id}: ${answer.text}`)
    answers[id] = answer.body
    return answer.body
  }
  const send = (method: string, path: string, body?: unknown) =>
    call(method, path, { key, body, ...(method === "POST" ? { idempotencyKey: newKey() } : {}) })

  const listening = { url, events: ["charge.pix.paid", "payment.pix.processing", "dispute.pix.opened"] }
  assert.strictEqual((yield* send("POST", "/v1/webhooks", listening)).status, 201)
  const [contested] = yield* Effect.forEach([7000, 200_000], (amount) => paidCharge(key, amount))
  const charge = keep("charges.create", yield* send("POST", "/v1/charges", requests["charges.create"]))
  yield* simulated(`/charges/${String(charge["id"])}/pay`)
  keep("charges.retrieve", yield* send("GET", `/v1/charges/${String(charge["id"])}`))
  keep("charges.list", yield* send("GET", "/v1/charges?limit=1"))
  const payout = keep("payouts.create", yield* send("POST", "/v1/payouts", requests["payouts.create"]))
  yield* payoutReaching(key, String(payout["id"]), "completed")
  keep("payouts.retrieve", yield* send("GET", `/v1/payouts/${String(payout["id"])}`))
  keep("payouts.list", yield* send("GET", "/v1/payouts?limit=1"))
  keep("balance.retrieve", yield* send("GET", "/v1/balance"))
  keep("account.retrieve", yield* send("GET", "/v1/account"))
  yield* simulated(`/charges/${contested!.id}/infraction`, { reason: "fraud" }, 201)

  const endpoint = keep("webhooks.create", yield* send("POST", "/v1/webhooks", requests["webhooks.create"]))
  const path = `/v1/webhooks/${String(endpoint["id"])}`
  const list = keep("webhooks.list", yield* send("GET", "/v1/webhooks"))
  // The other one listens for this test.
  answers["webhooks.list"] = { ...list, data: [endpoint] }
  keep("webhooks.update", yield* send("PATCH", path, requests["webhooks.update"]))
  assert.strictEqual((yield* send("DELETE", path)).status, 204)
  const catalog = keep("webhooks.events", yield* send("GET", "/v1/webhooks/events"))
  answers["webhooks.events"] = { ...catalog, data: (catalog["data"] as ReadonlyArray<unknown>).slice(0, 2) }

  const delivered = (event: string, id: unknown) =>
    Effect.map(
      eventually(
        Effect.sync(() =>
          received.find(({ body }) => body.event === event && (id === undefined || body.data.id === id))
        ),
        (found) => found !== undefined
      ),
      (found) => found?.body
    )
  return {
    answers,
    events: {
      charge: yield* delivered("charge.pix.paid", charge["id"]),
      payment: yield* delivered("payment.pix.processing", payout["id"]),
      dispute: yield* delivered("dispute.pix.opened", undefined)
    }
  }
})

const recordErrors = Effect.fnUntraced(function* ({ accountId, applicationId, key }: TestCaller) {
  const { call, makeKey } = yield* TestService
  const endpoint = yield* call("POST", "/v1/webhooks", { key, body: requests["webhooks.create"] })
  const ofBalance = yield* makeKey(applicationId, { scopes: ["balance:read"] })
  const ofAccount = yield* makeKey(applicationId, { scopes: ["account:read"] })
  const errors: Record<string, Record<string, unknown>> = {}
  const refuse = (id: string, code: string, options: CallOptions, target = calls[id]!) =>
    Effect.map(
      call(
        target.method,
        target.path.replace("{id}", target.path.includes("webhooks") ? String(endpoint.body["id"]) : unknownId),
        {
          key,
          ...options
        }
      ),
      ({ body, text }) => {
        assert.strictEqual(body["code"], code, `${id}: ${text}`)
        errors[id] = { ...errors[id], [code]: body }
      }
    )
  const creation = (id: string): CallOptions =>
    id.endsWith("s.create") && !id.startsWith("webhooks") ? { idempotencyKey: newKey() } : {}
  const bodyOf = (id: string): CallOptions => (id in requests ? { body: requests[id as keyof typeof requests] } : {})

  for (const [id, { method, path }] of Object.entries(calls)) {
    if (id !== "webhooks.events") {
      const other = id === "balance.retrieve" ? ofAccount : ofBalance
      yield* refuse(id, "INSUFFICIENT_SCOPE", { ...creation(id), ...bodyOf(id), key: other.key })
    }
    if (id.endsWith(".list") && id !== "webhooks.list") {
      yield* refuse(id, "VALIDATION_ERROR", {}, { method, path: `${path}?limit=500&status=open` })
    }
  }
  for (const [id, fields] of Object.entries(refusedFor)) {
    for (const [code, changed] of Object.entries(fields)) {
      const body = { ...requests[id as keyof typeof requests], ...changed }
      yield* refuse(id, code, { ...creation(id), body })
    }
  }
  for (const id of ["charges.create", "payouts.create"]) yield* refuse(id, "IDEMPOTENCY_KEY_REQUIRED", bodyOf(id))
  yield* operated("PATCH", `/accounts/${accountId}`, { onboarding_status: "in_review" })
  yield* refuse("payouts.create", "ACCOUNT_RESTRICTED", { ...creation("payouts.create"), ...bodyOf("payouts.create") })
  yield* operated("PATCH", `/accounts/${accountId}`, { status: "inactive", onboarding_status: "completed" })
  for (const id of ["charges.create", "payouts.create"]) {
    yield* refuse(id, "ACCOUNT_INACTIVE", { ...creation(id), ...bodyOf(id) })
  }
  yield* operated("PATCH", `/accounts/${accountId}`, { status: "active" })
  return errors
})

/** The errors that say the same whatever is called. */
const recordCommonErrors = Effect.fnUntraced(function* ({ key }: TestCaller) {
  const { call, makeApplication, makeCaller, makeKey } = yield* TestService
  const sql = yield* SqlClient
  const idempotencyKey = newKey()
  const errors: Record<string, unknown> = {}
  const keep = (code: string, { body, status, text }: Answer<Fields>) => {
    assert.strictEqual(body["code"], code, text)
    assert.strictEqual(status, errorCodes[code as keyof typeof errorCodes].status)
    errors[code] = body
  }
  keep("UNAUTHORIZED", yield* call("GET", "/v1/balance", { key: "revoked" }))
  for (const [code, path] of [
    ["CHARGE_NOT_FOUND", "charges"],
    ["PAYOUT_NOT_FOUND", "payouts"]
  ] as const) {
    keep(code, yield* call("GET", `/v1/${path}/${unknownId}`, { key }))
  }
  keep("WEBHOOK_NOT_FOUND", yield* call("DELETE", `/v1/webhooks/${unknownId}`, { key }))
  keep("PAYLOAD_TOO_LARGE", yield* call("POST", "/v1/charges", { key, idempotencyKey, body: " ".repeat(300_000) }))
  keep("NOT_FOUND", yield* call("GET", "/v1/refunds", { key }))
  keep("METHOD_NOT_ALLOWED", yield* call("PUT", "/v1/charges", { key }))
  const { accountId } = yield* makeCaller()
  const limited = yield* makeKey(yield* makeApplication(accountId))
  yield* operated("PATCH", `/keys/${limited.keyId}`, { limits: { requests_per_minute: 1 } })
  yield* call("GET", "/v1/balance", { key: limited.key })
  keep("RATE_LIMITED", yield* call("GET", "/v1/balance", { key: limited.key }))
  // The service waits five seconds for a lock.
  const unavailable = sql`LOCK TABLE charges IN ACCESS EXCLUSIVE MODE`.pipe(
    Effect.andThen(call("GET", "/v1/charges", { key })),
    sql.withTransaction
  )
  keep("SERVICE_UNAVAILABLE", yield* unavailable)
  yield* changeSchema(`ALTER TABLE charges RENAME TO charges_away`)
  const failed = yield* call("GET", "/v1/charges", { key })
  yield* changeSchema(`ALTER TABLE charges_away RENAME TO charges`)
  keep("INTERNAL_ERROR", failed)
  return errors
})

const calls: Readonly<Record<string, { readonly method: string; readonly path: string }>> = {
  "charges.create": { method: "POST", path: "/v1/charges" },
  "charges.retrieve": { method: "GET", path: "/v1/charges/{id}" },
  "charges.list": { method: "GET", path: "/v1/charges" },
  "payouts.create": { method: "POST", path: "/v1/payouts" },
  "payouts.retrieve": { method: "GET", path: "/v1/payouts/{id}" },
  "payouts.list": { method: "GET", path: "/v1/payouts" },
  "balance.retrieve": { method: "GET", path: "/v1/balance" },
  "account.retrieve": { method: "GET", path: "/v1/account" },
  "webhooks.list": { method: "GET", path: "/v1/webhooks" },
  "webhooks.create": { method: "POST", path: "/v1/webhooks" },
  "webhooks.update": { method: "PATCH", path: "/v1/webhooks/{id}" },
  "webhooks.delete": { method: "DELETE", path: "/v1/webhooks/{id}" },
  "webhooks.events": { method: "GET", path: "/v1/webhooks/events" }
}

/** Examples without what differs each time: ids, instants and what contains them. */
const lasting = (value: unknown): unknown => {
  if (typeof value === "string") {
    for (const [what, pattern] of differing) if (pattern.test(value)) return what
    return value
  }
  if (Array.isArray(value)) return value.map(lasting)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, lasting(field)]))
}

const differing = [
  ["id", /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
  ["instant", /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/],
  ["BR code", /^000201.*6304[0-9A-F]{4}$/],
  ["end-to-end id", /^[ED]\d{20}\w{11}$/]
] as const
