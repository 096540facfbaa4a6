/**
 * The dashboard in a real browser, against the service.
 *
 * Guarantees, for each page: axe finds nothing in light and dark, in English and Portuguese, and at 360 px; the console has no
 * error, and thus no violation of the page's policy. Its pictures are in `.vitest/dashboard`.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, launch } from "./Browser.ts"
import { openPage } from "./DashboardPage.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"

const root = join(import.meta.dirname, "../../../..")
const pictures = join(root, ".vitest/dashboard")

// The service reads the built files as it starts.
if (hasBrowser) execFileSync(process.execPath, [join(root, "packages/dashboard/build.mjs")], { stdio: "inherit" })

const browser = Effect.acquireRelease(Effect.promise(launch), (opened) => Effect.promise(() => opened.close()))

/** Opens a path as a new visit would, in each form, and looks at it. */
const inspect = async (
  { faults, page, problemsOf }: Awaited<ReturnType<typeof openPage>>,
  name: string,
  path: string,
  heading: string | RegExp
) => {
  const look = async (form: string) => {
    await page.screenshot({ path: join(pictures, `${name}-${form}.png`), fullPage: true })
    assert.deepStrictEqual(await problemsOf(), [], `${name}, ${form}`)
  }
  await page.emulateMedia({ colorScheme: "light" })
  await page.goto(path)
  await page.getByRole("heading", { level: 1, name: heading }).waitFor()
  await look("light")
  await page.emulateMedia({ colorScheme: "dark" })
  await look("dark")
  await page.emulateMedia({ colorScheme: "light" })
  await page.setViewportSize({ width: 360, height: 800 })
  assert.isAtMost(await widthOf(page), 360, `${name} is wider than the screen`)
  await look("narrow")
  await page.setViewportSize({ width: 1320, height: 860 })
  assert.deepStrictEqual(faults.splice(0), [], name)
}

const widthOf = (page: Page): Promise<number> =>
  page.locator("html").evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth)

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Dashboard", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "every page, in light and dark and on a narrow screen, has nothing that axe or the console report",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const world = yield* makeDashboardWorld
        const opened = yield* browser
        yield* Effect.promise(async () => {
          mkdirSync(pictures, { recursive: true })
          const visit = await openPage(opened, operatorUrl)
          await inspect(visit, "sign-in", "/", "Sign in")
          await signIn(visit.page, operatorToken)

          for (const [name, path, heading] of [
            ["today", "/", "Today"],
            ["charges", "/charges", "Charges"],
            ["charge", `/charges/${world.chargeId}`, "R$ 45,90"],
            ["payouts", "/payouts", "Payouts"],
            ["payout", `/payouts/${world.payoutId}`, "R$ 250,00"],
            ["disputes", "/disputes", "Disputes"],
            ["dispute", `/disputes/${world.disputeId}`, "R$ 89,90"],
            ["deliveries", "/deliveries", "Deliveries"],
            ["delivery", `/deliveries/${world.deliveryId}`, "charge.pix.paid"],
            ["requests", "/requests", "Requests"],
            ["ledger", "/ledger", "Ledger"],
            ["accounts", "/accounts", "Accounts"],
            ["account", `/accounts/${world.accountId}`, "Padaria do Zé"],
            ["application", `/applications/${world.applicationId}?account=${world.accountId}`, "Loja"],
            ["operators", "/operators", "Operators"],
            ["operator", `/operators/${world.operatorId}`, "operator"],
            ["sessions", "/sessions", "Sessions"],
            ["audit", "/audit", "Audit"]
          ] as const) {
            await inspect(visit, name, path, heading)
          }
          await visit.page.getByRole("button", { name: "Português" }).click()
          await inspect(visit, "today-pt", "/", "Hoje")
          await inspect(visit, "charge-pt", `/charges/${world.chargeId}`, "R$ 45,90")
        })
      }).pipe(Effect.scoped),
    400_000
  )

  it.effect.skipIf(!hasBrowser)(
    "filters and opens charges, pays one, approves a payout, defends a dispute, and shows a key once",
    () =>
      Effect.gen(function* () {
        const { operate, operatorToken, operatorUrl } = yield* TestService
        const world = yield* makeDashboardWorld
        const opened = yield* browser
        yield* Effect.promise(async () => {
          const { faults, page } = await openPage(opened, operatorUrl)
          const button = (name: string) => page.getByRole("main").getByRole("button", { name, exact: true })
          const submit = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click()
          const confirm = async (name: string) => {
            await submit(name)
            await page.getByRole("dialog").waitFor({ state: "hidden" })
          }
          await page.goto("/charges")
          await signIn(page, operatorToken)

          await page.getByLabel("Reference").fill("order-1001")
          await page.keyboard.press("Enter")
          await page.waitForURL(/reference=order-1001/)
          await page.getByRole("link", { name: "R$ 129,90" }).first().waitFor()
          await page.getByRole("link", { name: "R$ 45,90" }).first().waitFor({ state: "detached" })
          await page.getByRole("heading", { level: 1 }).click()
          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await page.waitForURL(/\/charges\/.+/)
          await page.goto(`/charges/${world.pendingId}`)
          await button("Pay").click()
          await confirm("Pay")
          await page.getByRole("heading", { level: 1 }).locator("~ .chip", { hasText: "paid" }).waitFor()

          await page.goto(`/payouts/${world.payoutId}`)
          await button("Approve").click()
          await page.getByRole("dialog").getByText("R$ 250,00").waitFor()
          await confirm("Approve")
          await button("Approve").waitFor({ state: "detached" })

          await page.goto(`/disputes/${world.disputeId}`)
          await button("File defense").click()
          await page.getByLabel("Text").fill("The parcel arrived on 20 November.")
          await confirm("File defense")
          await page.getByText("The parcel arrived on 20 November.").waitFor()

          await page.goto(`/applications/${world.applicationId}`)
          await button("Create key").click()
          await page.getByRole("textbox", { name: "Name" }).fill("shop")
          await page.getByLabel("charge:read").check()
          await confirm("Create key")
          await page.getByText("It is never shown again.").waitFor()
          await page.reload()
          await page.getByRole("cell", { name: "shop" }).waitFor()
          assert.strictEqual(await page.getByText("It is never shown again.").count(), 0)
          assert.deepStrictEqual(faults.splice(0), [])

          // A refused field shows its own message. The browser reports every answer of 400 in its console.
          await page.goto("/accounts")
          await button("Create account").click()
          for (const [label, value] of [
            ["Name", "Loja"],
            ["Legal name", "Loja Ltda"],
            ["CPF or CNPJ", "123"],
            ["Phone", "+5511999998888"]
          ] as const) {
            await page.getByRole("dialog").getByLabel(label, { exact: true }).fill(value)
          }
          await submit("Create account")
          await page.getByText("Not accepted. 11 digits of a CPF").waitFor()
          await page.keyboard.press("Escape")

          await page.getByRole("button", { name: "Sign out" }).click()
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
        })
        const payout = yield* operate<{ status: string }>("GET", `/operator/v1/payouts/${world.payoutId}`)
        assert.notStrictEqual(payout.body.status, "pending")
      }).pipe(Effect.scoped),
    200_000
  )
})

const signIn = async (page: Page, token: string) => {
  await page.getByLabel("Token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("button", { name: "Sign out" }).waitFor()
}
