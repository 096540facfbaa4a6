/** The request log and the audit log. */
import { allScopes } from "@pix-payments/domain/Scope"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create } from "../support/ChargeDeliveries.ts"
import { assertRefused, instant, uuid7 } from "../support/ChargeRequests.ts"
import { makeOperator, signIn } from "../support/Operators.ts"
import { eventually, loopback } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { type Key, type List, someAccount } from "../support/Operator.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Logs", (it) => {
  it.effect("ERR-12, OPR-31: records every request of /v1, and when a key was last used", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { applicationId, key, keyId } = yield* makeCaller()
      const headers = { "x-request-id": "my-request-1" }
      const created = yield* create({ key })
      assert.strictEqual(
        (yield* call("GET", `/v1/charges/${created.body.id}`, { key, headers })).headers["x-request-id"],
        "my-request-1"
      )
      yield* call("GET", "/v1/charges?limit=x", { key })
      yield* call("GET", "/v1/account", { key: "nobody's", headers: { "x-request-id": "my-request-2" } })
      const logged = (query: string, count: number) =>
        Effect.map(
          eventually(
            operate<List<LoggedRequest>>("GET", `/operator/v1/requests?${query}`),
            ({ body }) => body.data.length === count
          ),
          ({ body }) => body.data
        )
      const mine = yield* logged(`key_id=${keyId}`, 3)
      assert.deepStrictEqual(
        mine.map(({ key_id, object, route, status }) => ({ key_id, object, route, status })),
        [
          { key_id: keyId, object: "request", route: "GET /v1/charges", status: 400 },
          { key_id: keyId, object: "request", route: "GET /v1/charges/{id}", status: 200 },
          { key_id: keyId, object: "request", route: "POST /v1/charges", status: 201 }
        ]
      )
      for (const { created_at, duration_ms, id } of mine) {
        assert.match(created_at, instant)
        assert.match(id, uuid7)
        assert.isTrue(Number.isInteger(duration_ms) && duration_ms >= 0)
      }
      assert.strictEqual(mine[1]?.request_id, "my-request-1")
      assert.strictEqual(mine[2]?.request_id, created.headers["x-request-id"])
      assert.deepStrictEqual(
        (yield* logged(`key_id=${keyId}&status=400`, 1)).map(({ id }) => id),
        [mine[0]?.id]
      )
      assert.deepStrictEqual(
        (yield* logged(`key_id=${keyId}&route=POST%20/v1/charges`, 1)).map(({ id }) => id),
        [mine[2]?.id]
      )
      const refused = (yield* eventually(
        operate<List<LoggedRequest>>("GET", "/operator/v1/requests?status=401"),
        ({ body }) => body.data.some(({ request_id }) => request_id === "my-request-2")
      )).body.data.find(({ request_id }) => request_id === "my-request-2")
      assert.deepInclude<unknown>(refused, { key_id: null, route: "GET /v1/account" })

      const lastUsed = Effect.map(
        operate<List<Key>>("GET", `/operator/v1/applications/${applicationId}/keys`),
        ({ body }) => String(body.data[0]?.last_used_at)
      )
      const first = yield* lastUsed
      assert.strictEqual(first, mine[0]?.created_at)
      yield* call("GET", "/v1/account", { key })
      yield* eventually(lastUsed, (at) => at > first)
    })
  )

  it.effect("OPR-12: records every change of an operator, and no refused one", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const steps: Array<readonly [string, string | undefined, string]> = []
      const step = <A extends { readonly id: string }>(action: string, method: string, path: string, body?: unknown) =>
        Effect.gen(function* () {
          const requestId = newKey()
          const answer = yield* operate<A & { key: string }>(method, `/operator/v1/${path}`, {
            body,
            headers: { "x-request-id": requestId }
          })
          assert.include([200, 201], answer.status, answer.text)
          steps.unshift([action, answer.body.id, requestId])
          return answer.body
        })
      const account = yield* step("accounts.create", "POST", "accounts", someAccount)
      yield* step("accounts.update", "PATCH", `accounts/${account.id}`, { name: "B" })
      const application = yield* step("applications.create", "POST", `accounts/${account.id}/applications`, {
        name: "A"
      })
      yield* step("applications.update", "PATCH", `applications/${application.id}`, { name: "C" })
      const key = yield* step("keys.create", "POST", `applications/${application.id}/keys`, {
        name: "k",
        scopes: allScopes
      })
      const paid = (yield* create({ key: key.key })).body.id
      const failed = (yield* create({ key: key.key })).body.id
      yield* step("simulatorCharges.pay", "POST", `simulator/charges/${paid}/pay`)
      yield* step("simulatorCharges.fail", "POST", `simulator/charges/${failed}/fail`)
      yield* step("keys.revoke", "POST", `keys/${key.id}/revoke`)

      for (const [method, path, body] of [
        ["POST", "accounts", {}],
        ["PATCH", `accounts/${account.id}`, { name: 1 }],
        ["POST", `simulator/charges/${failed}/fail`],
        ["POST", `keys/${paid}/revoke`],
        ["GET", `accounts/${account.id}`]
      ] as const) {
        yield* operate(method, `/operator/v1/${path}`, { body })
      }
      const { body } = yield* operate<List<AuditEntry>>("GET", `/operator/v1/audit?limit=${steps.length}`)
      assert.deepStrictEqual<unknown>(
        body.data.map(({ action, request_id, resource_id }) => [action, resource_id, request_id]),
        steps
      )
      for (const entry of body.data) {
        assert.deepInclude<unknown>(entry, { object: "audit_entry", operator: "operator" })
        assert.match(entry.created_at, instant)
      }
      const after = yield* operate<List<AuditEntry>>(
        "GET",
        `/operator/v1/audit?limit=1&starting_after=${body.data[1]?.id}`
      )
      assert.deepStrictEqual(after.body.data[0], body.data[2])
    })
  )

  it.effect("OPR-50: an entry says who, how, from where, and what changed", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, applicationId } = yield* makeCaller()
      const { id, token } = yield* makeOperator("admin")
      const { call } = yield* signIn(token)
      const from = "127.0.7.1"
      const path = `/operator/v1/accounts/${accountId}`
      const newest = Effect.map(
        operate<List<Record<string, unknown>>>("GET", "/operator/v1/audit?limit=1"),
        ({ body }) => body.data[0] ?? {}
      )
      const fee = { fixed: 100, basis_points: 5 }
      yield* call("PATCH", path, { body: { name: "Nova", payout_fee: fee }, from })
      assert.deepInclude<unknown>(yield* newest, {
        operator: "admin",
        operator_id: id,
        via: "session",
        address: from,
        action: "accounts.update",
        resource_id: accountId,
        before: { name: "Padaria do Zé", payout_fee: { fixed: 0, basis_points: 0 } },
        after: { name: "Nova", payout_fee: fee }
      })
      yield* operate("PATCH", path, { body: { charges_paused: true }, headers: { "x-operator-token": token }, from })
      assert.deepInclude<unknown>(yield* newest, {
        operator_id: id,
        via: "token",
        before: { charges_paused: false },
        after: { charges_paused: true }
      })
      yield* operate("PATCH", path, { body: { charges_paused: false } })
      assert.deepInclude<unknown>(yield* newest, { operator: "operator", operator_id: null, via: "installation" })

      const changed = yield* makeOperator("viewer")
      yield* operate("PATCH", `/operator/v1/operators/${changed.id}`, { body: { role: "operator" } })
      assert.deepInclude<unknown>(yield* newest, { before: { role: "viewer" }, after: { role: "operator" } })

      const payout = yield* operate<{ id: string }>("POST", `${path}/payouts`, {
        body: { amount: 500, pix_key_type: "email", pix_key: "a@example.com", webhook_secret: "a secret" }
      })
      // The balance does not cover it: a refused call leaves no entry.
      assert.strictEqual(payout.status, 400)
      assert.deepInclude<unknown>(yield* newest, { action: "operators.update" })
      const charge = {
        amount: 1000,
        webhook_secret: "a secret",
        customer: { name: "A", email: "a@b.co", document: "52998224725" }
      }
      const checkout = yield* operate("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
        body: charge
      })
      assert.strictEqual(checkout.status, 201, checkout.text)
      const { webhook_secret: _, ...shown } = charge
      assert.deepInclude<unknown>(yield* newest, { before: null, after: shown })
      const key = yield* operate<Key>("POST", `/operator/v1/applications/${applicationId}/keys`, {
        body: { name: "k", scopes: ["charge:read"] }
      })
      assert.deepInclude<unknown>(yield* newest, { after: { name: "k", scopes: ["charge:read"] } })
      const { text } = yield* operate("GET", "/operator/v1/audit?limit=100")
      for (const secret of [key.body.key, token, changed.token, "a secret"]) assert.notInclude(text, secret)
    })
  )

  it.effect(
    "OPR-51: the audit log is exported as JSON Lines, oldest first, and a range that is too long is refused",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const sql = yield* SqlClient
        const { call } = yield* makeOperator("operator")
        yield* sql`INSERT INTO audit (id, operator, action, request_id, at)
        SELECT (lpad(to_hex(1577836800000 + n), 12, '0') || '70008000000000000000')::uuid, 'a', 'keys.revoke', n::text,
          to_timestamp(1577836800 + n / 1000.0) FROM generate_series(1, 1200) n`
        const path = "/operator/v1/audit/export"
        const lines = (query: string) =>
          Effect.map(call("GET", `${path}?${query}`), ({ headers, status, text }) => {
            assert.strictEqual(status, 200, text)
            assert.strictEqual(headers["content-type"], "application/jsonl")
            return text
              .trim()
              .split("\n")
              .map((line): Record<string, unknown> => JSON.parse(line))
          })
        const all = yield* lines("created_before=2021-01-01T00:00:00Z")
        assert.deepStrictEqual(all.pop(), { object: "audit_export", entries: 1200 })
        assert.deepStrictEqual(
          all.map((line) => line["request_id"]),
          Array.from({ length: 1200 }, (_, index) => String(index + 1))
        )
        const some = yield* lines("created_after=2020-01-01T00:00:00.100Z&created_before=2020-01-01T00:00:00.200Z")
        assert.deepStrictEqual([some[0]?.["request_id"], some.at(-1)?.["entries"]], ["101", 99])
        assertRefused(yield* call("GET", `${path}?created_after=x`), "VALIDATION_ERROR", ["created_after"])
        assertRefused(yield* (yield* makeOperator("developer")).call("GET", path), "FORBIDDEN")

        yield* sql`INSERT INTO audit (id, operator, action, request_id, at)
        SELECT (lpad(to_hex(1577836900000 + n), 12, '0') || '70008000000000000000')::uuid, 'a', 'keys.revoke', n::text, now()
        FROM generate_series(1, 100000) n`
        assertRefused(yield* operate("GET", path), "VALIDATION_ERROR", ["created_after", "created_before"])
      })
  )
})

interface LoggedRequest {
  readonly id: string
  readonly object: string
  readonly request_id: string
  readonly key_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_ms: number
  readonly created_at: string
}

interface AuditEntry {
  readonly id: string
  readonly action: string
  readonly resource_id: string
  readonly request_id: string
  readonly created_at: string
}
