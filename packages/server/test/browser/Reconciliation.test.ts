/** The pages of reconciliations: a statement file is imported, and the lines of a day are worked through by keyboard. */
import { layer } from "@effect/vitest"
import { statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import * as Effect from "effect/Effect"
import { TestService } from "../support/TestService.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { operated } from "../support/Money.ts"
import { loopback } from "../support/Receiver.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Reconciliation", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-273, OPR-277: a statement is imported on the page, and its day's lines are opened with the keyboard",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const world = yield* makeDashboardWorld
        const file = statementFile(
          {
            bank: "364",
            branch: "0001",
            account: "12345-6",
            from: "2026-11-24",
            to: "2026-11-24",
            openingCents: 0,
            lines: [{ atMs: Date.parse("2026-11-24T15:00:00Z"), cents: -150, endToEndId: "", text: "TARIFA PIX" }]
          },
          { ...tidy, balances: true, repeats: true }
        )
        const day = yield* operated<{ balance: object }>("GET", `/reconciliations/${world.reconciliationId}`)
        yield* visiting(operatorUrl, async (visit) => {
          await visit.signIn(world.adminToken)
          const { page } = visit
          await visit.inspect("reconciliations", "/reconciliations", "Reconciliation")
          // It was compared, and a line of it waits for a person.
          await page.getByRole("row", { name: "25/11/2026 Banco de teste differs" }).first().waitFor()
          await page.getByRole("button", { name: "Import statement" }).click()
          await page.getByLabel("Connection").selectOption({ label: "Banco de teste" })
          await page
            .getByLabel("Files")
            .setInputFiles({ name: "november.ofx", mimeType: "text/plain", buffer: Buffer.from(file) })
          await visit.look("reconciliation-import")
          await page.getByRole("dialog").getByRole("button", { name: "Import statement" }).click()
          await page.getByText("1 line read, 1 new, 3 not read").waitFor()
          await page.getByText("it is a balance, not a movement").first().waitFor()
          // It stays for others, who did not import it.
          await visit.inspect("reconciliation-files", "/reconciliations", "Reconciliation")
          await page.getByText(/it repeats line \d+: the same id, day, amount and text/).waitFor()
          await visit.look("reconciliation-imported")

          await visit.inspect("reconciliation", `/reconciliations/${world.reconciliationId}`, "25/11/2026")
          await page.goto(`${operatorUrl}/reconciliations/${world.reconciliationId}`)
          await page.getByText("moved by the owner").first().waitFor()
          await visit.focusRow("not in the books")

          // A line that is right as it is gets an explanation, and nobody has to look at it any more.
          const missing = page.getByRole("row", { name: /not in the books/ }).last()
          await missing.getByRole("button", { name: "Explain" }).click()
          await page.getByLabel("Explanation").fill("The owner paid a supplier from the bank's app")
          await visit.look("reconciliation-explain")
          await page.getByRole("dialog").getByRole("button", { name: "Explain" }).click()
          await missing.getByText("The owner paid a supplier from the bank's app").waitFor()
          await visit.look("reconciliation-explained")
          await page.getByRole("link", { name: "bank fee" }).last().click()
          await page.waitForURL(/state=bank_fee/)
          await page.getByRole("button", { name: "Português" }).click()
          await visit.glance("reconciliation-pt", `/reconciliations/${world.reconciliationId}`, "25/11/2026")
          await visit.glance("reconciliations-pt", "/reconciliations", "Conciliação")
          await page.getByText(/repete a linha \d+: o mesmo id, dia, valor e texto/).waitFor()
          const unread = { ...day.balance, bank: null, books: null, problem: "no answer in 30000 ms" }
          await page.route("**/operator/v1/reconciliations/*", (route) =>
            route.fulfill({ json: { ...day, balance: unread } })
          )
          await page.goto(`${operatorUrl}/reconciliations/${world.reconciliationId}`)
          await page.getByText("sem resposta em 30000 ms").waitFor()
          visit.assertNoFault()
        })
      })
  )
})
