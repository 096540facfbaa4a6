/** The search box, the settings, and the brakes with their banner. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { created } from "../support/ChargeRequests.ts"
import { operated } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("Settings and search", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-122: payouts are stopped by a dialog, every page says so, and are released; the name and an account's limit change",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        const { accountId } = yield* makeCaller()
        yield* visiting(operatorUrl, async (visit) => {
          const { page, press, submit } = visit
          await page.goto("/settings")
          await visit.signIn(operatorToken)
          await visit.inspect("settings-released", "/settings", "Settings")
          await press("Stop payouts")
          await page.getByRole("dialog").getByText("no payout of every account is sent").waitFor()
          await visit.look("settings-dialog")
          await submit("Stop payouts")
          const banner = page.getByRole("status").filter({ hasText: "Payouts are stopped" })
          await banner.waitFor()
          await visit.inspect("charges-stopped", "/charges", "Charges")
          await banner.waitFor()
          await banner.getByRole("link", { name: "Settings" }).click()
          await press("Release payouts")
          await submit("Release payouts")
          await banner.waitFor({ state: "detached" })
          await press("Rename")
          await submit("Rename", { Name: "Banco Azul" })
          await page.getByText("Banco Azul").waitFor()

          await page.goto(`/accounts/${accountId}`)
          await press("Stop charges")
          await submit("Stop charges")
          await page.getByRole("button", { name: "Release charges" }).waitFor()
          await press("Change")
          await visit.fill("Change", { "Approval limit optional": "a lot" })
          await page.getByText("Not accepted. In reais, as 1.000,00").waitFor()
          await submit("Change", { "Automatic payouts": "no", "Approval limit optional": "1.000,50" })
          await page.getByText("payouts above R$ 1.000,50 need two operators").waitFor()
          await press("Change")
          // Another operator's change, which the open form does not undo.
          await runPromise(operated("PATCH", `/accounts/${accountId}`, { auto_payout_enabled: true }))
          await submit("Change", { "Approval limit optional": "2.000,00" })
          await page.getByText("payouts above R$ 2.000,00 need two operators").waitFor()
          await press("Change")
          await visit.look("account-change")
          await submit("Change", { "Bank in OFX optional": "341", "Number in OFX optional": "12345-6" })
          await page.getByText("341 / 12345-6").waitFor()

          // The audit log has what it was before.
          await page.goto("/audit")
          const entry = page.getByRole("row").filter({ hasText: "approval limit" }).first()
          await entry.locator("summary").click()
          await entry.getByText("approval limit: 100050 200000").waitFor()
          await visit.look("audit-entry")
          visit.assertNoFault()
        })
        const account = yield* operated<Readonly<Record<string, unknown>>>("GET", `/accounts/${accountId}`)
        assert.deepInclude(account, {
          charges_paused: true,
          payouts_paused: false,
          approval_limit: 200_000,
          auto_payout_enabled: true
        })
        assert.deepInclude(yield* operated<Readonly<Record<string, unknown>>>("GET", "/installation"), {
          name: "Banco Azul",
          payouts_paused: false
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-125: the search is reached, used and left with the keyboard, and a screen reader hears its results",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const charge = yield* created(key, { reference: "order-find" })
        const other = yield* created(key, { reference: "order-find" })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/accounts")
          await visit.signIn(operatorToken)
          await page.getByRole("heading", { level: 1 }).waitFor()
          const box = page.getByRole("combobox", { name: "Search" })
          await page.goto("/settings")
          await page.getByRole("checkbox", { name: "Keyboard shortcuts" }).uncheck()
          await page.getByRole("heading", { level: 1 }).click()
          await page.keyboard.press("/")
          assert.isFalse(await box.evaluate((element) => element.matches(":focus")), "single keys can be turned off")
          await page.reload()
          await page.getByRole("checkbox", { name: "Keyboard shortcuts" }).check()
          await page.getByRole("heading", { level: 1 }).click()
          await page.keyboard.press("/")
          // At once: a slow typist's first letters are searched for too.
          await page.keyboard.insertText("order-find")
          await page.getByRole("option").first().waitFor()
          await page.getByRole("status").filter({ hasText: "2 results" }).waitFor({ state: "attached" })
          await visit.look("search")
          assert.strictEqual(await box.getAttribute("aria-activedescendant"), "found-0")
          await page.keyboard.press("ArrowDown")
          assert.strictEqual(await box.getAttribute("aria-activedescendant"), "found-1")
          await page.keyboard.press("Escape")
          await page.getByRole("listbox").waitFor({ state: "hidden" })
          await page.keyboard.press("Control+k")
          await page.keyboard.type("no such thing")
          await page.getByText("Nothing found.").waitFor()
          await page.keyboard.press("Control+k")
          await page.keyboard.insertText(charge.id)
          await page.getByRole("option").first().waitFor()
          const isAsked = Promise.withResolvers<void>()
          await page.route(new RegExp(`/operator/v1/charges/${charge.id}$`), async (route) => {
            await isAsked.promise
            await route.continue()
          })
          await page.keyboard.press("Enter")
          await page.waitForURL(`**/charges/${charge.id}`)
          await page.keyboard.press("Control+k")
          isAsked.resolve()
          await page.getByRole("heading", { level: 1, name: /R\$/ }).waitFor()
          assert.isTrue(
            await box.evaluate((element) => element.matches(":focus")),
            "a page that comes leaves the search"
          )
          await page.keyboard.insertText(other.id)
          await page.getByRole("option").click()
          await page.waitForURL(`**/charges/${other.id}`)
          visit.assertNoFault()
        })
      })
  )
})
