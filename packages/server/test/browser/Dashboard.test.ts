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
import { created } from "../support/ChargeRequests.ts"
import { paidCharge } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, launch } from "./Browser.ts"
import { openPage } from "./DashboardPage.ts"

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

layer(TestService.layer({}), { excludeTestServices: true })("Dashboard", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "signs in, and shows charges and one charge",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        yield* created(key, { amount: 12_990, reference: "order-1001" })
        const { id } = yield* paidCharge(key, 4590, { reference: "order-1002" })
        const opened = yield* browser
        yield* Effect.promise(async () => {
          mkdirSync(pictures, { recursive: true })
          const visit = await openPage(opened, operatorUrl)
          const { faults, page } = visit
          await inspect(visit, "sign-in", "/", "Sign in")

          await page.goto("/charges")
          await page.getByLabel("Token").fill(operatorToken)
          await page.getByRole("button", { name: "Sign in" }).click()
          await page.getByRole("link", { name: "R$ 45,90" }).click()
          await page.getByText("order-1002").waitFor()
          assert.isTrue(page.url().endsWith(`/charges/${id}`))
          await page.goBack()
          await page.getByLabel("Reference").fill("order-1001")
          await page.keyboard.press("Enter")
          await page.waitForURL(/reference=order-1001/)
          await page.getByRole("link", { name: "R$ 45,90" }).waitFor({ state: "detached" })
          assert.deepStrictEqual(faults.splice(0), [])

          await inspect(visit, "charges", "/charges", "Charges")
          await inspect(visit, "charge", `/charges/${id}`, "R$ 45,90")

          await page.getByRole("button", { name: "Português" }).click()
          await inspect(visit, "charges-pt", "/charges", "Cobranças")
          await page.getByRole("button", { name: "Sair" }).click()
          await page.getByRole("heading", { name: "Entrar" }).waitFor()
          assert.deepStrictEqual(faults.splice(0), [])
        })
      }).pipe(Effect.scoped),
    180_000
  )
})
