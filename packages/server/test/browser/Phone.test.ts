/** The dashboard on a phone of 390 px. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { closeDays } from "../support/Closing.ts"
import { created } from "../support/ChargeRequests.ts"
import { notified, paymentOf } from "../support/Exceptions.ts"
import { med } from "../support/Disputes.ts"
import { funded, operated, paidCharge, paidOut } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { TestService } from "../support/TestService.ts"
import { cutTables, hasBrowser, visiting } from "./Visit.ts"

const LONG = "Associação".repeat(12)
/** Lists whose rows are no columns on a phone. */
const CARDS = ["/ledger", "/closes", "/connections", "/operators", "/outbox-failures"]

const customer = { name: LONG, email: `${"a".repeat(60)}@example.com`, document: "39053344705" }

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("A phone", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "the header is one row, filters fold, rows say what tells them apart, and no page is wider, with long names",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* funded(90_000, { name: LONG })
        const pending = yield* created(key, { amount: 1000, reference: LONG, customer })
        const contested = yield* paidCharge(key, 2000, { reference: LONG, customer })
        const dispute = yield* med(contested.id)
        yield* created(key, { amount: 3000, reference: "curta-1", customer: { ...customer, name: "Ana Souza" } })
        yield* paidOut(key, { amount: 600, pix_key_type: "cpf", pix_key: customer.document })
        const payout = yield* paidOut(key, { amount: 500, reference: LONG, recipient_name: LONG })
        yield* notified(
          paymentOf(pending.id, { amount: 1100, payer: { name: "Bruno Lima", document: customer.document } })
        )
        const { id: applicationId } = yield* operated<{ id: string }>(
          "POST",
          `/accounts/${accountId}/applications`,
          { name: LONG },
          201
        )
        const sql = yield* SqlClient
        yield* sql`INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at, last_failed_at)
          SELECT uuidv7(), id, account_id, 0, 'value too long for type character varying(64)', now(), now() FROM changes LIMIT 1`
        yield* makeOperator("operator")
        yield* closeDays(1)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.setViewportSize({ width: 390, height: 844 })
          const width = () =>
            page.locator("html").evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth)
          for (const path of [
            "/",
            "/charges",
            `/charges/${pending.id}`,
            `/charges/${contested.id}`,
            "/payouts",
            `/payouts/${payout.id}`,
            "/refunds",
            "/disputes?status=open",
            `/disputes/${dispute.id}`,
            "/deliveries",
            "/requests",
            "/accounts",
            `/accounts/${accountId}`,
            `/applications/${applicationId}`,
            `/developers?account_id=${accountId}`,
            "/exceptions",
            "/ledger",
            "/closes",
            "/connections",
            "/operators",
            "/outbox-failures",
            "/audit"
          ]) {
            await page.goto(path)
            await page.getByRole("heading", { level: 1 }).waitFor()
            await page.locator("[data-loading]").first().waitFor({ state: "detached" })
            assert.isAtMost(await width(), 390, path)
            assert.deepStrictEqual(await cutTables(page), [], path)
            const { height = 0 } = (await page.locator("header.top").boundingBox()) ?? {}
            assert.isAtMost(height, 64, `${path}: the header has more than one row`)
          }
          for (const path of CARDS) {
            await page.goto(path)
            await page.getByRole("main").getByRole("row").nth(1).waitFor()
            assert.strictEqual(await page.getByRole("main").locator("table:not(.stacked)").count(), 0, path)
          }
          await page.goto("/ledger")
          await page.getByRole("row").filter({ hasText: "available › payouts in transit" }).first().waitFor()
          await visit.look("phone-ledger")
          await page.goto("/charges?q=curta")
          const short = page.getByRole("row").filter({ hasText: "curta-1" })
          await short.waitFor()
          await visit.look("phone-short")
          assert.isAtMost((await short.boundingBox())!.height, 64, "a row has two lines")
          await page.goto("/payouts")
          const paid = page.getByRole("row").filter({ hasText: "390.533.447-05" })
          assert.isAtMost((await paid.boundingBox())!.height, 64, "a row has two lines")
          await page.goto("/exceptions")
          const misfit = page.getByRole("row").filter({ hasText: "wrong amount · Bruno Lima" })
          assert.isAtMost((await misfit.boundingBox())!.height, 64, "a row has two lines")
          await page.goto("/charges")
          await page.getByRole("link", { name: new RegExp(`R\\$ 10,00 ${LONG}`) }).waitFor()
          await visit.look("phone-charges")
          assert.isFalse(await page.getByLabel("Created: from").isVisible())
          await page.getByRole("button", { name: "Filters", exact: true }).click()
          await page.getByLabel("Created: from").waitFor()
          assert.isAtMost(await width(), 390, "open filters")
          await visit.look("phone-filters")
          await page.getByRole("button", { name: "Menu" }).click()
          await visit.look("phone-menu")
          await page.getByRole("button", { name: "Português" }).click()
          await page.getByRole("link", { name: "Cobranças" }).click()
          await page.getByRole("button", { name: "Filtros", exact: true }).waitFor()
          visit.assertNoFault()
        })
      })
  )
})
