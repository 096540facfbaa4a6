/** Masked data in the dashboard. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { created } from "../support/ChargeRequests.ts"
import { operated } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("Reveal", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-48, OPR-49: a developer reveals a charge once, also while the page stays open; a viewer cannot",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate, operatorUrl } = yield* TestService
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        const { key } = yield* makeCaller()
        const { id } = yield* created(key)
        const developer = yield* makeOperator("developer")
        const viewer = yield* makeOperator("viewer")
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/charges/${id}`)
          await visit.signIn(developer.token)
          await page.getByText("***982247**").waitFor()
          await page.locator("[data-live=live]").waitFor()
          await visit.press("Reveal")
          await page.getByText("529.982.247-25").waitFor()
          // The page loads the charge again, and keeps what was revealed.
          await runPromise(operate("POST", `/operator/v1/simulator/charges/${id}/pay`, { body: {} }))
          await page.locator("h1 ~ .chip", { hasText: "paid" }).waitFor()
          await page.getByText("529.982.247-25").waitFor()
          visit.assertNoFault()
        })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/charges/${id}`)
          await visit.signIn(viewer.token)
          await page.getByText("***982247**").waitFor()
          assert.strictEqual(await page.getByRole("button", { name: "Reveal" }).count(), 0)
        })
        const { data } = yield* operated<{ data: ReadonlyArray<{ action: string; resource_id: string }> }>(
          "GET",
          "/audit"
        )
        const revealed = data.filter(({ action }) => action === "charges.reveal")
        assert.deepStrictEqual(
          revealed.map((entry) => entry.resource_id),
          [id]
        )
      })
  )
})
