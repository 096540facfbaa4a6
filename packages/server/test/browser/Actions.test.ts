/** What operators do on the pages of charges, payouts, disputes, applications and accounts. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { operated, paidCharge } from "../support/Money.ts"
import { loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Actions", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "filters and opens charges, pays one, approves a payout, defends a dispute, and shows a key once",
    () =>
      Effect.gen(function* () {
        const { operate, operatorToken, operatorUrl } = yield* TestService
        const world = yield* makeDashboardWorld
        yield* visiting(operatorUrl, async (visit) => {
          const { page, press, submit } = visit
          await page.goto("/charges")
          await visit.signIn(operatorToken)

          await page.getByText("More filters").click()
          await page.getByLabel("Reference", { exact: true }).fill("order-1001")
          await page.keyboard.press("Enter")
          await page.waitForURL(/reference=order-1001/)
          await page.getByRole("list", { name: "Filters that are on" }).getByText("order-1001").waitFor()
          await page.getByRole("link", { name: "R$ 129,90" }).first().waitFor()
          await page.getByRole("link", { name: "R$ 45,90" }).first().waitFor({ state: "detached" })
          await page.getByRole("heading", { level: 1 }).click()
          await visit.openFirstRow("R$ 129,90")
          await page.waitForURL(/\/charges\/.+/)
          await page.goto(`/charges/${world.pendingId}`)
          await press("Pay")
          await submit("Pay")
          await page.getByRole("heading", { level: 1 }).locator("~ .chip", { hasText: "paid" }).waitFor()

          await page.goto("/payouts?status=pending")
          const payoutRow = page.getByRole("row").filter({ hasText: "R$ 250,00" })
          await payoutRow.getByRole("button", { name: "Approve" }).click()
          await page.getByRole("dialog").getByText("R$ 250,00").waitFor()
          await submit("Approve")
          await payoutRow.waitFor({ state: "detached" })

          await page.goto("/")
          await page.getByRole("link", { name: "1 dispute needs a defense" }).click()
          await page.waitForURL(`**/disputes/${world.disputeId}`)
          await page.getByLabel("Delivery or use").fill("The parcel arrived on 20 November.")
          await press("File defense")
          await page.getByText("The parcel arrived on 20 November.").waitFor()

          await page.goto(`/applications/${world.applicationId}`)
          await press("Create key")
          await page.getByLabel("charge:read").check()
          await submit("Create key", { Name: "shop" })
          await page.getByText("It is never shown again.").waitFor()
          await page.reload()
          await page.getByRole("cell", { name: "shop" }).waitFor()
          assert.strictEqual(await page.getByText("It is never shown again.").count(), 0)
          visit.assertNoFault()

          await page.goto("/accounts")
          await press("Create account")
          await visit.fill("Create account", {
            Name: "Loja",
            "Legal name": "Loja Ltda",
            "CPF or CNPJ": "123",
            Phone: "+5511999998888"
          })
          await page.getByText("Not accepted. 11 digits of a CPF").waitFor()
          await page.keyboard.press("Escape")

          await page.getByRole("button", { name: "Sign out" }).click()
          await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor()
        })
        const payout = yield* operate<{ status: string }>("GET", `/operator/v1/payouts/${world.payoutId}`)
        assert.notStrictEqual(payout.body.status, "pending")
      })
  )

  it.effect.skipIf(!hasBrowser)("OPR-202: a return whose answer was lost is repeated in its dialog, and is one", () =>
    Effect.gen(function* () {
      const { makeCaller, operate, operatorToken, operatorUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 8990)
      const keys: Array<string | undefined> = []
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto(`/charges/${id}`)
        await visit.signIn(operatorToken)
        await page.route("**/refund", async (route) => {
          keys.push(route.request().headers()["idempotency-key"])
          if (keys.length > 1) return route.continue()
          // The server does it, and its answer does not arrive.
          await route.fetch()
          await route.abort("connectionreset")
        })
        await visit.press("Return")
        await visit.fill("Return R$ 1,00", { "Amount optional": "1,00" })
        const dialog = page.getByRole("dialog")
        await dialog.getByText("The server did not answer. Check that it runs, then try again.").waitFor()
        await visit.submit("Return R$ 1,00")
        // Another dialog is another return.
        await visit.press("Return")
        await visit.submit("Return R$ 1,00", { "Amount optional": "1,00" })
      })
      assert.lengthOf(keys, 3)
      assert.isTrue(keys.every((each) => each !== undefined && each.length >= 16))
      assert.strictEqual(keys[0], keys[1])
      assert.notStrictEqual(keys[1], keys[2])
      const { body } = yield* operate<{ refunds: ReadonlyArray<{ amount: number }> }>(
        "GET",
        `/operator/v1/charges/${id}`
      )
      assert.deepStrictEqual(
        body.refunds.map(({ amount }) => amount),
        [100, 100]
      )
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-32: a simulated payment without an answer is repeated under its id, and is one",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* created(key, { amount: 7730 })
        const bodies: Array<{ external_id?: string }> = []
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/simulator")
          await visit.signIn(operatorToken)
          await page.route("**/simulator/charges/*/pay", (route) => {
            bodies.push(route.request().postDataJSON())
            return bodies.length > 1 ? route.continue() : route.abort("connectionreset")
          })
          await page.getByRole("row").filter({ hasText: "R$ 77,30" }).getByRole("button", { name: "Pay" }).click()
          await visit.fill("Pay")
          await page.getByRole("dialog").getByText("The server did not answer.").waitFor()
          await visit.submit("Pay")
        })
        const [first, second] = bodies
        assert.isAtLeast(first?.external_id?.length ?? 0, 16)
        assert.deepStrictEqual(first, second)
        assertRefused(
          yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`, { body: second! }),
          "INVALID_STATE"
        )
        assert.strictEqual((yield* operated<{ status: string }>("GET", `/charges/${id}`)).status, "paid")
        assert.deepStrictEqual(yield* operated("GET", `/exceptions?account_id=${accountId}`), {
          object: "list",
          data: [],
          has_more: false
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("OPR-30: a verification that fails says so, and is asked for again", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/ledger")
        await visit.signIn(operatorToken)
        await page.route("**/ledger/verify*", (route) => route.abort("connectionreset"), { times: 1 })
        await visit.press("Verify")
        const dialog = page.getByRole("dialog")
        await dialog.getByText("The server did not answer. Check that it runs, then try again.").waitFor()
        await visit.look("ledger-verify-failed")
        await visit.submit("Verify")
        await page.getByRole("status").getByText("Verification").waitFor()
      })
    })
  )
})
