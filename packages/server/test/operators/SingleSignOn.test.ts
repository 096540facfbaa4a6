/** Signing in at a real identity provider, `oidc-provider`. One that lies: `LyingIdentityProvider.test.ts`. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../support/ChargeRequests.ts"
import { callbackPath, RealProvider } from "../support/Oidc.ts"
import { newestEntries } from "../support/Operators.ts"
import { anonymous, endOf, named, start } from "../support/SignOns.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const session = "/operator/v1/session"

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
