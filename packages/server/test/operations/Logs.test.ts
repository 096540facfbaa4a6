/** The request log and the audit log. */
import { allScopes } from "@pix-payments/domain/Scope"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { create } from "../support/ChargeDeliveries.ts"
import { instant, uuid7 } from "../support/ChargeRequests.ts"
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
        ["POST", `simulator/charges/${paid}/pay`],
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
