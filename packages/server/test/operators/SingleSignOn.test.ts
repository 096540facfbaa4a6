/** Signing in at an identity provider, real (`oidc-provider`) and lying. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Secrets } from "../../src/base/Secrets.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { callbackPath, type Lie, LyingProvider, RealProvider } from "../support/Oidc.ts"
import { makeOperator, newestEntries, sameOrigin } from "../support/Operators.ts"
import { type Call, type Fields, newKey, TestService } from "../support/TestService.ts"

const session = "/operator/v1/session"
const start = `${session}/oidc`
const anonymous = { "x-operator-token": undefined }

layer(RealProvider.withService, { excludeTestServices: true })("Single sign-on", (it) => {
  it.effect("OPR-133, OPR-134: an operator signs in with a verified e-mail address, and is then known by subject", () =>
    Effect.gen(function* () {
      const { signsIn } = yield* RealProvider
      const { email, id } = yield* named("operator")
      signsIn("ana", { email: email.toUpperCase(), email_verified: true, role: "operator" })
      const first = yield* browse
      assert.strictEqual(first.location, "/#sign-in=done")
      assert.match(first.cookies["pix_operator"]!, /^[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
      assert.match(first.cookies["pix_sign_in"]!, /^; Path=\/; HttpOnly; SameSite=Lax; Max-Age=0$/)
      const { body } = yield* first.call<{ operator: Fields }>("GET", session)
      assert.deepInclude(body.operator, { id, email, role: "operator" })

      // The provider has another address of the same person now.
      signsIn("ana", { email: "married@example.com", email_verified: true, role: ["staff", "operator"] })
      const second = yield* browse
      assert.deepInclude((yield* second.call<{ operator: Fields }>("GET", session)).body.operator, { id, email })

      const entries = yield* newestEntries(3)
      assert.deepStrictEqual(
        entries.map(({ action, operator_id, via }) => [action, operator_id, via]),
        [
          ["session.start", id, "oidc"],
          ["session.start", id, "oidc"],
          ["operators.link", null, "oidc"]
        ]
      )
      assert.strictEqual(entries[2]!.resource_id, id)
    })
  )

  it.effect(
    "OPR-134: an unknown, unverified, deactivated or taken e-mail address signs in nobody and creates nobody",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { signsIn } = yield* RealProvider
        const { email } = yield* named("viewer")
        const inactive = yield* named("viewer")
        yield* operate("PATCH", `/operator/v1/operators/${inactive.id}`, { body: { active: false } })
        const operators = yield* countOperators
        const role = "viewer"
        for (const claims of [
          { email: "nobody@example.com", email_verified: true, role },
          { email, email_verified: false, role },
          { email, email_verified: "true", role },
          { email, role },
          { email_verified: true, role },
          { email: [email], email_verified: true, role },
          { email: inactive.email, email_verified: true, role },
          { email, email_verified: true },
          { email, email_verified: true, role: "owner" }
        ]) {
          signsIn(newKey(), claims)
          assert.deepInclude(
            yield* browse,
            { location: "/#sign-in=UNAUTHORIZED", isSignedIn: false },
            JSON.stringify(claims)
          )
        }
        signsIn("first", { email, email_verified: true, role })
        assert.isTrue((yield* browse).isSignedIn)
        // Somebody else has the address now, as when it is given to a successor.
        signsIn("successor", { email, email_verified: true, role })
        assert.isFalse((yield* browse).isSignedIn)
        assert.strictEqual(yield* countOperators, operators)
      })
  )

  it.effect("OPR-134: a deactivated operator does not sign in, though its subject is known", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { signsIn } = yield* RealProvider
      const { email, id } = yield* named("viewer")
      signsIn("leaver", { email, email_verified: true, role: "viewer" })
      const before = yield* browse
      yield* operate("PATCH", `/operator/v1/operators/${id}`, { body: { active: false } })
      assertRefused(yield* before.call("GET", session), "UNAUTHORIZED")
      assert.isFalse((yield* browse).isSignedIn)
    })
  )

  it.effect("OPR-135: the claim narrows the role of the session and never widens it", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { signsIn } = yield* RealProvider
      for (const [own, claim, expected] of [
        ["viewer", "admin", "viewer"],
        ["operator", ["admin"], "operator"],
        ["admin", "operator", "operator"],
        ["admin", ["viewer", "developer"], "developer"],
        ["developer", "operator", "viewer"],
        ["developer", ["operator", "developer"], "developer"]
      ] as const) {
        const { email, id } = yield* named(own)
        signsIn(newKey(), { email, email_verified: true, role: claim })
        const { call } = yield* browse
        const role = Effect.map(call<{ operator: Fields }>("GET", session), ({ body }) => body.operator["role"])
        assert.strictEqual(yield* role, expected, `${own}, ${String(claim)}`)
        const tokens = yield* call("POST", `/operator/v1/operators/${id}/tokens`, { body: { name: "escape" } })
        const links = yield* call("POST", `${session}/link`)
        if (expected !== own) for (const answer of [tokens, links]) assertRefused(answer, "FORBIDDEN")
        else assert.deepStrictEqual([tokens.status, links.status], [201, 201])
        if (expected === "viewer")
          assertRefused(yield* call("POST", "/operator/v1/accounts", { body: {} }), "FORBIDDEN")
        // A role that an admin takes away is gone with the next request.
        yield* operate("PATCH", `/operator/v1/operators/${id}`, { body: { role: "viewer" } })
        assert.strictEqual(yield* role, "viewer")
      }
    })
  )

  it.effect("OPR-133: a sign-in begins on a page of ours, with PKCE, state and nonce", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      for (const site of ["cross-site", "same-site"]) {
        assertRefused(yield* operate("GET", start, { headers: { ...anonymous, "sec-fetch-site": site } }), "FORBIDDEN")
      }
      const sent = yield* Effect.forEach(["same-origin", "none"], (site) =>
        Effect.map(
          operate("GET", start, { headers: { ...anonymous, "sec-fetch-site": site } }),
          ({ headers, status }) => {
            assert.strictEqual(status, 303)
            return new URL(headers.location!).searchParams
          }
        )
      )
      for (const parameters of sent) {
        assert.strictEqual(parameters.get("code_challenge_method"), "S256")
        for (const name of ["state", "nonce", "code_challenge"]) assert.match(parameters.get(name)!, /^[\w-]{43}$/)
      }
      for (const name of ["state", "nonce", "code_challenge"]) {
        assert.notStrictEqual(sent[0]!.get(name), sent[1]!.get(name))
      }
      const tls = yield* operate("GET", start, { headers: { ...anonymous, "x-forwarded-proto": "https" } })
      assert.match(
        String(tls.headers["set-cookie"]),
        /^__Host-pix_sign_in=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/
      )
      assert.match(
        new URL(tls.headers.location!).searchParams.get("redirect_uri")!,
        /^https:.*\/session\/oidc\/callback$/
      )
    })
  )
})

layer(LyingProvider.withService, { excludeTestServices: true })("A lying identity provider", (it) => {
  it.effect("OPR-136: what does not fit the sign-in is refused, and a provider that fails is unavailable", () =>
    Effect.gen(function* () {
      const { answers, issuer, strangersKey } = yield* LyingProvider
      const { email } = yield* named("operator")
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const cases: ReadonlyArray<readonly [string, Lie, string]> = [
        ["another nonce", { claims: { nonce: newKey() } }, "UNAUTHORIZED"],
        ["no nonce", { claims: { nonce: undefined } }, "UNAUTHORIZED"],
        ["another audience", { claims: { aud: "somebody-else" } }, "UNAUTHORIZED"],
        ["another authorised party", { claims: { aud: ["pix-payments", "b"], azp: "b" } }, "UNAUTHORIZED"],
        ["another issuer", { claims: { iss: "https://issuer.example" } }, "UNAUTHORIZED"],
        ["an expired token", { claims: { iat: now - 7200, exp: now - 3600 } }, "UNAUTHORIZED"],
        ["no expiry", { claims: { exp: undefined } }, "UNAUTHORIZED"],
        ["no subject", { claims: { sub: undefined } }, "UNAUTHORIZED"],
        ["a long subject", { claims: { sub: "s".repeat(256) } }, "UNAUTHORIZED"],
        ["a stranger's signature", { key: strangersKey }, "UNAUTHORIZED"],
        ["no signature", { header: { alg: "none" } }, "UNAUTHORIZED"],
        ["no token", { respond: (_, response) => void json(response, {}) }, "UNAUTHORIZED"],
        [
          "an error",
          { respond: (_, response) => void json(response, { error: "invalid_grant" }, 400) },
          "UNAUTHORIZED"
        ],
        ["a redirect", { respond: redirectTo(`${issuer}/jwks`) }, "UNAUTHORIZED"],
        ["a failure", { respond: (_, response) => void response.writeHead(502).end() }, "SERVICE_UNAVAILABLE"],
        ["a cut connection", { respond: (request) => void request.socket.destroy() }, "SERVICE_UNAVAILABLE"],
        ["an endless body", { respond: endless }, "SERVICE_UNAVAILABLE"],
        ["no answer", { respond: () => {} }, "SERVICE_UNAVAILABLE"]
      ]
      for (const [name, lie, expected] of cases) {
        const began = yield* begin
        answers(began.nonce, { email, email_verified: true, role: "operator" }, lie)
        const ended = yield* began.comeBack({ code: "c", state: began.state })
        assert.deepInclude(ended, { location: `/#sign-in=${expected}`, isSignedIn: false }, name)
      }
      // The control: the truth is accepted.
      const began = yield* begin
      answers(began.nonce, { email, email_verified: true, role: "operator" })
      assert.isTrue((yield* began.comeBack({ code: "c", state: began.state })).isSignedIn)
    })
  )

  it.effect("OPR-136: a callback without its own cookie, with another state or from another issuer asks nobody", () =>
    Effect.gen(function* () {
      const { answers, tokenRequests } = yield* LyingProvider
      const secrets = yield* Secrets
      const { email } = yield* named("operator")
      const [mine, other] = [yield* begin, yield* begin]
      answers(mine.nonce, { email, email_verified: true, role: "operator" })
      const before = tokenRequests()
      const owner = { kind: "sign-in", id: "oidc" } as const
      const late = secrets.seal(
        JSON.stringify({
          state: mine.state,
          nonce: mine.nonce,
          verifier: newKey(),
          expiresAtMs: (yield* Clock.currentTimeMillis) - 1
        }),
        owner
      )
      const foreign = secrets.seal("{}", { kind: "connection", id: "oidc" })
      const changed = `${mine.cookie.slice(0, -2)}${mine.cookie.endsWith("AA") ? "BB" : "AA"}`
      for (const [name, cookie, parameters] of [
        ["no cookie", undefined, { code: "c", state: mine.state }],
        ["the cookie of another browser", other.cookie, { code: "c", state: mine.state }],
        ["a changed cookie", changed, { code: "c", state: mine.state }],
        ["no sealed text", "pix_sign_in=x", { code: "c", state: mine.state }],
        ["a text that was sealed for something else", `pix_sign_in=${foreign}`, { code: "c", state: mine.state }],
        ["a cookie of ten minutes ago", `pix_sign_in=${late}`, { code: "c", state: mine.state }],
        ["no state", mine.cookie, { code: "c" }],
        ["another state", mine.cookie, { code: "c", state: other.state }],
        ["another issuer", mine.cookie, { code: "c", state: mine.state, iss: "https://issuer.example" }],
        ["no code", mine.cookie, { state: mine.state }],
        ["a refusal", mine.cookie, { error: "access_denied", state: mine.state }]
      ] as const) {
        const ended = yield* comeBack(cookie, parameters)
        assert.deepInclude(ended, { location: "/#sign-in=UNAUTHORIZED", isSignedIn: false }, name)
      }
      assert.strictEqual(tokenRequests(), before)
    })
  )

  it.effect("OPR-136: a repeated callback starts no second session, also where the provider takes a code twice", () =>
    Effect.gen(function* () {
      const { answers } = yield* LyingProvider
      const sql = yield* SqlClient
      const { email, id } = yield* named("operator")
      const began = yield* begin
      answers(began.nonce, { sub: newKey(), email, email_verified: true, role: "operator" })
      const ended = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => began.comeBack({ code: "c", state: began.state }),
        { concurrency: 8 }
      )
      assert.lengthOf(
        ended.filter(({ isSignedIn }) => isSignedIn),
        1
      )
      assert.isFalse((yield* began.comeBack({ code: "c", state: began.state })).isSignedIn)
      const rows = yield* sql`SELECT id FROM operator_sessions WHERE operator_id = ${id}::uuid`
      assert.lengthOf(rows, 1)
    })
  )

  it.effect(
    "OPR-136: callbacks of a browser that began nothing, as images of a foreign page, limit nobody's sign-ins",
    () =>
      Effect.gen(function* () {
        const from = "127.0.9.21"
        for (let i = 0; i < 60; i++) {
          assert.strictEqual((yield* comeBack(undefined, { code: "c" }, from)).location, "/#sign-in=UNAUTHORIZED")
        }
        assert.strictEqual((yield* comeBack("pix_sign_in=x", { code: "c" }, from)).location, "/#sign-in=UNAUTHORIZED")
      })
  )

  it.effect("OPR-5, OPR-136: failed callbacks are failed sign-ins of their address", () =>
    Effect.gen(function* () {
      const from = "127.0.9.20"
      for (let i = 0; i < 40; i++) {
        assert.strictEqual(
          (yield* comeBack(`pix_sign_in=${i}`, { code: "c" }, from)).location,
          "/#sign-in=UNAUTHORIZED"
        )
      }
      assert.strictEqual((yield* comeBack("pix_sign_in=x", { code: "c" }, from)).location, "/#sign-in=RATE_LIMITED")
    })
  )
})

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })(
  "No identity provider",
  (it) => {
    it.effect("OPR-133: the routes are unknown", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        for (const path of [start, callbackPath]) {
          assertRefused(yield* operate("GET", path, { headers: anonymous }), "NOT_FOUND")
        }
      })
    )
  }
)

/** An operator with its e-mail address. */
const named = Effect.fn("named")(function* (role: Parameters<typeof makeOperator>[0]) {
  const { operate } = yield* TestService
  const { id } = yield* makeOperator(role)
  const { body } = yield* operate<{ email: string }>("GET", `/operator/v1/operators/${id}`)
  return { id, email: body.email }
})

const countOperators = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM operators`
  return row!.count
})

/** A new browser that follows every redirect, from the beginning to the page. */
const browse = Effect.gen(function* () {
  const { operate, operatorUrl } = yield* TestService
  const jar = new Map<string, string>()
  const last = yield* Effect.promise(async () => {
    let url = `${operatorUrl}${start}`
    for (let hops = 0; hops < 12; hops++) {
      const { origin } = new URL(url)
      const kept = [...jar].flatMap(([key, value]) => (key.startsWith(`${origin} `) ? [value] : []))
      const response = await fetch(url, { redirect: "manual", headers: { cookie: kept.join("; ") } })
      for (const line of response.headers.getSetCookie()) {
        const [pair = ""] = line.split(";")
        jar.set(`${origin} ${pair.split("=")[0]}`, pair)
      }
      const location = response.headers.get("location")
      if (location === null) throw new Error(`${url}: ${response.status} ${await response.text()}`)
      if (location.startsWith("/#")) return { location, lines: response.headers.getSetCookie() }
      url = new URL(location, url).href
    }
    throw new Error(`too many redirects: ${url}`)
  })
  return endOf(operate, last.location, last.lines)
})

const endOf = (operate: Call, location: string, lines: ReadonlyArray<string>) => {
  const cookies: Readonly<Record<string, string>> = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
  )
  const cookie = `pix_operator=${cookies["pix_operator"]?.split(";")[0]}`
  const call: Call = (method, path, options = {}) =>
    operate(method, path, { ...options, headers: { ...anonymous, cookie, ...sameOrigin, ...options.headers } })
  return { location, cookies, isSignedIn: cookies["pix_operator"] !== undefined, call }
}

/** Comes back from the provider with these parameters. */
const comeBack = Effect.fn("comeBack")(function* (
  cookie: string | undefined,
  parameters: Readonly<Record<string, string>>,
  from?: string
) {
  const { operate } = yield* TestService
  const answer = yield* operate("GET", `${callbackPath}?${new URLSearchParams(parameters)}`, {
    from,
    headers: { ...anonymous, cookie, "sec-fetch-site": "cross-site" }
  })
  assert.strictEqual(answer.status, 303, answer.text)
  return endOf(operate, String(answer.headers.location), answer.headers["set-cookie"] ?? [])
})

/** Begins a sign-in, and stops at the provider's door. */
const begin = Effect.gen(function* () {
  const { operate } = yield* TestService
  const { headers } = yield* operate("GET", start, { headers: anonymous })
  const { searchParams } = new URL(String(headers.location))
  const [cookie = ""] = String(headers["set-cookie"]?.[0]).split(";")
  return {
    cookie,
    state: searchParams.get("state")!,
    nonce: searchParams.get("nonce")!,
    comeBack: (parameters: Readonly<Record<string, string>>) => comeBack(cookie, parameters)
  }
})

type Respond = NonNullable<Lie["respond"]>
type Response = Parameters<Respond>[1]

const json = (response: Response, body: unknown, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

const redirectTo =
  (location: string): Respond =>
  (_, response) =>
    void response.writeHead(307, { location }).end()

const endless: Respond = (_, response) => {
  response.writeHead(200, { "content-type": "application/json" })
  const write = () => {
    while (!response.destroyed && response.write(" ".repeat(65_536)));
  }
  response.on("drain", write)
  write()
}
