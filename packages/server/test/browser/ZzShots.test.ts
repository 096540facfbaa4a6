import { layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { mkdirSync } from "node:fs"
import { SqlClient } from "effect/sql/SqlClient"
import { closeDays } from "../support/Closing.ts"
import { TestService } from "../support/TestService.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { loopback } from "../support/Receiver.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }
const out = "/tmp/books37/shots"
layer(TestService.layer({ settings }), { excludeTestServices: true })("Shots", (it) => {
  it.effect.skipIf(!hasBrowser)("shots", () =>
    Effect.gen(function* () {
      mkdirSync(out, { recursive: true })
      const { operatorUrl, operatorToken } = yield* TestService
      const world = yield* makeDashboardWorld
      yield* closeDays(3)
      const sql = yield* SqlClient
      const [range] = yield* sql<{ a: string; b: string }>`SELECT min(day)::text a, max(day)::text b FROM ledger_transfers`
      yield* Effect.sync(() => process.stdout.write(JSON.stringify({ range, world }) + "\n"))
      const period = `from=${range!.a}&to=${range!.b}`
      const pages: Record<string, string> = {
        statement: `/statements?account_id=${world.accountId}&${period}`,
        bankstatement: `/statements?connection_id=${SIMULATOR_CONNECTION}&${period}`,
        statements: `/statements`,
        closes: `/closes?account_id=${world.accountId}`,
        bankcloses: `/closes?connection_id=${SIMULATOR_CONNECTION}`,
        reconciliations: "/reconciliations",
        reconciliation: `/reconciliations/${world.reconciliationId}`,
        charge: `/charges/${world.chargeId}`
      }
      yield* visiting(operatorUrl, async (visit) => {
        await visit.signIn(operatorToken)
        const { page } = visit
        for (const language of ["en", "pt"]) {
          if (language === "pt") {
            await page.goto("/")
            await page.getByRole("button", { name: "Português" }).click()
          }
          for (const [name, path] of Object.entries(pages)) {
            await page.emulateMedia({ colorScheme: "light" })
            await page.goto(path)
            await page.locator("h1").first().waitFor()
            await page.waitForTimeout(700)
            await page.screenshot({ path: `${out}/${name}-${language}.png`, fullPage: true })
            await page.emulateMedia({ colorScheme: "dark" })
            await page.screenshot({ path: `${out}/${name}-${language}-dark.png`, fullPage: true })
            await page.emulateMedia({ colorScheme: "light" })
            await page.setViewportSize({ width: 390, height: 844 })
            await page.waitForTimeout(200)
            await page.screenshot({ path: `${out}/${name}-${language}-390.png`, fullPage: true })
            await page.setViewportSize({ width: 1280, height: 860 })
          }
          await page.goto("/reconciliations")
          await page.getByRole("button", { name: language === "en" ? "Import statement" : "Importar extrato" }).click()
          await page.waitForTimeout(300)
          await page.screenshot({ path: `${out}/import-${language}.png` })
          await page.setViewportSize({ width: 390, height: 844 })
          await page.emulateMedia({ colorScheme: "dark" })
          await page.screenshot({ path: `${out}/import-${language}-390-dark.png` })
          await page.setViewportSize({ width: 1280, height: 860 })
          await page.emulateMedia({ colorScheme: "light" })
        }
        const { writeFileSync } = await import("node:fs")
        for (const [kind, id] of [["charges", world.chargeId], ["payouts", world.sentPayoutId]]) {
          for (const language of ["en", "pt"]) {
            const pdf = await page.request.get(`/operator/v1/${kind}/${id}/receipt?format=pdf&language=${language}`)
            writeFileSync(`${out}/receipt-${kind}-${language}.pdf`, await pdf.body())
            await page.goto(`/operator/v1/${kind}/${id}/receipt?format=html&language=${language}`)
            await page.screenshot({ path: `${out}/receipt-${kind}-${language}.png`, fullPage: true })
            await page.setViewportSize({ width: 390, height: 844 })
            await page.screenshot({ path: `${out}/receipt-${kind}-${language}-390.png`, fullPage: true })
            await page.setViewportSize({ width: 1280, height: 860 })
          }
        }
      })
    })
  )
})
