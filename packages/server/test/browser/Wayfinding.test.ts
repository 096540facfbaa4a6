/** Where a person is after each step: titles, focus, keys, the way back, and what is shown while something is away. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { created } from "../support/ChargeRequests.ts"
import { funded, paidOut } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting, waitForCount } from "./Visit.ts"

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Wayfinding", (it) => {
  it.effect.skipIf(!hasBrowser)("each page has a title, and the focus after a link, a jump and the way back", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorToken, operatorUrl } = yield* TestService
      const { key } = yield* makeCaller()
      for (const amount of [1111, 2222, 3333]) yield* created(key, { amount })
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        const focused = () => page.evaluate<string>("document.activeElement?.textContent ?? ''")
        // The page's policy allows no text as code, so conditions are asked for again.
        const until = async (condition: string) => {
          for (const end = performance.now() + 120_000; performance.now() < end;) {
            if (await page.evaluate<boolean>(condition)) return
            await page.evaluate("new Promise(requestAnimationFrame)")
          }
          assert.fail(
            `${condition}: ${await page.title()}; ${await page.evaluate<string>("document.activeElement?.outerHTML.slice(0, 300)")}`
          )
        }
        const titled = (title: string) =>
          until(`document.title.replaceAll("\\u00a0", " ") === ${JSON.stringify(title)}`)
        await page.goto("/")
        await visit.signIn(operatorToken)
        await titled("Today · Pix payments")
        await visit.jump("c", "/charges")
        await titled("Charges · Pix payments")
        await until("document.activeElement?.tagName === 'H1'")
        assert.strictEqual(await focused(), "Charges")
        const row = page.getByRole("link", { name: /R\$ 22,22/ })
        await row.click()
        await titled("R$ 22,22 · Pix payments")
        await page.goBack()
        await until("document.activeElement?.classList.contains('row')")
        assert.include(await focused(), "22,22")
        await page.keyboard.press("?")
        const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" })
        await keys.getByText("g c").waitFor()
        await visit.look("wayfinding-keys")
        await page.keyboard.press("Escape")
        await keys.waitFor({ state: "hidden" })
        await page.goto("/payouts")
        await titled("Payouts · Pix payments")
        await page.keyboard.press("Tab")
        assert.strictEqual(await focused(), "Skip to the page")
        await page.keyboard.press("Enter")
        assert.strictEqual(await page.evaluate<string>("document.activeElement.id"), "main")
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "after an action the focus is on its result: the state, or the row that it was in",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* funded(50_000, { auto_payout_enabled: false })
        const { id } = yield* created(key, { amount: 4321 })
        yield* paidOut(key, { amount: 800 })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.goto(`/charges/${id}`)
          await visit.press("Cancel charge")
          await visit.submit("Cancel charge")
          await page.locator(".head .chip:focus", { hasText: "canceled" }).waitFor()
          await page.goto("/payouts")
          await visit.press("Approve")
          await visit.submit("Approve")
          await page.locator("a.row:focus", { hasText: "R$ 8,00" }).waitFor()
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("the search leads to pages and actions, in both languages", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/")
        await visit.signIn(operatorToken)
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox", { name: "Search" }).fill("disp")
        await page.getByRole("option", { name: "Page Disputes" }).waitFor()
        await page.keyboard.press("Enter")
        await page.waitForURL("**/disputes?status=open")
        await page.getByRole("button", { name: "Português" }).click()
        await page.getByRole("combobox", { name: "Buscar" }).fill("aprovaco")
        await page.getByRole("option", { name: "Página Aprovações" }).click()
        await page.waitForURL("**/approvals")
        // Each page of the menu is found by its name.
        for (const name of await page.locator("#side > a > span:first-child").allInnerTexts()) {
          await page.getByRole("combobox", { name: "Buscar" }).fill(name)
          await page.getByRole("option", { name: `Página ${name}`, exact: true }).waitFor()
        }
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "an unknown address and a missing resource have a way on, and a copy says what became of it",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.evaluate("history.pushState(null, '', '/nowhere'); dispatchEvent(new PopStateEvent('popstate'))")
          await page.getByRole("heading", { name: "No such page", exact: true }).waitFor()
          await page.getByRole("link", { name: "Go to Today" }).click()
          await page.getByRole("heading", { name: "Today", exact: true }).waitFor()
          visit.assertNoFault()
          for (const path of ["/nowhere", "/charges/one/more"]) {
            assert.strictEqual((await page.goto(path))?.status(), 404)
            await page.getByRole("heading", { name: "No such page", exact: true }).waitFor()
          }
          const answer = await page.request.get("/nowhere", { headers: { accept: "application/json" } })
          assert.deepInclude(await answer.json(), { code: "NOT_FOUND" })
          await page.goto("/charges/00000000-0000-7000-8000-000000000000")
          await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor()
          assert.strictEqual(await page.title(), "Not found · Pix payments")
          await page.getByRole("main").getByRole("link", { name: "Back" }).click()
          await page.waitForURL("**/charges")
          visit.forgetFaults()
          await page.getByRole("heading", { name: "Charges", exact: true }).waitFor()
          // A button says it for two seconds: a busy machine may look later.
          await page.evaluate(`globalThis.said = new Set()
            new MutationObserver(() => document.querySelectorAll("button").forEach(({ textContent }) => said.add(textContent)))
              .observe(document.body, { childList: true, subtree: true, characterData: true })`)
          const says = (text: string) =>
            expect
              .poll(() => page.evaluate<boolean>(`said.has(${JSON.stringify(text)})`), { timeout: 120_000 })
              .toBe(true)
          await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
          await page.evaluate("document.execCommand = () => true")
          await page.getByRole("button", { name: "Copy as curl" }).click()
          await says("Copied")
          await page.evaluate("document.execCommand = () => false")
          await page.getByRole("button", { name: "Copy as curl" }).click()
          await says("Could not copy")
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "the chip says that the database or a bank is away, and not that the page is live",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.route("**/health/ready", (route) =>
            route.fulfill({ contentType: "application/json", body: JSON.stringify({ status: "ok", database: "away" }) })
          )
          await page.goto("/charges")
          await page.getByText("database away").waitFor()
          await waitForCount(page.locator("[data-live]"), 1)
          visit.assertNoFault()
        })
      })
  )
})
