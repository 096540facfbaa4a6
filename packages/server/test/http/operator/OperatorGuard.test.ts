/** The credentials of the operator listener. Without one it is closed, except for health and metrics. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create, settled } from "../../support/ChargeDeliveries.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { makeOperator, sameOrigin, signIn } from "../../support/Operators.ts"
import { parseExposition, sumOf } from "../../support/Prometheus.ts"
import { loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Credentials", (it) => {
  it.effect("OPR-2: refuses every call without the token", () =>
    Effect.gen(function* () {
      const { makeCaller, operate, operatorToken } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      for (const token of [undefined, "", "wrong", `${operatorToken}x`, operatorToken.slice(1), key]) {
        for (const [method, path, body] of [
          ["GET", "/operator/v1/accounts"],
          ["POST", "/operator/v1/accounts", { not: "looked at" }],
          ["PATCH", `/operator/v1/accounts/${accountId}`, { name: "taken over" }],
          ["GET", "/operator/v1/audit"],
          ["GET", "/operator/v1/requests"],
          ["GET", "/operator/v1/deliveries?limit=x"],
          ["POST", "/operator/v1/keys/nonsense/revoke"]
        ] as const) {
          const headers = { "x-operator-token": token, "x-api-key": key }
          assertRefused(yield* operate(method, path, { body, headers }), "UNAUTHORIZED")
        }
      }
      assert.deepInclude<unknown>((yield* operate("GET", `/operator/v1/accounts/${accountId}`)).body, {
        name: "Padaria do Zé"
      })
    })
  )

  it.effect("OPR-37: a token in the header counts before a cookie", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { cookie } = yield* signIn((yield* makeOperator("viewer")).token)
      const get = (token: string | undefined) =>
        operate("GET", "/operator/v1/session", { headers: { "x-operator-token": token, cookie, ...sameOrigin } })
      assert.strictEqual((yield* get(undefined)).body["via"], "session")
      assert.strictEqual((yield* get("")).body["via"], "session")
      assertRefused(yield* get("wrong"), "UNAUTHORIZED")
      const admin = yield* makeOperator("admin")
      assert.deepInclude<unknown>((yield* get(admin.token)).body["operator"], { id: admin.id })
    })
  )

  it.effect(
    "OPR-40: each request with the installation's token is counted, and its first one of a route and address is an entry",
    () =>
      Effect.gen(function* () {
        const { operate, operatorToken } = yield* TestService
        const sql = yield* SqlClient
        const { call } = yield* makeOperator("viewer")
        const counted = Effect.map(operate("GET", "/metrics"), ({ text }) =>
          Number(/installation_token_uses_total (\d+)/.exec(text)?.[1])
        )
        const from = "127.0.8.1"
        const before = yield* counted
        for (let i = 0; i < 3; i++) {
          assert.strictEqual((yield* operate("GET", "/operator/v1/accounts", { from })).status, 200)
          assert.strictEqual((yield* call("GET", "/operator/v1/accounts", { from })).status, 200)
        }
        assert.strictEqual((yield* operate("POST", "/operator/v1/accounts", { from, body: {} })).status, 400)
        const large = "x".repeat(300_000)
        assert.strictEqual((yield* operate("POST", "/operator/v1/accounts", { from, body: large })).status, 413)
        yield* signIn(operatorToken, from)
        assert.strictEqual(yield* counted, before + 6)
        const use = { action: "installation.use", operator: "operator", operator_id: null, via: "installation" }
        assert.deepStrictEqual(
          yield* sql`SELECT action, operator, operator_id, via, after FROM audit WHERE address = ${from}
            AND action = 'installation.use' ORDER BY id`,
          [
            { ...use, after: { route: "GET /operator/v1/accounts" } },
            { ...use, after: { route: "POST /operator/v1/accounts" } },
            { ...use, after: { route: "POST /operator/v1/session" } }
          ]
        )
      })
  )

  it.effect("OPR-8: answers health checks and metrics without a token", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { text: before } = yield* operate("GET", "/metrics")
      const { url } = yield* receiver(({ path }, response) => {
        response.statusCode = path === "/bad" ? 500 : 200
        response.end()
      })
      for (const path of ["/good", "/bad"])
        yield* settled((yield* create({ key, webhook_url: `${url}${path}` })).body.id, 2)
      const headers = { "x-operator-token": undefined }
      const live = yield* operate("GET", "/health/live", { headers })
      assert.strictEqual(live.status, 200)
      assert.deepStrictEqual<unknown>(live.body, { status: "ok" })
      const ready = yield* operate("GET", "/health/ready", { headers })
      assert.strictEqual(ready.status, 200)
      assert.deepStrictEqual<unknown>(ready.body, {
        status: "ok",
        version: "0.1.0",
        database: "ok",
        migrations: true,
        acquirer: "simulator",
        cell: null,
        outward: "on",
        stalled_loops: []
      })
      const { headers: received, status, text } = yield* operate("GET", "/metrics", { headers })
      assert.strictEqual(status, 200)
      assert.match(String(received["content-type"]), /^text\/plain/)
      const [earlier, later] = [parseExposition(before), parseExposition(text)]
      const count = (name: string, labels: Readonly<Record<string, string>> = {}) =>
        sumOf(later, name, labels) - sumOf(earlier, name, labels)
      const creation = { listener: "public", method: "POST", route: "/v1/charges" }
      assert.strictEqual(count("http_requests_total", { ...creation, status: "201" }), 2)
      assert.strictEqual(count("http_request_duration_seconds_count", { ...creation, status: "2xx" }), 2)
      assert.isAtLeast(count("webhook_attempts_total", { outcome: "delivered" }), 2)
      assert.isAtLeast(count("webhook_attempts_total", { outcome: "failed" }), 4)
      assert.isAtLeast(count("webhook_attempt_duration_seconds_count"), 6)
      assert.isAtLeast(count("http_requests_total", { listener: "operator", route: "/health/ready", status: "200" }), 1)
      assert.isTrue(
        later.some(({ labels, value }) => labels["listener"] === "public" && labels["status"] === "500" && value === 0),
        "an alert sees the first increase"
      )
      assert.strictEqual(sumOf(later, "acquirer_info", { acquirer: "simulator" }), 1)
      // The public listener does not serve them.
      for (const path of ["/metrics", "/health/live", "/health/ready", "/operator/v1/accounts"]) {
        assertRefused(yield* call("GET", path, { key }), "NOT_FOUND")
      }
    })
  )
})
