/** The dashboard follows the event stream. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Page } from "playwright-core"
import { created } from "../support/ChargeRequests.ts"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("Live", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-102: charges appear and change while their list is open, without losing focus or a dialog",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate, operatorToken, operatorUrl, runPromise } = yield* inBrowser
        const { key } = yield* makeCaller()
        const first = yield* created(key, { amount: 1100, reference: "first" })
        const pay = (id: string) =>
          runPromise(operate("POST", `/operator/v1/simulator/charges/${id}/pay`, { body: {} }))
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.getByRole("link", { name: "Charges" }).click()
          await isLive(page)
          await row(page, "first").getByRole("link").focus()
          const second = await runPromise(created(key, { amount: 2200, reference: "second" }))
          await row(page, "second").getByText("pending").waitFor()
          await pay(second.id)
          await row(page, "second").getByText("paid").waitFor()
          assert.strictEqual(
            await page.evaluate("document.activeElement.innerText.trim().replace(/\\s/g, ' ')"),
            "R$ 11,00"
          )

          await page.keyboard.press("Enter")
          await page.waitForURL(/\/charges\/.+/)
          await visit.press("Cancel charge")
          await pay(first.id)
          await page.getByRole("dialog").getByText("R$ 11,00").waitFor()
          await page.keyboard.press("Escape")
          await page.getByRole("heading", { level: 1 }).locator("~ .chip", { hasText: "paid" }).waitFor()
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-102, OPR-104: a hidden page has no stream; shown again it continues, and after 410 it loads everything again",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl, runPromise } = yield* inBrowser
        const { key } = yield* makeCaller()
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.getByRole("link", { name: "Charges" }).click()
          await isLive(page)
          await show(page, false)
          await page.locator("[data-live=paused]").waitFor()
          await runPromise(created(key, { reference: "while hidden" }))
          const continued = page.waitForRequest(/events\/stream/)
          await show(page, true)
          assert.match((await continued).headers()["last-event-id"] ?? "", /\.\d+$/)
          await row(page, "while hidden").waitFor()

          await show(page, false)
          await page.locator("[data-live=paused]").waitFor()
          await runPromise(created(key, { reference: "not kept" }))
          await page.route(/events\/stream/, (route) => route.fulfill({ status: 410, body: "{}" }), { times: 1 })
          await show(page, true)
          await row(page, "not kept").waitFor()
          await isLive(page)
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("OPR-109: a viewer, who has no stream, polls", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorUrl, runPromise } = yield* inBrowser
      const { key } = yield* makeCaller()
      const { token } = yield* makeOperator("viewer")
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await visit.signIn(token)
        await page.getByRole("link", { name: "Charges" }).click()
        await page.locator("[data-live=polling]").waitFor()
        await runPromise(created(key, { reference: "polled" }))
        await row(page, "polled").waitFor()
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-109: an answer slower than the interval is shown, and a load does not start while one is in flight",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          // The live tail asks every 2 s.
          let inFlight = 0
          let most = 0
          await page.route(TAIL, async (route) => {
            inFlight += 1
            most = Math.max(most, inFlight)
            await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
            inFlight -= 1
            await route.fulfill({ json: listOf([ANSWERED]) }).catch(() => {})
          })
          await page.goto("/developers")
          await page.getByRole("log").getByText("GET /v1/slow").waitFor()
          const again = page.waitForResponse(TAIL)
          assert.strictEqual((await again).status(), 200)
          assert.strictEqual(most, 1)
        })
      })
  )
})

const SLOW_MS = 5000
/** What the live tail asks. */
const TAIL = /\/operator\/v1\/requests\?limit=100$/

/** The service, and a way to call it in the middle of a visit. */
const inBrowser = Effect.gen(function* () {
  const context = yield* Effect.context<TestService>()
  return { ...(yield* TestService), runPromise: Effect.runPromiseWith(context) }
})

const isLive = (page: Page) => page.locator("[data-live=live]").waitFor()

const row = (page: Page, reference: string) => page.getByRole("row").filter({ hasText: reference })

/** What the page sees when its tab is shown or hidden. */
const show = (page: Page, isVisible: boolean) =>
  page.evaluate(
    `Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${isVisible ? "visible" : "hidden"}" })`
  )

const listOf = (data: ReadonlyArray<object>) => ({ object: "list", data, has_more: false, next: null, looked_at: 1 })

const ANSWERED = {
  id: "01900000-0000-7000-8000-000000000001",
  object: "request",
  request_id: "req_slow",
  key_id: null,
  resource_id: null,
  route: "GET /v1/slow",
  status: 200,
  duration_ms: SLOW_MS,
  trace_id: null,
  created_at: "2026-01-01T00:00:00.000Z"
}
