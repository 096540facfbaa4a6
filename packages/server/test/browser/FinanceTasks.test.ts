/** The tasks of finance, each within the clicks of the task list in docs/dashboard.md; the month of the accountant is in `Books`. */
import { assert, layer } from "@effect/vitest"
import { formatInstant, parseInstant } from "@pix-payments/domain/Instant"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { makeApprovers } from "../support/Approvals.ts"
import { funded, operated, paidCharge, paidOut } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { loopback } from "../support/Receiver.ts"
import { hasBrowser, visiting, waitForTexts } from "./Visit.ts"

const settings = { simulatorSettleMs: 0, webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tasks of approval", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-240: twelve payouts are approved by keyboard, after recipients, their sum, duplicates and the balance: no click",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const { one, other } = yield* makeApprovers
        const { accountId } = yield* funded(100_000, { name: "Padaria do Zé" })
        for (let n = 1; n <= 12; n++) {
          // The last is of the same recipient and amount as the first.
          const pix = { pix_key_type: "email", pix_key: `fornecedor-${n % 11}@example.com`, amount: 1000 + (n % 11) }
          const asked = yield* one.call("POST", `/operator/v1/accounts/${accountId}/payouts`, { body: pix })
          assert.strictEqual(asked.status, 202, asked.text)
        }
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(other.token)
          await visit.task(0, async () => {
            await visit.jump("a", "/approvals")
            await page.getByText("fornecedor-1@example.com").first().waitFor()
            for (let n = 1; n <= 12; n++) {
              await page.keyboard.press("j")
              await page.keyboard.press("x")
            }
            await page.getByRole("button", { name: "Approve (12)" }).waitFor()
            await page.keyboard.press("a")
            const sheet = page.getByRole("dialog")
            // 12 · 10,00 and 0,67, of 1.000,00.
            for (const text of ["R$ 120,56", "R$ 879,44", "requested twice", "fornecedor-10@example.com"]) {
              await sheet.getByText(text).first().waitFor()
            }
            // A long sheet is read from its beginning, above the buttons.
            const top = await sheet.getByText("R$ 120,56").first().boundingBox()
            const button = await sheet.getByRole("button", { name: "Approve (12)" }).boundingBox()
            assert.isTrue(top!.y > 0 && top!.y < button!.y && button!.y < 860)
            await visit.look("tasks-approvals")
            await page.keyboard.press("Enter")
            await sheet.waitFor({ state: "hidden" })
            await page.getByRole("main").getByText("approved", { exact: true }).nth(11).waitFor()
          })
          visit.assertNoFault()
        })
        const { data } = yield* operated<{ data: ReadonlyArray<unknown> }>("GET", `/payouts?account_id=${accountId}`)
        assert.lengthOf(data, 12)
      })
  )
})

/** Hours of the installation's day before and a week before, and of the day as Brazil has it. */
const ofHours = Effect.fnUntraced(function* (timeZone: string, nowMs: number, accountId: string) {
  const sql = yield* SqlClient
  const day = (back: number) =>
    DateTime.formatIsoDate(DateTime.makeZonedUnsafe(nowMs - back * 86_400_000, { timeZone }))
  const first = (back: number) => formatInstant(parseInstant(`${day(back)}T00:00`, timeZone)!)
  yield* sql`INSERT INTO hourly_volumes (at, account_id, resource, reason, count, amount) VALUES
    (${first(1)}::timestamptz, ${accountId}::uuid, 'charge', '', 1, 4000), (${first(1)}::timestamptz, ${accountId}::uuid, 'payout', '', 1, 1500),
    (${first(7)}::timestamptz, ${accountId}::uuid, 'charge', '', 1, 2000),
    (${first(1)}::timestamptz, ${accountId}::uuid, 'failed_charge', 'simulated refusal', 2, 2000)`
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tasks of the day", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-257, OPR-294: today is beside yesterday and the same day last week, net of returns, in the installation's zone: no click",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const sql = yield* SqlClient
        const [clock] = yield* sql<{ now: number; timezone: string }>`
          SELECT extract(epoch FROM now())::float8 * 1000 AS now,
            -- A zone whose day is another one than Brazil's at this hour.
            CASE WHEN extract(hour FROM now() AT TIME ZONE 'UTC') BETWEEN 3 AND 9 THEN 'Pacific/Pago_Pago' ELSE 'Pacific/Kiritimati' END
              AS timezone`
        const { now, timezone } = clock!
        yield* operated("PATCH", "/installation", { timezone })
        const { accountId, key } = yield* makeCaller()
        yield* ofHours(timezone, now, accountId)
        const { id } = yield* paidCharge(key, 5000)
        yield* operated("POST", `/charges/${id}/refund`, { amount: 500 })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await visit.task(0, async () => {
            const tile = (name: string) => page.locator(".tile").filter({ hasText: name })
            await tile("Net today").locator("strong", { hasText: "R$ 45,00" }).waitFor()
            await tile("Net today")
              .getByText(/yesterday until \d+:00: R\$\s25,00/)
              .waitFor()
            await tile("Net today").getByText("a week ago: R$ 20,00").waitFor()
            await tile("Received today")
              .getByText(/yesterday until \d+:00: R\$\s40,00/)
              .waitFor()
            await tile("Returned today").locator("strong", { hasText: "R$ 5,00" }).waitFor()
            await page.getByRole("group", { name: "Yesterday" }).getByRole("button", { name: "0 h 2" }).waitFor()
            await page.getByText(`days in ${timezone}`).waitFor()
          })
          const place = timezone.slice("Pacific/".length).replace("_", " ")
          await page.getByRole("button", { name: place }).waitFor()
          const day = new Intl.DateTimeFormat("en-GB", { timeZone: timezone, weekday: "long", day: "numeric" }).format(
            now
          )
          await page.locator(".head", { hasText: "Today" }).getByText(day.replace(" ", ", ")).waitFor()
          await page.goto("/charges")
          await page.getByRole("combobox", { name: "Created", exact: true }).selectOption("today")
          await page.getByText("1 row · R$ 50,00").waitFor()
          const after = new URL(page.url()).searchParams.get("created_after") ?? ""
          const today = DateTime.formatIsoDate(DateTime.makeZonedUnsafe(now, { timeZone: timezone }))
          assert.strictEqual(Date.parse(after) + 1, parseInstant(`${today}T00:00`, timezone))
          visit.assertNoFault()
        })
      })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tasks of the books", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-260, OPR-277: an account's balance line by line, and what the books lack of the bank: two clicks each",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller({ account: { name: "Livraria Capitu" } })
        yield* paidCharge(key, 12_345, { reference: "order-17" })
        yield* paidOut(key, { amount: 2000 })
        // It closes two days ahead: what comes after it can be of the next month.
        const world = yield* makeDashboardWorld
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(world.adminToken)
          await visit.task(2, async () => {
            await page.getByRole("link", { name: "Accounts" }).click()
            await page.getByRole("row", { name: "Livraria Capitu" }).getByRole("link", { name: "R$" }).click()
            await page.getByRole("heading", { level: 1, name: "Statement" }).waitFor()
            await page.getByText("order-17").last().waitFor()
            await waitForTexts(page.locator("tbody td.right"), ["-R$ 20,00", "R$ 103,45", "R$ 123,45", "R$ 123,45"])
          })
          await visit.task(2, async () => {
            await page.getByRole("link", { name: "Reconciliation" }).click()
            await page.getByRole("link", { name: "25/11/2026" }).click()
            const lacking = page.getByRole("row").filter({ hasText: "not in the books" })
            await lacking.getByText("R$ 129,90").first().waitFor()
          })
          visit.assertNoFault()
        })
      })
  )
})
