/** Signing in to the dashboard in a real browser. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeOperator } from "../support/Operators.ts"
import { RealProvider } from "../support/Oidc.ts"
import { type Call, TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })("Sign-in page", (it) => {
  it.effect.skipIf(!hasBrowser)("OPR-132: a link signs in once and leaves the address; a used one says so", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const { call } = yield* makeOperator("viewer")
      const { body } = yield* call<{ url: string }>("POST", "/operator/v1/session/link")
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        const sent: Array<string> = []
        page.on("request", (request) => sent.push(request.url()))
        // A prefetch requests the page without running it.
        assert.strictEqual((await page.request.get(body.url)).status(), 200)
        await page.goto(body.url)
        await page.getByRole("button", { name: "Sign out" }).waitFor()
        assert.strictEqual(page.url(), `${operatorUrl}/`)
        await visit.look("sign-in-by-link")
        visit.assertNoFault()
        for (const url of sent) assert.notInclude(url.split("#")[0], "pixlink_")

        // In another tab of the page, where the fragment is all that changes.
        await page.getByRole("button", { name: "Sign out" }).click()
        await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor()
        await page.goto(body.url)
        await page.getByText("This link was used before").waitFor()
        await visit.look("sign-in-link-refused")
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-242: a link that arrives while somebody is signed in asks before it replaces them",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const mine = yield* makeOperator("operator")
        const other = yield* makeOperator("viewer")
        const linkOf = (call: Call) =>
          Effect.map(call<{ url: string }>("POST", "/operator/v1/session/link"), ({ body }) => body.url)
        const link = yield* linkOf(other.call)
        const another = yield* linkOf(other.call)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const role = async () => {
            const answer = await page.request.get("/operator/v1/session", {
              headers: { "sec-fetch-site": "same-origin" }
            })
            return ((await answer.json()) as { operator: { role: string } }).operator.role
          }
          await visit.signIn(mine.token)
          // In the tab that is open, where the fragment is all that changes.
          await page.goto(link)
          await page.getByText("You are signed in as operator.").waitFor()
          assert.notInclude(page.url(), "pixlink_")
          await visit.look("link-question")
          assert.strictEqual(await role(), "operator")
          await page.getByRole("button", { name: "Stay operator" }).click()
          await page.getByRole("button", { name: "Sign out" }).waitFor()
          assert.strictEqual(await role(), "operator")
          // In a new visit. The link was not used up.
          await page.goto("about:blank")
          await page.goto(link)
          await page.getByRole("button", { name: "Sign in by the link" }).click()
          await page.getByRole("button", { name: "Sign out" }).waitFor()
          assert.strictEqual(await role(), "viewer")
          visit.assertNoFault()
          await page.goto("about:blank")
          await page.goto(another)
          await page.getByRole("button", { name: "Stay viewer" }).waitFor()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("OPR-242: where the service does not say who is signed in, a link asks too", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const mine = yield* makeOperator("operator")
      const other = yield* makeOperator("viewer")
      const { body } = yield* other.call<{ url: string }>("POST", "/operator/v1/session/link")
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await visit.signIn(mine.token)
        await page.goto("about:blank")
        await page.route("**/operator/v1/session", (route) => route.fulfill({ status: 503, body: "" }))
        await page.goto(body.url)
        await page.getByText("You may be signed in already").waitFor()
        await page.unroute("**/operator/v1/session")
        await page.getByRole("button", { name: "Do not use the link" }).click()
        await page.getByRole("button", { name: "Sign out" }).waitFor()
        assert.include(await page.content(), 'title="operator"')
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("a sign-in without an answer ends and says so, and can be repeated", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.addInitScript({ content: IMPATIENT })
        await page.goto("/")
        // Every sign-in until the page has given up, not only the first that comes here: it may give up before one does.
        await page.route("**/operator/v1/session", async (route) => {
          if (route.request().method() !== "POST") return route.continue()
        })
        await page.getByLabel("Token").fill(operatorToken)
        await page.getByRole("button", { name: "Sign in", exact: true }).click()
        await page.getByText("The server did not answer.").waitFor()
        await page.unroute("**/operator/v1/session")
        await page.evaluate("AbortSignal.timeout = globalThis.patientTimeout")
        await visit.signIn(operatorToken)
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("OPR-132: a prerendered page does not use up its link until it is shown", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const { call, token } = yield* makeOperator("viewer")
      const { body } = yield* call<{ url: string }>("POST", "/operator/v1/session/link")
      yield* visiting(operatorUrl, async ({ page }) => {
        await page.addInitScript({ content: PRERENDERED })
        const posts: Array<string> = []
        page.on("request", (request) => request.method() === "POST" && posts.push(request.url()))
        await page.goto(body.url, { waitUntil: "networkidle" })
        assert.deepStrictEqual(posts, [])
        await page.evaluate("globalThis.show()")
        await page.getByRole("button", { name: "Sign out" }).waitFor()
        assert.lengthOf(posts, 1)
      })
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/")
        await page.getByLabel("Token").fill("wrong")
        await page.keyboard.press("Enter")
        await page.getByText("This token is not accepted.").waitFor()
        visit.forgetFaults()
        await visit.signIn(token)
        visit.assertNoFault()
      })
    })
  )
})

layer(RealProvider.withService, { excludeTestServices: true })("Single sign-on page", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-133, OPR-137: the identity provider's button signs in, and a refusal is explained on the page",
    () =>
      Effect.gen(function* () {
        const { operate, operatorUrl } = yield* TestService
        const { signsIn } = yield* RealProvider
        const { id } = yield* makeOperator("operator")
        const { body } = yield* operate<{ email: string }>("GET", `/operator/v1/operators/${id}`)
        const button = { name: "Sign in with your company's account" }
        signsIn("nobody", { email: "nobody@example.com", email_verified: true, role: "operator" })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.inspect("sign-in-provider", "/", "Sign in")
          await page.getByRole("link", button).click()
          await page.getByText("Your account does not sign in here.").waitFor()
          assert.strictEqual(page.url(), `${operatorUrl}/`)
          await visit.look("sign-in-provider-refused")
          visit.assertNoFault()
        })
        signsIn("ana", { email: body.email, email_verified: true, role: "operator" })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await page.getByRole("link", button).click()
          await page.getByRole("button", { name: "Sign out" }).waitFor()
          assert.strictEqual(page.url(), `${operatorUrl}/`)
          // The page that was asked for is shown after the sign-in.
          await page.getByRole("button", { name: "Sign out" }).click()
          await page.goto("/payouts?status=processing")
          await page.getByRole("link", button).click()
          await page.getByRole("heading", { level: 1, name: "Payouts" }).waitFor()
          assert.strictEqual(page.url(), `${operatorUrl}/payouts?status=processing`)
          // The session continues in a new visit.
          await page.goto("/charges")
          await page.getByRole("heading", { level: 1, name: "Charges" }).waitFor()
          visit.assertNoFault()
        })
      })
  )
})

/** A page as a browser prerenders it, until `show`. */
const PRERENDERED = `
  let hidden = true
  Object.defineProperty(document, "prerendering", { get: () => hidden })
  globalThis.show = () => {
    hidden = false
    document.dispatchEvent(new Event("prerenderingchange"))
  }
`

/** A page that waits a moment only for each answer. */
const IMPATIENT = `globalThis.patientTimeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = () => globalThis.patientTimeout(100)`
