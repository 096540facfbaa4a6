/** Signing in, sessions and their cookies. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import { assertRefused, instant } from "../support/ChargeRequests.ts"
import { unknownId } from "../support/Declared.ts"
import type { List } from "../support/Operator.ts"
import { makeOperator, sameOrigin, signIn, withoutFourEyes, withToken } from "../support/Operators.ts"
import { TestService, whenFree } from "../support/TestService.ts"

const session = "/operator/v1/session"
const sessions = "/operator/v1/sessions"
const accounts = "/operator/v1/accounts"

const OPS = "ops.example"

const settings = { logLevel: "none", operatorHosts: ["127.0.0.1", OPS] } as const

layer(TestService.layer({ settings }), { excludeTestServices: true })("Sessions", (it) => {
  it.effect("OPR-44: a token starts a session, whose cookie scripts cannot read and other sites cannot send", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id, token } = yield* makeOperator("operator")
      const { answer, call, cookie, id: sessionId, setCookie } = yield* signIn(token)
      assert.match(setCookie, /^pix_operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
      assert.deepInclude<unknown>(answer.body, {
        object: "session",
        via: "session",
        operator: {
          id,
          name: "operator",
          email: (answer.body as never)["operator"]["email"],
          role: "operator",
          account_ids: null
        },
        settings: { acquirer: "simulator", cell: null, cells: [] }
      })
      assert.notInclude(answer.text, cookie.slice("pix_operator=".length))
      assert.match(String((answer.body as never)["expires_at"]), instant)
      assert.deepStrictEqual((yield* call("GET", session)).body, answer.body)
      assert.strictEqual((yield* call("GET", accounts)).status, 200)
      assertRefused(yield* call("POST", accounts, { body: {} }), "FORBIDDEN")
      const [row] = yield* sql`SELECT hash, address, expires_at - created_at = interval '12 hours' AS is_bounded
        FROM operator_sessions WHERE id = ${sessionId}::uuid`
      const hash = createHash("sha256").update(cookie.slice("pix_operator=".length)).digest("hex")
      assert.deepStrictEqual(row, { hash, address: "127.0.0.1", is_bounded: true })
      // With a token there is no session.
      const { operate } = yield* TestService
      const { body } = yield* withToken(operate, token)("GET", session)
      assert.deepInclude<unknown>(body, { id: null, via: "token", expires_at: null })
    })
  )

  it.effect("OPR-44: over TLS the cookie is `Secure` and has the prefix `__Host-`", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { token } = yield* makeOperator("viewer")
      for (const tls of [{ origin: "https://ops.example" }, { "x-forwarded-proto": "https" }]) {
        const headers = { "x-operator-token": undefined, ...tls }
        const answer = yield* operate("POST", session, { body: { token }, headers })
        const setCookie = String(answer.headers["set-cookie"]?.[0])
        assert.match(setCookie, /^__Host-pix_operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
        const cookie = setCookie.split(";")[0]!
        const found = yield* operate("GET", session, {
          headers: { "x-operator-token": undefined, cookie, ...sameOrigin }
        })
        assert.strictEqual(found.status, 200)
      }
    })
  )

  it.effect("OPR-44: over TLS a cookie without the prefix, which another host can set, does not count", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { cookie } = yield* signIn((yield* makeOperator("viewer")).token)
      const get = (headers: Record<string, string>) =>
        Effect.map(
          operate("GET", session, { headers: { "x-operator-token": undefined, cookie, ...sameOrigin, ...headers } }),
          ({ status }) => status
        )
      assert.strictEqual(yield* get({}), 200)
      for (const tls of [{ origin: "https://localhost" }, { "x-forwarded-proto": "https" }]) {
        assert.strictEqual(yield* get(tls), 401)
        assert.strictEqual(yield* get({ ...tls, cookie: `__Host-${cookie}` }), 200)
      }
      // A browser sends `Sec-Fetch-Site` to a name over TLS only.
      assert.strictEqual(yield* get({ host: OPS }), 401)
      assert.strictEqual(yield* get({ host: OPS, cookie: `__Host-${cookie}` }), 200)
    })
  )

  it.effect("OPR-46: a request with a cookie comes from the same origin, and has a body only as JSON", () =>
    Effect.gen(function* () {
      const { token } = yield* makeOperator("admin")
      const { call } = yield* signIn(token)
      for (const site of ["cross-site", "same-site", "none", undefined]) {
        assertRefused(yield* call("GET", accounts, { headers: { "sec-fetch-site": site } }), "FORBIDDEN")
      }
      yield* withoutFourEyes
      const body = JSON.stringify({ name: "A", email: "json@example.com", role: "viewer" })
      const path = "/operator/v1/operators"
      for (const type of ["text/plain", "application/x-www-form-urlencoded", undefined]) {
        assertRefused(yield* call("POST", path, { body, headers: { "content-type": type } }), "FORBIDDEN")
      }
      const headers = { "content-type": "application/json; charset=utf-8" }
      assert.strictEqual((yield* call("POST", path, { body, headers })).status, 201)
    })
  )

  it.effect("OPR-46: so does a sign-in in a browser", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { token } = yield* makeOperator("viewer")
      const post = (headers: Record<string, string | undefined>) =>
        operate("POST", session, { body: { token }, headers: { "x-operator-token": undefined, ...headers } })
      for (const site of ["cross-site", "same-site", "none"]) {
        assertRefused(yield* post({ "sec-fetch-site": site }), "FORBIDDEN")
      }
      assertRefused(yield* post({ "content-type": "text/plain" }), "FORBIDDEN")
      assert.strictEqual((yield* post({})).status, 200)
    })
  )

  it.effect("OPR-44: a session ends after 30 minutes without a request, and after 12 hours", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { token } = yield* makeOperator("viewer")
      const { call, id } = yield* signIn(token)
      const seenAt = (ago: string) =>
        sql`UPDATE operator_sessions SET last_seen_at = now() - ${ago}::interval WHERE id = ${id}::uuid`
      yield* seenAt("29 minutes")
      assert.strictEqual((yield* call("GET", session)).status, 200)
      const [row] = yield* sql`SELECT last_seen_at > now() - interval '1 minute' AS is_renewed
        FROM operator_sessions WHERE id = ${id}::uuid`
      assert.deepStrictEqual(row, { is_renewed: true })
      yield* seenAt("30 minutes")
      assertRefused(yield* call("GET", session), "UNAUTHORIZED")

      const second = yield* signIn(token)
      yield* sql`UPDATE operator_sessions SET expires_at = now() WHERE id = ${second.id}::uuid`
      assertRefused(yield* second.call("GET", session), "UNAUTHORIZED")
    })
  )

  it.effect("OPR-45: signing out, ending, deactivating and revoking end sessions with the next request", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { id, token } = yield* makeOperator("viewer")
      const one = yield* signIn(token)
      const two = yield* signIn(token)
      const out = yield* one.call("DELETE", session)
      assert.strictEqual(out.status, 204)
      assert.match(String(out.headers["set-cookie"]), /^pix_operator=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0$/)
      assertRefused(yield* one.call("GET", session), "UNAUTHORIZED")
      assert.strictEqual((yield* two.call("GET", session)).status, 200)
      yield* operate("PATCH", `/operator/v1/operators/${id}`, { body: { active: false } })
      assertRefused(yield* two.call("GET", session), "UNAUTHORIZED")
      yield* operate("PATCH", `/operator/v1/operators/${id}`, { body: { active: true } })
      assertRefused(yield* two.call("GET", session), "UNAUTHORIZED")

      const revoked = yield* makeOperator("viewer")
      const { call } = yield* signIn(revoked.token)
      yield* revoked.call("POST", `/operator/v1/tokens/${revoked.tokenId}/revoke`)
      assertRefused(yield* call("GET", session), "UNAUTHORIZED")
    })
  )

  it.effect("OPR-45: operators list and end their own sessions, and admins everybody's", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const ana = yield* makeOperator("operator")
      const bia = yield* makeOperator("viewer")
      const one = yield* signIn(ana.token)
      const two = yield* signIn(ana.token)
      const others = yield* signIn(bia.token)
      const listed = yield* two.call<List<Record<string, unknown>>>("GET", sessions)
      assert.deepStrictEqual(
        listed.body.data.map((each) => [each["id"], each["operator_id"], each["current"], each["ended_at"]]),
        [
          [two.id, ana.id, true, null],
          [one.id, ana.id, false, null]
        ]
      )
      assertRefused(yield* two.call("POST", `${sessions}/${others.id}/end`), "NOT_FOUND")
      for (const id of [unknownId, "x"]) assertRefused(yield* two.call("POST", `${sessions}/${id}/end`), "NOT_FOUND")
      assert.strictEqual((yield* two.call("POST", `${sessions}/${one.id}/end`)).status, 200)
      assertRefused(yield* one.call("GET", session), "UNAUTHORIZED")
      const all = yield* operate<List<{ id: string }>>("GET", sessions)
      assert.includeMembers(
        all.body.data.map(({ id }) => id),
        [one.id, two.id, others.id]
      )
      assert.strictEqual((yield* operate("POST", `${sessions}/${others.id}/end`)).status, 200)
      assertRefused(yield* others.call("GET", session), "UNAUTHORIZED")
    })
  )

  it.effect("OPR-47: a link signs in once within five minutes, as its maker", () =>
    Effect.gen(function* () {
      const { operate, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const { call, id } = yield* makeOperator("developer")
      const link = Effect.map(
        call<{ url: string; expires_at: string }>("POST", `${session}/link`),
        ({ body, status }) => {
          assert.strictEqual(status, 201)
          const [, token = ""] = /#link=(pixlink_[\w-]{43})$/.exec(body.url) ?? []
          assert.strictEqual(body.url, `${operatorUrl}/#link=${token}`)
          assert.match(body.expires_at, instant)
          return token
        }
      )
      const token = yield* link
      const [row] = yield* sql`SELECT expires_at - created_at = interval '5 minutes' AS is_short FROM operator_tokens
        WHERE operator_id = ${id}::uuid AND kind = 'link'`
      assert.deepStrictEqual(row, { is_short: true })
      // It is not a token.
      assertRefused(yield* withToken(operate, token)("GET", accounts), "UNAUTHORIZED")
      const { answer } = yield* signIn(token)
      assert.deepInclude<unknown>((answer.body as never)["operator"], { id, role: "developer" })
      const use = (sent: string) =>
        operate("POST", session, { body: { token: sent }, headers: { "x-operator-token": undefined } })
      assertRefused(yield* use(token), "UNAUTHORIZED")
      const late = yield* link
      yield* sql`UPDATE operator_tokens SET expires_at = now() WHERE kind = 'link' AND revoked_at IS NULL`
      assertRefused(yield* use(late), "UNAUTHORIZED")
      const unused = yield* link
      yield* operate("PATCH", `/operator/v1/operators/${id}`, { body: { active: false } })
      assertRefused(yield* use(unused), "UNAUTHORIZED")
    })
  )

  it.effect("OPR-45, OPR-43: who is active again is not signed in by what began at the deactivation", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const { id, token } = yield* makeOperator("viewer")
      const signedIn = yield* signIn(token)
      const path = `/operator/v1/operators/${id}`
      yield* operate("PATCH", path, { body: { active: false } })
      // As if their statements had waited for the deactivation.
      yield* sql`UPDATE operator_sessions SET ended_at = NULL WHERE operator_id = ${id}::uuid`
      yield* sql`UPDATE operator_tokens SET revoked_at = NULL WHERE operator_id = ${id}::uuid`
      yield* operate("PATCH", path, { body: { active: true } })
      assertRefused(yield* signedIn.call("GET", accounts), "UNAUTHORIZED")
      assertRefused(yield* withToken(operate, token)("GET", accounts), "UNAUTHORIZED")
    })
  )

  it.effect("OPR-47: a hundred uses of a link at the same moment start one session", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const { call, id } = yield* makeOperator("viewer")
      const { body } = yield* call<{ url: string }>("POST", `${session}/link`)
      const token = body.url.slice(body.url.indexOf("pixlink_"))
      // From several addresses, because failed sign-ins are limited by address.
      const uses = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, index) => `127.0.10.${1 + (index % 10)}`),
        (from) =>
          whenFree(operate("POST", session, { body: { token }, from, headers: { "x-operator-token": undefined } })),
        { concurrency: 100 }
      )
      assert.isAtMost(uses.filter(({ status }) => status === 200).length, 1)
      for (const { status } of uses) assert.include([200, 401], status)
      const rows = yield* sql`SELECT id FROM operator_sessions WHERE operator_id = ${id}::uuid`
      assert.lengthOf(rows, 1)
    })
  )

  it.effect(
    "OPR-47, OPR-131: the database has the hash of a link, and the audit log says who made and who used it",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const sql = yield* SqlClient
        const { call, id } = yield* makeOperator("developer")
        const { body } = yield* call<{ url: string }>("POST", `${session}/link`)
        const token = body.url.slice(body.url.indexOf("pixlink_"))
        const [stored] = yield* sql`SELECT id, hash, row_to_json(t)::text LIKE ${`%${token.slice(14)}%`} AS is_plain
        FROM operator_tokens t WHERE operator_id = ${id}::uuid AND kind = 'link'`
        const hash = createHash("sha256").update(token).digest("hex")
        assert.deepInclude(stored, { hash, is_plain: false })
        const started = yield* signIn(token)
        const { body: audit } = yield* operate<List<Record<string, unknown>>>("GET", "/operator/v1/audit")
        const entries = audit.data.filter((entry) => entry["operator_id"] === id)
        assert.deepStrictEqual(
          entries.map(({ action, resource_id, via }) => [action, resource_id, via]),
          [
            ["session.start", started.id, "link"],
            ["session.link", stored!["id"], "token"]
          ]
        )
        assert.notInclude(JSON.stringify(audit), token)
      })
  )

  it.effect(
    "OPR-5, OPR-6: sign-ins with wrong tokens and cookies are limited together; a session that works continues",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { token } = yield* makeOperator("viewer")
        const from = "127.0.9.9"
        const post = (sent: string) =>
          operate("POST", session, { body: { token: sent }, from, headers: { "x-operator-token": undefined } })
        const started = yield* post(token)
        const cookie = String(started.headers["set-cookie"]?.[0]).split(";")[0]!
        const get = (value: string) =>
          operate("GET", accounts, { from, headers: { "x-operator-token": undefined, cookie: value, ...sameOrigin } })
        assert.strictEqual((yield* get(cookie)).status, 200)
        for (let i = 0; i < 20; i++) {
          assertRefused(yield* post(`wrong-${i}`), "UNAUTHORIZED")
          assertRefused(yield* get(`pix_operator=wrong-${i}`), "UNAUTHORIZED")
        }
        const limited = yield* post("wrong")
        assertRefused(limited, "RATE_LIMITED")
        assert.match(String(limited.headers["retry-after"]), /^\d+$/)
        assertRefused(yield* get("pix_operator=wrong"), "RATE_LIMITED")
        assert.strictEqual((yield* get(cookie)).status, 200)
        assert.strictEqual((yield* post(token)).status, 200)
      })
  )

  it.effect("OPR-5: a session that has ended is no failed sign-in, however often its page asks", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { token } = yield* makeOperator("viewer")
      const from = "127.0.9.10"
      const { call, id } = yield* signIn(token)
      yield* operate("POST", `${sessions}/${id}/end`)
      for (let i = 0; i < 50; i++) assertRefused(yield* call("GET", session, { from }), "UNAUTHORIZED")
      assert.strictEqual((yield* withToken(operate, token)("GET", session, { from })).status, 200)
    })
  )

  it.effect("OPR-2: a sign-in with a wrong, empty or malformed token is refused", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const post = (body: unknown) =>
        operate("POST", session, { body, from: "127.0.9.11", headers: { "x-operator-token": undefined } })
      for (const token of ["x", key, "pixop_x", `pixop_${"a".repeat(43)}`, `pixlink_${"a".repeat(43)}`]) {
        assertRefused(yield* post({ token }), "UNAUTHORIZED")
      }
      for (const token of ["", "x".repeat(513), 1, null]) {
        assertRefused(yield* post({ token }), "VALIDATION_ERROR", ["token"])
      }
      assertRefused(yield* post("{"), "VALIDATION_ERROR")
    })
  )

  it.effect("OPR-40: the installation's token signs in as an admin without a row", () =>
    Effect.gen(function* () {
      const { operate, operatorToken } = yield* TestService
      const { answer, call } = yield* signIn(operatorToken)
      assert.deepStrictEqual<unknown>((answer.body as never)["operator"], {
        id: null,
        name: "operator",
        email: null,
        role: "admin",
        account_ids: null
      })
      assertRefused(yield* call("POST", `${session}/link`), "FORBIDDEN")
      const linked = yield* operate<{ url: string }>("POST", `${session}/link`)
      const again = yield* signIn(linked.body.url.slice(linked.body.url.indexOf("pixlink_")))
      assert.deepInclude<unknown>((again.answer.body as never)["operator"], { id: null, role: "admin" })
    })
  )
})
