/**
 * Keys and scopes on every route, from the declaration of the API.
 *
 * A new route of `PaymentsApi` needs a line in the contract's table of scopes below.
 */
import { RequiredScopes } from "@pix-payments/api/Security"
import { allScopes } from "@pix-payments/domain/Scope"
import { assert, describe, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { assertRefused, created, type ErrorBody, retrieve, someCharge, until } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"

interface Route {
  readonly method: string
  readonly path: string
  readonly scopes: ReadonlyArray<string>
  readonly takesBody: boolean
}

const routes: Array<Route> = []
HttpApi.reflect(PaymentsApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) =>
    routes.push({
      method: endpoint.method,
      path: endpoint.path.replace(/\/$/, "").replace(":id", "01a1fd37-d21e-717f-8451-d23f26a8797f"),
      scopes: Context.get(endpoint.annotations, RequiredScopes),
      takesBody: endpoint.payload.size > 0
    })
})

/** The contract's table of endpoints. */
const contractScopes: Readonly<Record<string, ReadonlyArray<string>>> = {
  "POST /v1/charges": ["charge:write"],
  "GET /v1/charges/{id}": ["charge:read"],
  "GET /v1/charges": ["charge:read"],
  "POST /v1/payouts": ["payout:write"],
  "GET /v1/payouts/{id}": ["payout:read"],
  "GET /v1/payouts": ["payout:read"],
  "GET /v1/balance": ["balance:read"],
  "GET /v1/account": ["account:read"],
  "GET /v1/webhooks": ["webhook:read"],
  "POST /v1/webhooks": ["webhook:write"],
  "PATCH /v1/webhooks/{id}": ["webhook:write"],
  "DELETE /v1/webhooks/{id}": ["webhook:write"],
  "GET /v1/webhooks/events": []
}

const large = `{"x":"${"x".repeat(256 * 1024)}"}`

layer(TestService.layer(), { excludeTestServices: true })("Authentication", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  describe.each(routes)("$method $path", ({ method, path, scopes, takesBody }) => {
    const ask = (options: { key?: string | undefined; headers?: Record<string, string>; body?: unknown } = {}) =>
      Effect.flatMap(TestService, ({ call }) =>
        call<ErrorBody>(method, path, {
          idempotencyKey: newKey(),
          ...(takesBody ? { body: someCharge } : {}),
          ...options
        })
      )

    it.effect("KEY-6: asks for the scopes that the contract says", () =>
      Effect.sync(() => {
        const name = `${method} ${path.replace(/[0-9a-f-]{36}/, "{id}")}`
        assert.deepStrictEqual(scopes, contractScopes[name], name)
      })
    )

    it.effect("KEY-1, KEY-2: A missing key gives 401 `UNAUTHORIZED`", () =>
      Effect.gen(function* () {
        assertRefused(yield* ask(), "UNAUTHORIZED")
        assertRefused(yield* ask({ key: "" }), "UNAUTHORIZED")
      })
    )

    it.effect("KEY-2: an unknown key gives 401 `UNAUTHORIZED`", () =>
      Effect.gen(function* () {
        const { operatorToken } = yield* TestService
        const { key, keyId } = yield* caller
        const wrong = [
          "x",
          `pix_${"A".repeat(43)}`,
          key.slice(0, -1),
          `${key}x`,
          key.toUpperCase(),
          `${key},${key}`,
          keyId,
          operatorToken,
          "é",
          "a\tb",
          "'; DROP TABLE api_keys; --",
          "x".repeat(10_000)
        ]
        for (const attempt of wrong) assertRefused(yield* ask({ key: attempt }), "UNAUTHORIZED")
      })
    )

    it.effect("KEY-1: a key elsewhere than in `x-api-key` is ignored", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        assertRefused(yield* ask({ headers: { authorization: `Bearer ${key}` } }), "UNAUTHORIZED")
        assertRefused(yield* ask({ headers: { cookie: `x-api-key=${key}` } }), "UNAUTHORIZED")
        assertRefused(yield* call(method, `${path}?x-api-key=${key}`), "UNAUTHORIZED")
      })
    )

    it.effect("KEY-5: A missing scope gives 403 `INSUFFICIENT_SCOPE`, with `details` listing the required scopes", () =>
      Effect.gen(function* () {
        const { makeKey } = yield* TestService
        const { applicationId } = yield* caller
        const others = yield* makeKey(applicationId, { scopes: allScopes.filter((scope) => !scopes.includes(scope)) })
        const answer = yield* ask({ key: others.key })
        if (scopes.length > 0) assertRefused(answer, "INSUFFICIENT_SCOPE", scopes)
        else assert.strictEqual(answer.status, 200)
      })
    )

    it.effect("KEY-6: the required scopes are enough", () =>
      Effect.gen(function* () {
        const { makeKey } = yield* TestService
        const { applicationId } = yield* caller
        const { key } = yield* makeKey(applicationId, { scopes: scopes.length > 0 ? scopes : ["balance:read"] })
        assert.notInclude([401, 403, 500], (yield* ask({ key })).status)
      })
    )

    it.effect("ERR-2: 401 comes before 413 and before all that is wrong with the body", () =>
      Effect.gen(function* () {
        assertRefused(yield* ask({ key: "x", body: large }), "UNAUTHORIZED")
        assertRefused(yield* ask({ key: "x", body: "{" }), "UNAUTHORIZED")
      })
    )

    if (takesBody) {
      it.effect("ERR-2: 413 comes before all but 401: before 403 as well", () =>
        Effect.gen(function* () {
          const { makeKey } = yield* TestService
          const { applicationId } = yield* caller
          const { key } = yield* makeKey(applicationId, { scopes: ["balance:read"] })
          assertRefused(yield* ask({ key, body: large }), "PAYLOAD_TOO_LARGE")
        })
      )
    }
  })
  it.effect("ERR-12: Every request is recorded with key, route, status and duration", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { call } = yield* TestService
      const { key, keyId } = yield* caller
      const { id } = yield* created(key)
      yield* retrieve(key, id)
      yield* call("GET", "/v1/charges/nothing?limit=5", { key })
      yield* call("GET", "/v1/charges?limit=0", { key })
      const rows = yield* until(
        sql<{ route: string; status: number; duration_us: number }>`
          SELECT route, status, duration_us FROM requests WHERE key_id = ${keyId}::uuid ORDER BY id`,
        ({ length }) => length >= 4
      )
      assert.deepStrictEqual(
        rows.map(({ route, status }) => `${route} ${status}`),
        ["POST /v1/charges 201", "GET /v1/charges/{id} 200", "GET /v1/charges/{id} 404", "GET /v1/charges 400"]
      )
      for (const { duration_us } of rows) assert.isAbove(Number(duration_us), 0)
      yield* until(
        sql`SELECT 1 FROM api_keys WHERE id = ${keyId}::uuid AND last_used_at IS NOT NULL`,
        (found) => found.length > 0
      )
    })
  )
})

layer(TestService.layer({ settings: { rateLimitPerMinute: Option.some(2) } }), { excludeTestServices: true })(
  "RATE_LIMIT_PER_MINUTE",
  (it) => {
    it.effect("ERR-10: per-key rate limit: 429 `RATE_LIMITED` with `Retry-After`, in the same error format", () =>
      Effect.gen(function* () {
        const { call, makeCaller, makeKey } = yield* TestService
        const { applicationId, key } = yield* makeCaller()
        for (const status of [200, 200, 429, 429]) {
          const answer = yield* call<ErrorBody>("GET", "/v1/account", { key })
          assert.strictEqual(answer.status, status)
          if (status === 200) continue
          assertRefused(answer, "RATE_LIMITED")
          assert.match(String(answer.headers["retry-after"]), /^[1-9]\d?$/)
        }
        const other = yield* makeKey(applicationId)
        assert.strictEqual((yield* call("GET", "/v1/account", { key: other.key })).status, 200)
      })
    )
  }
)
