/** An identity provider that lies or fails, and callbacks that nobody began: they sign in nobody. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Secrets } from "../../src/base/Secrets.ts"
import { callbackPath, type Lie, LyingProvider } from "../support/Oidc.ts"
import { anonymous, endOf, named, start } from "../support/SignOns.ts"
import { newKey, TestService } from "../support/TestService.ts"

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
