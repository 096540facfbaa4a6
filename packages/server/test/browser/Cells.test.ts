/** Two cells, whose dashboards lead to each other. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(
  TestService.layer({
    settings: {
      cell: Option.some("sul-1"),
      cells: [
        { name: "sul-1", url: "http://127.0.0.1:1" },
        { name: "sul-2", url: "http://sul-2.localhost" }
      ]
    }
  }),
  { excludeTestServices: true }
)("Cells", (it) => {
  it.effect.skipIf(!hasBrowser)("OPR-390, OPR-393: the dashboard says which cell it is, and leads to the others", () =>
    Effect.gen(function* () {
      const { makeCaller, operate, operatorToken, operatorUrl } = yield* TestService
      const { accountId } = yield* makeCaller()
      assert.strictEqual(
        (yield* operate("POST", `/operator/v1/accounts/${accountId}/move`, { body: { target: "sul-2" } })).status,
        202
      )
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await visit.signIn(operatorToken)
        const cells = page.getByRole("combobox", { name: "Cell" })
        assert.strictEqual(await cells.inputValue(), "sul-1")
        await visit.inspect("moved-account", `/accounts/${accountId}`, /./)
        await page.getByText("moved to another cell").first().waitFor()
        await page.getByText("sul-2", { exact: true }).last().waitFor()
        visit.assertNoFault()
        await page.route("http://sul-2.localhost/**", (route) => route.fulfill({ body: "the other cell" }))
        await cells.selectOption("sul-2")
        await page.getByText("the other cell").waitFor()
      })
    })
  )
})
