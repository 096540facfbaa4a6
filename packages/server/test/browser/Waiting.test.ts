/** Counts in the navigation, returns, and outbox failures. */
import { layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../support/ChargeRequests.ts"
import { newPix, notified, paymentOf } from "../support/Exceptions.ts"
import { operated, paidCharge, simulated } from "../support/Money.ts"
import { overdueReturn } from "../support/Overdue.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting, waitForCount } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("Waiting", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-144, OPR-29: the navigation counts what waits, live, and an outbox failure is retried",
    () =>
      Effect.gen(function* () {
        const context = yield* Effect.context<TestService>()
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 4590)
        yield* operated("POST", `/charges/${id}/refund`, { amount: 590 })
        yield* sql`INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at,
            last_failed_at)
          SELECT uuidv7(), id, account_id, 0, 'division by zero', now(), now() FROM changes
          WHERE resource_id = ${id}::uuid LIMIT 1`
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          // Metrics are of the process, where another file's service may have called another bank.
          const latency = page.locator("dt", { hasText: "Acquirer: simulator" }).locator("+ dd")
          await latency.getByText(/p50 (?:≤ [\d.]+ ms|> 10 s), p95 (?:≤ [\d.]+ ms|> 10 s)/).waitFor()
          await page.getByRole("link", { name: "Outbox failures 1" }).waitFor()
          await page.getByRole("link", { name: "Disputes", exact: true }).waitFor()
          await Effect.runPromiseWith(context)(simulated(`/charges/${id}/infraction`, { reason: "fraud" }, 201))
          await page.getByRole("link", { name: "Disputes 1" }).waitFor()

          await page.getByRole("link", { name: "Returns" }).click()
          const row = page.getByRole("row").filter({ hasText: "R$ 5,90" })
          await row.getByText("completed").waitFor()
          await row.getByRole("link", { name: "R$ 5,90" }).click()
          await page.waitForURL(new RegExp(`/charges/${id}`))

          await page.getByRole("link", { name: "Outbox failures" }).click()
          await page.getByRole("row").filter({ hasText: "division by zero" }).waitFor()
          await visit.press("Retry")
          await visit.submit("Retry")
          await page.getByText("No failure.").waitFor()
          await page.getByRole("link", { name: "Outbox failures", exact: true }).waitFor()
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-80, OPR-144, OPR-215: the first page has all open exceptions, with the money of them that is not allocated, also of a return that only a person ends",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const { id } = yield* created(key, { amount: 1000 })
        yield* notified(paymentOf(id, { amount: 900 }))
        const med = { _tag: "med.opened", txid: "", endToEndId: newPix(), externalId: newPix(), reason: "x" } as const
        yield* notified({ ...med, amount: 50_000 })
        // 30,00 whose return hangs.
        yield* overdueReturn
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          const row = page.getByRole("link", { name: "3 exceptions are open" })
          await row.getByText("R$ 39,00 not allocated").waitFor()
          await visit.look("waiting-exceptions")
          await page.setViewportSize({ width: 390, height: 844 })
          await visit.look("waiting-exceptions-phone")
          await row.click()
          await waitForCount(page.locator("a.row"), 3)
          visit.assertNoFault()
        })
      })
  )
})
