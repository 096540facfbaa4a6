/** Operators and their personal tokens. */
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import { assertRefused, instant, uuid7 } from "../support/ChargeRequests.ts"
import { unknownId } from "../support/Declared.ts"
import type { List } from "../support/Operator.ts"
import { makeOperator, withoutFourEyes, withToken } from "../support/Operators.ts"
import { newKey, TestService } from "../support/TestService.ts"

const path = "/operator/v1/operators"
const email = () => `${newKey()}@example.com`

/** The same key for both processes. */
const settings = { secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 3).toString("base64"))) }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Operators", (it) => {
  it.effect("OPR-41: are added, listed, retrieved and changed", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId } = yield* makeCaller()
      const body = { name: "Ana", email: email(), role: "operator", account_ids: [accountId.toUpperCase()] }
      const created = yield* operate("POST", path, { body })
      assert.strictEqual(created.status, 201, created.text)
      const { created_at: createdAt, id, ...rest } = created.body
      assert.match(String(id), uuid7)
      assert.match(String(createdAt), instant)
      assert.deepStrictEqual(rest, { ...body, object: "operator", active: true, account_ids: [accountId] })
      assert.deepStrictEqual((yield* operate("GET", `${path}/${id}`)).body, created.body)
      const listed = yield* operate<List<unknown>>("GET", `${path}?limit=1`)
      assert.deepStrictEqual(listed.body.data, [created.body])

      const changed = yield* operate("PATCH", `${path}/${id}`, {
        body: { name: "Bia", role: "viewer", account_ids: null, active: false, email: "ignored@example.com" }
      })
      assert.deepStrictEqual(changed.body, {
        ...created.body,
        name: "Bia",
        role: "viewer",
        account_ids: null,
        active: false
      })
      assert.deepStrictEqual((yield* operate("GET", `${path}/${id}`)).body, changed.body)
      assert.deepStrictEqual((yield* operate("PATCH", `${path}/${id}`, { body: {} })).body, changed.body)
    })
  )

  it.effect("OPR-41: refuses an e-mail address that another operator has, whatever its case", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const body = { name: "Ana", email: email(), role: "viewer" }
      assert.strictEqual((yield* operate("POST", path, { body })).status, 201)
      const again = yield* operate("POST", path, { body: { ...body, email: body.email.toUpperCase() } })
      assertRefused(again, "VALIDATION_ERROR", ["email"])
    })
  )

  it.effect("OPR-41: an admin is not limited to accounts, and a limit names accounts that exist", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId } = yield* makeCaller()
      const refuses = (body: object, details: ReadonlyArray<string>) =>
        Effect.map(operate("POST", path, { body: { name: "A", email: email(), role: "viewer", ...body } }), (answer) =>
          assertRefused(answer, "VALIDATION_ERROR", details)
        )
      yield* refuses({ role: "admin", account_ids: [accountId] }, ["account_ids"])
      yield* refuses({ account_ids: [accountId, unknownId] }, ["account_ids"])
      yield* refuses({ account_ids: [] }, ["account_ids"])
      yield* refuses({ account_ids: Array.from({ length: 101 }, () => accountId) }, ["account_ids"])
      yield* refuses({ name: "", email: "a", role: "boss", account_ids: ["x"] }, [
        "name",
        "email",
        "role",
        "account_ids.0"
      ])
      const limited = yield* makeOperator("operator", [accountId])
      const promoted = yield* operate("PATCH", `${path}/${limited.id}`, { body: { role: "admin" } })
      assertRefused(promoted, "VALIDATION_ERROR", ["account_ids"])
      const both = yield* operate("PATCH", `${path}/${limited.id}`, { body: { role: "admin", account_ids: null } })
      assert.strictEqual(both.status, 200)
      for (const id of [unknownId, "nonsense"]) {
        assertRefused(yield* operate("GET", `${path}/${id}`), "NOT_FOUND")
        assertRefused(yield* operate("PATCH", `${path}/${id}`, { body: {} }), "NOT_FOUND")
      }
    })
  )

  it.effect("OPR-42: a personal token is shown once, and only its SHA-256 is stored", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const { call, id, token } = yield* makeOperator("viewer")
      assert.match(token, /^pixop_[\w-]{43}$/)
      assert.strictEqual((yield* call("GET", "/operator/v1/accounts")).status, 200)
      const listed = yield* operate<List<{ prefix: string; last_used_at: string }>>("GET", `${path}/${id}/tokens`)
      assert.notInclude(listed.text, token)
      const [shown] = listed.body.data
      assert.strictEqual(shown?.prefix, token.slice(0, 14))
      assert.match(String(shown?.last_used_at), instant)
      const [row] = yield* sql<Record<string, unknown>>`SELECT * FROM operator_tokens WHERE operator_id = ${id}::uuid`
      assert.strictEqual(row?.["hash"], createHash("sha256").update(token).digest("hex"))
      assert.notInclude(JSON.stringify(row), token.slice(14))
    })
  )

  it.effect("OPR-42: operators manage their own tokens, and admins everybody's", () =>
    Effect.gen(function* () {
      yield* withoutFourEyes
      const ana = yield* makeOperator("viewer")
      const bia = yield* makeOperator("operator")
      const admin = yield* makeOperator("admin")
      const tokens = (id: string) => `${path}/${id}/tokens`
      const body = { name: "cli" }
      const own = yield* ana.call<{ id: string; token: string }>("POST", tokens(ana.id), { body })
      assert.strictEqual(own.status, 201)
      assertRefused(yield* ana.call("POST", tokens(bia.id), { body }), "FORBIDDEN")
      assertRefused(yield* ana.call("GET", tokens(bia.id)), "FORBIDDEN")
      assertRefused(yield* ana.call("POST", `/operator/v1/tokens/${bia.tokenId}/revoke`), "NOT_FOUND")
      assert.strictEqual((yield* admin.call("POST", tokens(bia.id), { body })).status, 201)
      assert.strictEqual((yield* ana.call("POST", `/operator/v1/tokens/${own.body.id}/revoke`)).status, 200)
      assert.strictEqual((yield* admin.call("POST", `/operator/v1/tokens/${bia.tokenId}/revoke`)).status, 200)
      assertRefused(yield* bia.call("GET", "/operator/v1/accounts"), "UNAUTHORIZED")
      const past = { ...body, expires_at: "2020-01-01T00:00:00Z" }
      assertRefused(yield* admin.call("POST", tokens(bia.id), { body: past }), "VALIDATION_ERROR", ["expires_at"])
      assertRefused(yield* admin.call("POST", tokens(unknownId), { body }), "NOT_FOUND")
      assertRefused(yield* admin.call("GET", tokens(unknownId)), "NOT_FOUND")
    })
  )

  it.effect(
    "OPR-43: revocation, expiry, deactivation and a new role count with the next request, in every process",
    () =>
      Effect.gen(function* () {
        const { databaseUrl, operate } = yield* TestService
        const sql = yield* SqlClient
        const other = Context.get(
          yield* Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl }))),
          TestService
        )
        const accounts = "/operator/v1/accounts"
        const body = { name: "A", legal_name: "A", document: "11222333000181", phone: "1" }

        const { id, token, tokenId } = yield* makeOperator("viewer")
        const calls = [withToken(operate, token), withToken(other.operate, token)]
        const seen = (method: string, status: number) =>
          Effect.forEach(calls, (call) =>
            Effect.map(call(method, accounts, method === "POST" ? { body } : {}), (answer) =>
              assert.strictEqual(answer.status, status, answer.text)
            )
          )
        yield* seen("GET", 200)
        yield* seen("POST", 403)
        yield* operate("PATCH", `${path}/${id}`, { body: { role: "admin" } })
        yield* seen("POST", 201)
        yield* operate("PATCH", `${path}/${id}`, { body: { active: false } })
        yield* seen("GET", 401)
        yield* operate("PATCH", `${path}/${id}`, { body: { active: true } })
        // For good (OPR-157).
        yield* seen("GET", 401)
        yield* sql`UPDATE operator_tokens SET revoked_at = NULL WHERE id = ${tokenId}::uuid`
        yield* seen("GET", 200)
        yield* sql`UPDATE operator_tokens SET expires_at = now() WHERE id = ${tokenId}::uuid`
        yield* seen("GET", 401)
        yield* sql`UPDATE operator_tokens SET expires_at = NULL WHERE id = ${tokenId}::uuid`
        yield* seen("GET", 200)
        yield* operate("POST", `/operator/v1/tokens/${tokenId}/revoke`)
        yield* seen("GET", 401)
      }).pipe(Effect.scoped)
  )

  it.effect("OPR-38: a key with `payout:write` is created by admins only", () =>
    Effect.gen(function* () {
      yield* withoutFourEyes
      const { makeCaller } = yield* TestService
      const { applicationId } = yield* makeCaller()
      const keys = `/operator/v1/applications/${applicationId}/keys`
      const developer = yield* makeOperator("developer")
      const admin = yield* makeOperator("admin")
      const body = { name: "k", scopes: ["charge:read", "payout:write"] }
      assertRefused(yield* developer.call("POST", keys, { body }), "FORBIDDEN")
      assert.strictEqual(
        (yield* developer.call("POST", keys, { body: { ...body, scopes: ["charge:read"] } })).status,
        201
      )
      assert.strictEqual((yield* admin.call("POST", keys, { body })).status, 201)
    })
  )
})
