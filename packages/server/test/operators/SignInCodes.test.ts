/** Codes that sign in the command line: `pix login --browser`. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash, randomBytes } from "node:crypto"
import { assertRefused } from "../support/ChargeRequests.ts"
import { makeOperator, sameOrigin, signIn, withoutFourEyes, withToken } from "../support/Operators.ts"
import { type Call, TestService } from "../support/TestService.ts"

const codes = "/operator/v1/session/code"
const exchanges = "/operator/v1/session/token"

const random = () => randomBytes(32).toString("base64url")

/** A verifier and its challenge. */
const proof = () => {
  const verifier = random()
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") }
}

interface Token {
  readonly id: string
  readonly token: string
  readonly operator_id: string
  readonly name: string
  readonly expires_at: string
}

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })("Sign-in codes", (it) => {
  const codeBy = Effect.fnUntraced(function* (call: Call, challenge: string) {
    const { body, status, text } = yield* call<{ code: string }>("POST", codes, {
      body: { challenge, name: "pix on laptop" }
    })
    assert.strictEqual(status, 201, text)
    return body.code
  })

  /** Without another credential, as the command does. Each test has its own address, whose failures count together. */
  const exchange = (
    body: { readonly code: string; readonly verifier: string },
    from: string,
    headers: Readonly<Record<string, string>> = {}
  ) =>
    Effect.flatMap(TestService, ({ operate }) =>
      operate<Token>("POST", exchanges, { body, from, headers: { "x-operator-token": undefined, ...headers } })
    )

  for (const role of ["viewer", "developer", "operator", "admin"] as const) {
    it.effect(`OPR-150: a code of a session gives its operator's token once, for role ${role}`, () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        yield* withoutFourEyes
        const operator = yield* makeOperator(role)
        const { call } = yield* signIn(operator.token)
        const { challenge, verifier } = proof()
        const code = yield* codeBy(call, challenge)
        const from = "127.0.7.1"
        const { body, status, text } = yield* exchange({ code, verifier }, from)
        assert.strictEqual(status, 201, text)
        assert.deepInclude<unknown>(body, { operator_id: operator.id, name: "pix on laptop" })
        const days = (Date.parse(body.expires_at) - (yield* Clock.currentTimeMillis)) / 86_400_000
        assert.isTrue(days > 89.9 && days <= 90.1, body.expires_at)
        const session = yield* withToken(operate, body.token)<{ operator: object }>("GET", "/operator/v1/session")
        assert.deepInclude(session.body.operator, { id: operator.id, role })
        assertRefused(yield* exchange({ code, verifier }, from), "UNAUTHORIZED")
        // A code is neither a token nor a link.
        for (const token of [code, `pixlink_${code.slice("pixcode_".length)}`]) {
          assertRefused(yield* withToken(operate, token)("GET", "/operator/v1/session"), "UNAUTHORIZED")
          const headers = { "x-operator-token": undefined, ...sameOrigin }
          const started = yield* operate("POST", "/operator/v1/session", { body: { token }, headers, from })
          assertRefused(started, "UNAUTHORIZED")
        }
      })
    )
  }

  it.effect("OPR-151: another verifier, an expired code and an inactive operator give nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      yield* withoutFourEyes
      const from = "127.0.7.2"
      const operator = yield* makeOperator("operator")
      const tokens = sql`SELECT id FROM operator_tokens WHERE operator_id = ${operator.id}::uuid AND kind = 'personal'`
      const { call } = yield* signIn(operator.token)
      const { challenge, verifier } = proof()
      const code = yield* codeBy(call, challenge)
      assertRefused(yield* exchange({ code, verifier: random() }, from), "UNAUTHORIZED")
      assertRefused(yield* exchange({ code: `${code}x`, verifier }, from), "UNAUTHORIZED")
      assertRefused(yield* exchange({ code, verifier: challenge }, from), "UNAUTHORIZED")
      assertRefused(yield* exchange({ code, verifier: "short" }, from), "VALIDATION_ERROR", ["verifier"])
      const active = (value: boolean) =>
        operate("PATCH", `/operator/v1/operators/${operator.id}`, { body: { active: value } })
      yield* active(false)
      assertRefused(yield* exchange({ code, verifier }, from), "UNAUTHORIZED")
      yield* active(true)
      yield* sql`UPDATE operator_tokens SET expires_at = now() WHERE operator_id = ${operator.id}::uuid AND kind = 'link'`
      assertRefused(yield* exchange({ code, verifier }, from), "UNAUTHORIZED")
      assert.lengthOf(yield* tokens, 1)
    })
  )

  it.effect("OPR-157: ending a session, revoking a token and deactivating revoke the operator's links and codes", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      yield* withoutFourEyes
      const other = yield* makeOperator("viewer")
      const kept = proof()
      const keptCode = yield* codeBy(other.call, kept.challenge)
      const from = "127.0.7.7"
      const active = (id: string, value: boolean) =>
        operate("PATCH", `/operator/v1/operators/${id}`, { body: { active: value } })
      for (const act of ["sign out", "end", "revoke", "deactivate"] as const) {
        const { id, token, tokenId } = yield* makeOperator("admin")
        const session = yield* signIn(token)
        const { challenge, verifier } = proof()
        const code = yield* codeBy(session.call, challenge)
        const { body } = yield* session.call<{ url: string }>("POST", "/operator/v1/session/link")
        const link = body.url.slice(body.url.indexOf("pixlink_"))
        if (act === "sign out") yield* session.call("DELETE", "/operator/v1/session")
        if (act === "end") yield* operate("POST", `/operator/v1/sessions/${session.id}/end`)
        if (act === "revoke") yield* operate("POST", `/operator/v1/tokens/${tokenId}/revoke`)
        if (act === "deactivate") {
          yield* active(id, false)
          yield* active(id, true)
        }
        const headers = { "x-operator-token": undefined, ...sameOrigin }
        const used = yield* operate("POST", "/operator/v1/session", { body: { token: link }, headers, from })
        assertRefused(used, "UNAUTHORIZED")
        assertRefused(yield* exchange({ code, verifier }, from), "UNAUTHORIZED")
      }
      // A session that is ended a second time revokes nothing; nobody else's code is revoked.
      const { token } = yield* makeOperator("viewer")
      const one = yield* signIn(token)
      yield* operate("POST", `/operator/v1/sessions/${one.id}/end`)
      const { challenge, verifier } = proof()
      const later = yield* codeBy((yield* signIn(token)).call, challenge)
      yield* operate("POST", `/operator/v1/sessions/${one.id}/end`)
      assert.strictEqual((yield* exchange({ code: later, verifier }, from)).status, 201)
      assert.strictEqual((yield* exchange({ code: keptCode, verifier: kept.verifier }, from)).status, 201)
    })
  )

  it.effect("OPR-151: of several exchanges at once, one succeeds", () =>
    Effect.gen(function* () {
      const { call } = yield* makeOperator("viewer")
      const { challenge, verifier } = proof()
      const code = yield* codeBy(call, challenge)
      const answers = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => exchange({ code, verifier }, "127.0.7.3"),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 401, 401, 401, 401, 401, 401, 401]
      )
    })
  )

  it.effect(
    "OPR-46, OPR-152: no page of another site, no installation's token and no token of nobody makes a code",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { token } = yield* makeOperator("viewer")
        const { call } = yield* signIn(token)
        const { challenge, verifier } = proof()
        const body = { challenge, name: "pix" }
        for (const site of ["cross-site", "same-site", "none", undefined]) {
          assertRefused(yield* call("POST", codes, { body, headers: { "sec-fetch-site": site } }), "FORBIDDEN")
        }
        assertRefused(yield* operate("POST", codes, { body }), "FORBIDDEN")
        assertRefused(
          yield* operate("POST", codes, { body, headers: { "x-operator-token": undefined } }),
          "UNAUTHORIZED"
        )
        const code = yield* codeBy(call, challenge)
        for (const site of ["cross-site", "same-site", "none"]) {
          const answer = yield* exchange({ code, verifier }, "127.0.7.4", { "sec-fetch-site": site })
          assertRefused(answer, "FORBIDDEN")
        }
        assert.strictEqual((yield* exchange({ code, verifier }, "127.0.7.4")).status, 201)
        assertRefused(yield* call("POST", codes, { body: { challenge: "short", name: "" } }), "VALIDATION_ERROR", [
          "challenge",
          "name"
        ])
      })
  )

  it.effect("OPR-150, OPR-152: neither database nor audit log have code or token; both uses are entries", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { call, id } = yield* makeOperator("developer")
      const { challenge, verifier } = proof()
      const code = yield* codeBy(call, challenge)
      const { body } = yield* exchange({ code, verifier }, "127.0.7.5")
      const entries = yield* sql<{ action: string; via: string; resource_id: string }>`
        SELECT action, via, resource_id, operator_id FROM audit WHERE operator_id = ${id}::uuid ORDER BY id`
      assert.deepStrictEqual(
        entries.map(({ action, via }) => [action, via]),
        [
          ["session.code", "token"],
          ["operatorTokens.create", "code"]
        ]
      )
      assert.strictEqual(entries[1]!.resource_id, body.id)
      const stored = JSON.stringify([yield* sql`SELECT * FROM operator_tokens`, yield* sql`SELECT * FROM audit`])
      for (const secret of [code, verifier, body.token]) assert.notInclude(stored, secret)
    })
  )

  it.effect("OPR-5, OPR-151: wrong codes are failed sign-ins, which are limited", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.forEach(Array.from({ length: 41 }), () =>
        exchange({ code: `pixcode_${random()}`, verifier: random() }, "127.0.7.6")
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [...Array.from({ length: 40 }, () => 401), 429]
      )
    })
  )
})
