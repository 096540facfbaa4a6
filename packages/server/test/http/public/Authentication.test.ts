/**
 * Who is let in: every route, told by the API's declaration, against keys of every kind.
 *
 * A route that is added to `PaymentsApi` is tested here without a change, save the contract's table of scopes.
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
import {
  assertRefused,
  created,
  type ErrorBody,
  listed,
  retrieve,
  someCharge,
  until
} from "../../support/ChargeRequests.ts"
import { type Answer, newKey, type TestCaller, TestService } from "../../support/TestService.ts"

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

  describe("the life of a key", () => {
    const account = (key: string) =>
      Effect.flatMap(TestService, ({ call }) => call<ErrorBody>("GET", "/v1/account", { key }))

    const isAccepted = (answer: Answer<unknown>) => assert.strictEqual(answer.status, 200, answer.text)

    it.effect("KEY-4: Revocation takes effect from the next request", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { key, keyId } = yield* caller
        isAccepted(yield* account(key))
        assert.strictEqual((yield* operate("POST", `/operator/v1/keys/${keyId}/revoke`)).status, 200)
        assertRefused(yield* account(key), "UNAUTHORIZED")
        assertRefused(yield* account(key), "UNAUTHORIZED")
      })
    )

    describe("a caller who was seen before is looked at again in what is done for them", () => {
      const somePayout = { amount: 500, pix_key_type: "email", pix_key: "someone@example.com", method: "pix" }

      /** What is done for a caller who is remembered from an earlier call, each with its right answer. */
      const remembering = Effect.fnUntraced(function* (key: string) {
        const { call } = yield* TestService
        const { id } = yield* created(key)
        yield* retrieve(key, id)
        const named = (requestId: string | undefined) => ({ "x-request-id": requestId })
        const create = (path: string, body: unknown) => (requestId?: string) =>
          call("POST", path, { key, idempotencyKey: newKey(), body, headers: named(requestId) })
        const read = (path: string) => (requestId?: string) => call("GET", path, { key, headers: named(requestId) })
        return [
          [create("/v1/charges", someCharge), 201],
          [create("/v1/charges", { amount: 0 }), 400],
          [read(`/v1/charges/${id}`), 200],
          [read("/v1/charges/nothing"), 404],
          [create("/v1/payouts", somePayout), 400]
        ] as const
      })

      const rowsOf = (accountId: string) =>
        Effect.flatMap(
          SqlClient,
          (sql) => sql`SELECT id FROM charges WHERE account_id = ${accountId}::uuid
            UNION ALL SELECT id FROM payouts WHERE account_id = ${accountId}::uuid`
        )

      it.effect(
        "KEY-2, KEY-4: revoked, deactivated or expired: 401 from the next request on, and nothing is done",
        () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient
            const { operate } = yield* TestService
            const ends = [
              ({ keyId }: TestCaller) => operate("POST", `/operator/v1/keys/${keyId}/revoke`),
              ({ applicationId }: TestCaller) =>
                operate("PATCH", `/operator/v1/applications/${applicationId}`, { body: { active: false } }),
              ({ keyId }: TestCaller) => sql`UPDATE api_keys SET expires_at = now() WHERE id = ${keyId}::uuid`
            ]
            for (const end of ends) {
              const who = yield* caller
              const calls = yield* remembering(who.key)
              for (const [ask, status] of calls) assert.strictEqual((yield* ask()).status, status)
              const before = yield* rowsOf(who.accountId)
              yield* end(who)
              const requestId = newKey()
              for (const [ask] of calls) assertRefused(yield* ask(requestId), "UNAUTHORIZED")
              assert.deepStrictEqual(yield* rowsOf(who.accountId), before)
              // What is refused is nobody's use of the key.
              const logged = yield* until(
                sql`SELECT key_id, account_id FROM requests WHERE request_id = ${requestId}`,
                ({ length }) => length === calls.length
              )
              for (const line of logged) assert.deepStrictEqual(line, { key_id: null, account_id: null })
            }
          })
      )

      it.effect("of an account that has changed: the next request is done for the account as it is", () =>
        Effect.gen(function* () {
          const { operate } = yield* TestService
          const who = yield* caller
          const [[create]] = yield* remembering(who.key)
          yield* create()
          const change = (body: object) => operate("PATCH", `/operator/v1/accounts/${who.accountId}`, { body })
          yield* change({ default_expires_in: 7200, legal_name: "Outro Nome" })
          const { body } = yield* create()
          const lifetimeMs = Date.parse(String(body["expires_at"])) - Date.parse(String(body["created_at"]))
          assert.strictEqual(lifetimeMs, 7_200_000)
          yield* change({ status: "inactive" })
          assertRefused(yield* create(), "ACCOUNT_INACTIVE")
        })
      )

      it.effect("KEY-5: with a key that has lost a scope: 403", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient
          const who = yield* caller
          const calls = yield* remembering(who.key)
          yield* sql`UPDATE api_keys SET scopes = '{balance:read}' WHERE id = ${who.keyId}::uuid`
          const before = yield* rowsOf(who.accountId)
          for (const [ask] of calls) {
            const { body, status } = yield* ask()
            assert.deepStrictEqual([status, body["code"]], [403, "INSUFFICIENT_SCOPE"])
          }
          assert.deepStrictEqual(yield* rowsOf(who.accountId), before)
        })
      )
    })

    it.effect("KEY-9: a key can be rotated: create the new key, switch, revoke the old one", () =>
      Effect.gen(function* () {
        const { makeKey, operate } = yield* TestService
        const { applicationId, key, keyId } = yield* caller
        const charge = yield* created(key)
        const next = yield* makeKey(applicationId)
        isAccepted(yield* account(key))
        isAccepted(yield* account(next.key))
        yield* operate("POST", `/operator/v1/keys/${keyId}/revoke`)
        assertRefused(yield* account(key), "UNAUTHORIZED")
        assert.deepStrictEqual((yield* retrieve(next.key, charge.id)).body, charge)
      })
    )

    it.effect("KEY-10: A key may have an expiration date: an expired one gives 401 from the next request", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { makeKey } = yield* TestService
        const { applicationId } = yield* caller
        const { key, keyId } = yield* makeKey(applicationId, { expires_at: "2999-01-01T00:00:00Z" })
        isAccepted(yield* account(key))
        yield* sql`UPDATE api_keys SET expires_at = now() - interval '1 millisecond' WHERE id = ${keyId}::uuid`
        assertRefused(yield* account(key), "UNAUTHORIZED")
      })
    )

    it.effect("KEY-2: a key of a deactivated application gives 401 from the next request", () =>
      Effect.gen(function* () {
        const { makeApplication, makeKey, operate } = yield* TestService
        const { accountId, applicationId, key } = yield* caller
        const other = yield* makeKey(yield* makeApplication(accountId))
        const activate = (active: boolean) =>
          operate("PATCH", `/operator/v1/applications/${applicationId}`, { body: { active } })
        isAccepted(yield* account(key))
        yield* activate(false)
        assertRefused(yield* account(key), "UNAUTHORIZED")
        isAccepted(yield* account(other.key))
        yield* activate(true)
        isAccepted(yield* account(key))
      })
    )

    it.effect("KEY-2: the response does not say why a key is refused", () =>
      Effect.gen(function* () {
        const { call, makeApplication, makeKey, operate } = yield* TestService
        const { accountId, key, keyId } = yield* caller
        const applicationId = yield* makeApplication(accountId)
        const inactive = yield* makeKey(applicationId)
        yield* operate("POST", `/operator/v1/keys/${keyId}/revoke`)
        yield* operate("PATCH", `/operator/v1/applications/${applicationId}`, { body: { active: false } })
        const answers = [
          yield* call("GET", "/v1/account"),
          yield* account("wrong"),
          yield* account(key),
          yield* account(inactive.key)
        ]
        assert.strictEqual(new Set(answers.map(({ text }) => text)).size, 1)
      })
    )

    it.effect("KEY-3: The complete key is shown once; only its hash is stored, and no endpoint reads it again", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { operate } = yield* TestService
        const { applicationId, key, keyId } = yield* caller
        isAccepted(yield* account(key))
        const rows = yield* sql`SELECT to_json(k)::text AS row FROM api_keys k WHERE id = ${keyId}::uuid`
        assert.lengthOf(rows, 1)
        const secret = key.slice(12)
        assert.notInclude(JSON.stringify(rows), secret)
        const list = yield* operate("GET", `/operator/v1/applications/${applicationId}/keys`)
        assert.include(list.text, keyId)
        assert.notInclude(list.text, secret)
        const revoked = yield* operate("POST", `/operator/v1/keys/${keyId}/revoke`)
        assert.notInclude(revoked.text, secret)
      })
    )

    it.effect("KEY-8: a key acts for the account that created it", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const [one, two] = [yield* caller, yield* caller]
        for (const { accountId, key } of [one, two]) {
          assert.strictEqual((yield* call("GET", "/v1/account", { key })).body.id, accountId)
        }
      })
    )
  })

  describe("GET /v1/account", () => {
    it.effect("ACC-1, ACC-2: Response 200 with an `account` object for the account that owns the key", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller({
          account: {
            name: "Loja",
            legal_name: "Loja Comércio S.A.",
            document: "12.abc.345/01de-35",
            phone: "+551130001000",
            onboarding_status: "in_review",
            auto_payout_enabled: false
          }
        })
        const { body, headers, status } = yield* call("GET", "/v1/account", { key })
        assert.strictEqual(status, 200)
        assert.match(String(headers["content-type"]), /^application\/json/)
        const { created_at, ...rest } = body
        assert.match(String(created_at), /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
        assert.deepStrictEqual(rest, {
          id: accountId,
          object: "account",
          name: "Loja",
          legal_name: "Loja Comércio S.A.",
          document: "12ABC34501DE35",
          document_type: "cnpj",
          phone: "+551130001000",
          status: "active",
          onboarding_status: "in_review",
          auto_payout_enabled: false
        })
      })
    )

    it.effect(
      "ACC-2, ACC-3: Defaults of a new account: `active`, onboarding `completed`, `auto_payout_enabled` true; a CPF's type",
      () =>
        Effect.gen(function* () {
          const { call, makeCaller } = yield* TestService
          const { key } = yield* makeCaller({ account: { document: "529.982.247-25" } })
          const { body } = yield* call("GET", "/v1/account", { key })
          assert.deepStrictEqual(
            [body.status, body.onboarding_status, body.auto_payout_enabled, body.document, body.document_type],
            ["active", "completed", true, "52998224725", "cpf"]
          )
        })
    )

    it.effect("CHG-15: An inactive account does not process charges: 400 `ACCOUNT_INACTIVE`; it reads as before", () =>
      Effect.gen(function* () {
        const { call, operate } = yield* TestService
        const { accountId, key } = yield* caller
        const charge = yield* created(key)
        const become = (status: string) => operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { status } })
        yield* become("inactive")
        const idempotencyKey = newKey()
        const ask = call("POST", "/v1/charges", { key, idempotencyKey, body: someCharge })
        assertRefused(yield* ask, "ACCOUNT_INACTIVE")
        assert.strictEqual((yield* call("GET", "/v1/account", { key })).body.status, "inactive")
        assert.deepStrictEqual((yield* listed(key)).data, [charge])
        assert.deepStrictEqual((yield* retrieve(key, charge.id)).body, charge)
        yield* become("active")
        assert.strictEqual((yield* ask).status, 201, "nothing was remembered of the refused call")
      })
    )

    it.effect("CHG-15: charges are allowed to an account whose onboarding is not `completed`", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        for (const onboarding_status of ["pending", "in_review", "rejected"]) {
          const { key } = yield* makeCaller({ account: { onboarding_status } })
          yield* created(key)
        }
      })
    )
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
