/** The life of a key: created, used, rotated, revoked, expired. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created, type ErrorBody, retrieve, someCharge, until } from "../support/ChargeRequests.ts"
import { type Answer, newKey, type TestCaller, TestService } from "../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("API keys", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

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

  describe("a cached caller is re-checked by the statement that acts", () => {
    const somePayout = { amount: 500, pix_key_type: "email", pix_key: "someone@example.com", method: "pix" }

    /**
     * Calls of a caller who is cached by an earlier call, each with its answer. After a refusal the caller is not cached any more,
     * so each call has to be the first one once: `first` says which.
     */
    const cachedCalls = Effect.fnUntraced(function* (key: string, first = 0) {
      const { call } = yield* TestService
      const { id } = yield* created(key)
      yield* retrieve(key, id)
      const named = (requestId: string | undefined) => ({ "x-request-id": requestId })
      const create = (path: string, body: unknown) => (requestId?: string) =>
        call("POST", path, { key, idempotencyKey: newKey(), body, headers: named(requestId) })
      const read = (path: string) => (requestId?: string) => call("GET", path, { key, headers: named(requestId) })
      const calls: ReadonlyArray<readonly [ReturnType<typeof read>, number]> = [
        [create("/v1/charges", someCharge), 201],
        [create("/v1/charges", { amount: 0 }), 400],
        [read(`/v1/charges/${id}`), 200],
        [read("/v1/charges/nothing"), 404],
        [read("/v1/charges"), 200],
        [read("/v1/charges?status=pending"), 200],
        [read(`/v1/charges?starting_after=${newKey()}`), 400],
        [read("/v1/charges?limit=x"), 400],
        [read("/v1/payouts"), 200],
        [read("/v1/payouts?method=pix"), 200],
        [create("/v1/payouts", somePayout), 400]
      ]
      assert.lengthOf(calls, CALLS)
      return [...calls.slice(first), ...calls.slice(0, first)]
    })
    const CALLS = 11
    const eachFirst = Array.from({ length: CALLS }, (_, first) => first)

    const rowsOf = (accountId: string) =>
      Effect.flatMap(
        SqlClient,
        (sql) => sql`SELECT id FROM charges WHERE account_id = ${accountId}::uuid
            UNION ALL SELECT id FROM payouts WHERE account_id = ${accountId}::uuid`
      )

    it.effect("KEY-2, KEY-4: revoked, deactivated or expired: 401 from the next request on, without an effect", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { operate } = yield* TestService
        const ends = [
          ({ keyId }: TestCaller) => operate("POST", `/operator/v1/keys/${keyId}/revoke`),
          ({ applicationId }: TestCaller) =>
            operate("PATCH", `/operator/v1/applications/${applicationId}`, { body: { active: false } }),
          ({ keyId }: TestCaller) => sql`UPDATE api_keys SET expires_at = now() WHERE id = ${keyId}::uuid`
        ]
        for (const [end, first] of ends.flatMap((each) => eachFirst.map((at) => [each, at] as const))) {
          const who = yield* caller
          const calls = yield* cachedCalls(who.key, first)
          for (const [ask, status] of calls) assert.strictEqual((yield* ask()).status, status)
          const before = yield* rowsOf(who.accountId)
          yield* end(who)
          const requestId = newKey()
          for (const [ask] of calls) assertRefused(yield* ask(requestId), "UNAUTHORIZED")
          assert.deepStrictEqual(yield* rowsOf(who.accountId), before)
          // A refused call does not count as a use of the key.
          const logged = yield* until(
            sql`SELECT key_id, account_id FROM requests WHERE request_id = ${requestId}`,
            ({ length }) => length === calls.length
          )
          for (const line of logged) assert.deepStrictEqual(line, { key_id: null, account_id: null })
        }
      })
    )

    it.effect("of a changed account: the next request uses the account as it is now", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const who = yield* caller
        const [create] = (yield* cachedCalls(who.key))[0]!
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
        for (const first of eachFirst) {
          const who = yield* caller
          const calls = yield* cachedCalls(who.key, first)
          yield* sql`UPDATE api_keys SET scopes = '{balance:read}' WHERE id = ${who.keyId}::uuid`
          const before = yield* rowsOf(who.accountId)
          for (const [ask] of calls) {
            const { body, status } = yield* ask()
            assert.deepStrictEqual([status, body["code"]], [403, "INSUFFICIENT_SCOPE"])
          }
          assert.deepStrictEqual(yield* rowsOf(who.accountId), before)
        }
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
