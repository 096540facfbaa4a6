/** Approvals: two operators decide by mouse and by keyboard, and nobody decides their own request. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeApprovers, payoutAboveLimit, requested } from "../support/Approvals.ts"
import { holding, operated, paidOut } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("Approvals", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-113, OPR-116: a payout is requested by one operator and approved by another, two requests are rejected at once",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const { one, other } = yield* makeApprovers
        const { accountId, key, payout } = yield* payoutAboveLimit()
        yield* operated("PATCH", `/accounts/${accountId}`, { payout_duplicate_window: 3600 })
        const repeat = yield* paidOut(key, { ...holding, amount: 1000 })
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        const changes = [
          yield* requested("operator.create", one.call),
          yield* requested("account.update", one.call)
        ] as const
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/approvals")
          await visit.signIn(one.token)
          await page.getByRole("link", { name: "R$ 10,00" }).nth(1).waitFor()
          await page.getByRole("row").filter({ hasText: "R$ 10,00" }).first().getByRole("button").click()
          const question = page.getByRole("dialog")
          await question.getByRole("link", { name: payout.id }).waitFor()
          await question.getByText("hold@simulator.test").waitFor()
          await question.getByText("R$ 980,00").waitFor()
          await visit.look("approval-of-duplicate")
          await runPromise(operated("POST", `/payouts/${repeat.id}/cancel`))
          await page.goto(`/payouts/${payout.id}`)
          await page.waitForURL(`**/payouts/${payout.id}`)
          await visit.press("Approve")
          await visit.fill("Approve")
          await page.getByRole("dialog").getByRole("link", { name: "Approvals" }).click()
          const own = page.getByRole("row", { name: /R\$ 10,00.*Approve a payout/ })
          await own.getByText("Another operator has to approve it.").waitFor()
          assert.strictEqual(await page.getByRole("main").getByRole("button", { name: "Approve" }).count(), 0)
          visit.assertNoFault()
        })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const main = page.getByRole("main")
          await page.goto("/approvals")
          await visit.signIn(other.token)
          await visit.inspect("approvals-of-other", "/approvals", "Approvals")
          const payoutBox = main.getByRole("checkbox", { name: /R\$ 10,00/ })
          await payoutBox.focus()
          await page.keyboard.press("a")
          await page.getByRole("dialog").getByText("hold@simulator.test").waitFor()
          await visit.submit("Approve")
          await main
            .getByRole("row", { name: /R\$ 10,00/ })
            .getByText("approved", { exact: true })
            .waitFor()

          await main
            .getByRole("row", { name: /Change an account/ })
            .getByText("approval limit")
            .waitFor()
          for (const name of [/Add an operator/, /Change an account/]) {
            await main.getByRole("checkbox", { name }).focus()
            await page.keyboard.press("x")
          }
          await visit.look("approvals-selected")
          await page.keyboard.press("r")
          const sheet = page.getByRole("dialog")
          await sheet.getByText("2 requests").waitFor()
          await sheet.getByRole("listitem").filter({ hasText: "approval limit" }).first().waitFor()
          await visit.submit("Reject (2)", { Reason: "not agreed" })
          await main.getByText("not agreed").nth(1).waitFor()
          visit.assertNoFault()
        })
        assert.notStrictEqual((yield* operated("GET", `/payouts/${payout.id}`))["status"], "pending")
        for (const { approval, done } of changes) {
          assert.strictEqual((yield* operated("GET", `/approvals/${approval.id}`))["status"], "rejected")
          assert.strictEqual(yield* done, 0)
        }
      })
  )
})
