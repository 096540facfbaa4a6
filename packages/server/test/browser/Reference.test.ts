/** The reference page `/docs` in a real browser. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import examples from "../../../api/examples.json" with { type: "json" }
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })("Reference page", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "ADD-3: asks no other host, finds guides by words, and shows a rule in its section of the contract",
    () =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        yield* visiting(publicUrl, async (visit) => {
          const { page } = visit
          const asked = new Set<string>()
          page.on("request", (request) => asked.add(new URL(request.url()).origin))
          await page.goto("/docs")
          await page.getByRole("heading", { name: "First charge", exact: true }).waitFor()
          await page.keyboard.press("Control+k")
          await page.getByRole("combobox").pressSequentially("refund")
          await page.getByRole("option", { name: "Refunds" }).click()
          await page.waitForURL("**/docs#en/description/refunds")
          await page.getByRole("link", { name: "CHG-26" }).first().click()
          await page.getByRole("heading", { name: "The contract", exact: true }).waitFor()
          await page.waitForURL("**/docs#contract/description/charges")
          await page.goBack()
          await page.getByRole("heading", { name: "First charge", exact: true }).waitFor()
          await page.goto("/docs#pt/description/primeira-cobrança")
          await page.getByRole("heading", { name: "Primeira cobrança", exact: true }).waitFor()
          assert.deepStrictEqual([...asked], [publicUrl])
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "ADD-3: its test request is the document's example, and so is the answer that it shows",
    () =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        yield* visiting(publicUrl, async ({ page }) => {
          await page.goto("/docs#en/tag/charges/POST/v1/charges")
          await page.getByText(`"${examples.answers["charges.create"].id}"`).first().waitFor()
          await page.getByRole("button", { name: "Test Request" }).first().click()
          const sent = page.waitForRequest((request) => request.method() === "POST")
          await page.getByRole("button", { name: /^Send/ }).first().click()
          const request = await sent
          assert.strictEqual(request.url(), `${publicUrl}/v1/charges`)
          assert.deepStrictEqual(request.postDataJSON(), examples.requests["charges.create"])
          assert.isNotEmpty(request.headers()["idempotency-key"])
        })
      })
  )
})
