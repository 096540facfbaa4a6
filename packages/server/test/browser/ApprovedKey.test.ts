/** An approved key leads somewhere: its requester sees it once, on the request and on the application. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const PHONE = { width: 390, height: 844 }

layer(TestService.layer(), { excludeTestServices: true })("An approved key", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-115: its requester is told that it is approved, and is shown the key, or a token, once",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorUrl } = yield* TestService
        const { one, other } = yield* makeApprovers
        const { applicationId } = yield* makeCaller()
        const owner = yield* makeOperator("viewer")
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        const approveNewest = async () => {
          const { body } = await runPromise(
            other.call<{ data: ReadonlyArray<{ id: string }> }>("GET", "/operator/v1/approvals?status=pending&limit=1")
          )
          const { status, text } = await runPromise(approve(other.call, body.data[0]!.id))
          assert.strictEqual(status, 200, text)
        }
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const main = page.getByRole("main")
          const askForKey = async (name: string) => {
            await page.goto(`/applications/${applicationId}`)
            await visit.press("Create key")
            await page.getByLabel("payout:write").check()
            await visit.fill("Create key", { Name: name })
            await page.getByRole("dialog").getByText("Another operator has to approve it.").waitFor()
            await page.getByRole("dialog").getByRole("button", { name: "Back" }).click()
            await approveNewest()
          }
          const show = async (button: string, secret: RegExp) => {
            await main.getByRole("button", { name: button }).click()
            await main.getByText("It is never shown again.").waitFor()
            assert.match(await main.locator(".secret code").innerText(), secret)
            await main.getByRole("button", { name: button }).waitFor({ state: "detached" })
          }
          await page.goto(`/applications/${applicationId}`)
          await visit.signIn(one.token)
          // The page of the application says so by itself.
          await askForKey("shop")
          await show("Approved: show the key (once)", /^pix_[\w-]{40,}$/)
          await page.getByRole("cell", { name: "shop" }).waitFor()

          // So does the list of requests, also on a phone.
          await askForKey("till")
          await page.setViewportSize(PHONE)
          await page.goto("/approvals")
          await main.getByRole("button", { name: "Approved: show the key (once)" }).waitFor()
          await visit.look("approved-key")
          await show("Approved: show the key (once)", /^pix_[\w-]{40,}$/)
          await page.setViewportSize({ width: 1280, height: 860 })

          await page.goto(`/operators/${owner.id}`)
          await visit.press("Create token")
          await visit.fill("Create token", { Name: "laptop" })
          await page.getByRole("dialog").getByText("Another operator has to approve it.").waitFor()
          await page.getByRole("dialog").getByRole("button", { name: "Back" }).click()
          await approveNewest()
          await show("Approved: show the token (once)", /^[\w-]{40,}$/)
          visit.assertNoFault()
        })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/approvals")
          await visit.signIn(other.token)
          await page
            .getByRole("row", { name: /Create an API key/ })
            .first()
            .waitFor()
          assert.strictEqual(await page.getByRole("button", { name: /Approved: show/ }).count(), 0)
        })
      })
  )
})
