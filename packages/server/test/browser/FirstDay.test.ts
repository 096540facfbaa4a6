/** The first day of an installation, in the dashboard alone. */
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { created } from "../support/ChargeRequests.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting, waitForCount } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("First day", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-170: sign in, create an account, an application and a key, see a charge arrive, pay it, return a part, and see the money",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        yield* visiting(operatorUrl, async (visit) => {
          const { page, press, submit } = visit
          await visit.signIn(operatorToken)
          await page.getByText("Nothing waits for a person.").waitFor()

          await page.getByRole("link", { name: "Accounts" }).click()
          await press("Create account")
          await submit("Create account", {
            Name: "Padaria Central",
            "Legal name": "Padaria Central Ltda",
            "CPF or CNPJ": "11.222.333/0001-81",
            Phone: "+5511999998888"
          })
          await page.getByRole("heading", { level: 1, name: "Padaria Central" }).waitFor()
          await press("Create application")
          await submit("Create application", { Name: "Checkout" })
          await page.getByRole("heading", { level: 1, name: "Checkout" }).waitFor()
          await press("Create key")
          const dialog = page.getByRole("dialog")
          for (const scope of ["charge:read", "charge:write"]) await dialog.getByLabel(scope).check()
          await submit("Create key", { Name: "web" })
          const key = await page.locator(".secret code").textContent()

          await page.getByRole("link", { name: "Charges" }).click()
          await page.getByText("No charge yet.").waitFor()
          await page.locator("[data-live=live]").waitFor()
          await runPromise(created(key!, { amount: 4590, reference: "order-1" }))
          const row = page.getByRole("row").filter({ hasText: "order-1" })
          await row.getByText("pending").waitFor()

          await row.getByRole("link").click()
          await page.getByRole("img", { name: "QR code of the charge" }).waitFor()
          await press("Pay")
          await submit("Pay")
          await page.locator("h1 ~ .chip", { hasText: "paid" }).waitFor()
          await page.getByRole("img", { name: "QR code of the charge" }).waitFor({ state: "detached" })

          await press("Return")
          await visit.fill("Return", { "Amount optional": "twelve" })
          await dialog.getByText("Not accepted. In reais, as 12,34.").waitFor()
          await submit("Return R$ 12,34", { "Amount optional": "12,34" })
          await page.getByRole("row").filter({ hasText: "R$ 12,34" }).getByText("completed").waitFor()
          await page.getByText("R$ 33,56 left").waitFor()

          await page.getByRole("link", { name: "Today" }).click()
          const tile = (name: string, value: string) =>
            page.locator(".tile").filter({ hasText: name }).locator("strong").filter({ hasText: value }).waitFor()
          await tile("Received today", "R$ 45,90")
          await tile("Returned today", "R$ 12,34")
          await tile("Sent today", "R$ 0,00")
          await tile("Net today", "R$ 33,56")
          await page.getByText("Paid of all charges, since the start").waitFor()
          visit.assertNoFault()
          await waitForCount(page.getByRole("img", { name: "Per day" }), 1)
        })
      })
  )
})
