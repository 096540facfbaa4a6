/** What a page shows before its data, without any, and where it does not come. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { created } from "../support/ChargeRequests.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("States", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "a page has a skeleton that appears after 150 ms, then its data, which a failure leaves; without data it says what would be there",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const context = yield* Effect.context<TestService>()
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const skeleton = page.locator(".skeleton")
          await page.goto("/charges")
          await visit.signIn(operatorToken)
          await page.getByText("No charge yet.").waitFor()
          await page.goto("/charges?status=paid")
          await page.getByText("Nothing here with these filters.").waitFor()
          const { id } = await Effect.runPromiseWith(context)(created(key, { amount: 4590 }))
          for (const [path, called, shown] of [
            ["/charges", "**/operator/v1/charges?*", "R$ 45,90"],
            [`/charges/${id}`, `**/operator/v1/charges/${id}`, "R$ 45,90"],
            ["/", "**/operator/v1/stats?*", "Received today"]
          ] as const) {
            // The heading of one resource is its amount or name, which its data brings.
            const hasHeading = !path.endsWith(id)
            let answer = () => {}
            const answered = new Promise<void>((resolve) => (answer = resolve))
            await page.route(called, (route) => answered.then(() => route.continue()))
            await page.goto(path)
            await skeleton.first().waitFor({ state: "attached" })
            const style = await skeleton.first().evaluate((element) => {
              const { animationDelay, animationName } = (
                globalThis as unknown as {
                  getComputedStyle: (of: unknown) => Record<"animationDelay" | "animationName", string>
                }
              ).getComputedStyle(element)
              return [animationName, animationDelay]
            })
            assert.deepStrictEqual(style, ["appear", "0.15s"], path)
            if (hasHeading) await visit.look("states-loading")
            answer()
            await page.getByText(shown).first().waitFor()
            await page.unroute(called)
            await skeleton.first().waitFor({ state: "detached" })

            // A call that fails says so, and what to do.
            await page.route(called, (route) => route.abort())
            await page.goto(path)
            await page.getByRole("alert").getByText("The server did not answer.").first().waitFor()
            assert.strictEqual(await skeleton.count(), 0, path)
            if (hasHeading) await visit.look("states-failed")
            await page.unroute(called)
            // The page asks again by itself as well, which may take the button away.
            const again = page.getByRole("alert").getByRole("button", { name: "Try again" })
            await again.evaluateAll(([button]) => (button as { click: () => void } | undefined)?.click())
            await page.getByText(shown).first().waitFor()
            await page.getByRole("alert").waitFor({ state: "detached" })
            visit.forgetFaults()
          }
        })
      })
  )
})
