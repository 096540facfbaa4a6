/** Settlements by hand, and what the bank says against the books, in the dashboard. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { operated, simulated } from "../support/Money.ts"
import { overduePayout, overdueRefundOf, overdueReturn } from "../support/Overdue.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }
const SETTLE = "Settle by hand"
const approvalOf = (id: string) =>
  Effect.map(
    operated<{ data: ReadonlyArray<{ id: string; resource: { id: string } | null }> }>("GET", "/approvals"),
    ({ data }) => data.find(({ resource }) => resource?.id === id)!.id
  )

const reason = "as the bank's clerk says"

layer(TestService.layer({ settings }), { excludeTestServices: true })("Settlements in the dashboard", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-215, OPR-350: a payout is settled by another operator's approval, and shows what the bank says then",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        const { one, other } = yield* makeApprovers
        const id = yield* overduePayout
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/payouts/${id}`)
          await visit.signIn(one.token)
          await visit.press(SETTLE)
          await visit.look("settle-payout")
          // What was sent has an id.
          await visit.fill(SETTLE, { "What the bank did": "completed", Reason: reason })
          await page.getByText("Not accepted. As the bank shows it.").waitFor()
          visit.forgetFaults()
          await visit.fill(SETTLE, { "End-to-end id optional": "E1234" })
          await page.getByRole("status").getByRole("link", { name: "Approvals" }).waitFor()
          const waiting = await runPromise(approvalOf(id))
          assert.strictEqual((await runPromise(approve(other.call, waiting))).status, 200)
          await page.goto(`/payouts/${id}`)
          await page.getByRole("main").getByText("completed").first().waitFor()
          assert.strictEqual(await page.getByRole("button", { name: SETTLE }).count(), 0)
          await runPromise(simulated(`/payouts/${id}/fail`, { reason: "closed" }))
          await visit.inspect("payout-contradicted", `/payouts/${id}`, "R$ 50,00")
          await page.getByRole("link", { name: "The bank says: it was not sent" }).click()
          await page.getByRole("main").getByRole("link", { name: "R$ 50,00" }).waitFor()
          visit.assertNoFault()
        })
      })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Settlements by one person", (it) => {
  it.effect.skipIf(!hasBrowser)("OPR-215, OPR-350: a refund and the return of an exception", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { chargeId } = yield* overdueRefundOf()
      const exceptionId = yield* overdueReturn
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto(`/charges/${chargeId}`)
        await visit.signIn(operatorToken)
        await visit.press(SETTLE)
        await visit.submit(SETTLE, { "What the bank did": "failed", Reason: reason })
        await page.getByText(reason).first().waitFor()
        await visit.inspect("charge-settled", `/charges/${chargeId}`, "R$ 10,00")
        await page.goto(`/exceptions/${exceptionId}`)
        await visit.press(SETTLE)
        await visit.submit(SETTLE, {
          "What the bank did": "completed",
          "Id of the return optional": "D1234",
          Reason: reason
        })
        await page.getByRole("main").getByText("returned").first().waitFor()
        visit.assertNoFault()
      })
      const after = yield* operated<{ status: string }>("GET", `/exceptions/${exceptionId}`)
      assert.strictEqual(after.status, "resolved")
    })
  )
})
