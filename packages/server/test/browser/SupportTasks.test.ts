/** The tasks of support and of a first day, each within the clicks of the task list in docs/dashboard.md. */
import { assert, layer } from "@effect/vitest"
import type { Stats } from "@pix-payments/api/operator/Stats"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { created } from "../support/ChargeRequests.ts"
import { med } from "../support/Disputes.ts"
import { funded, operated, paidCharge } from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { deliveriesOf, registered } from "../support/Webhooks.ts"
import { hasBrowser, type Visit, visiting, waitForCount } from "./Visit.ts"

const customer = { name: "Antônia Conceição", email: "antonia@example.com", document: "39053344705" }
const settings = { simulatorSettleMs: 0, webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }
const HOUR_MS = 3_600_000

/** Opens what the search finds first, by keyboard. */
const search = async ({ page }: Visit, q: string, option: RegExp) => {
  await page.keyboard.press("Control+k")
  await page.getByRole("combobox", { name: "Search" }).fill(q)
  await page.getByRole("option", { name: option }).waitFor()
  await page.keyboard.press("Enter")
}

const found = (q: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    eventually(
      operate<{ data: ReadonlyArray<unknown> }>("GET", `/operator/v1/search?q=${q}`),
      ({ body }) => body.data.length > 0
    )
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tasks of support", (it) => {
  it.effect.skipIf(!hasBrowser)("a charge is found by whatever a customer says: one field, no click", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* funded(100)
      const { id, pix } = yield* paidCharge(key, 35_221, { reference: "LOJA-7731", customer })
      // Of another day, with the same amount.
      yield* sql`
        INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence)
        SELECT uuidv7(interval '-3 days'), account_id, application_id, 'api', 'failed', 'pix', amount, now() - interval '3 days', 2
        FROM charges WHERE id = ${id}::uuid`
      const charge = yield* operated<{ pix: { end_to_end_id: string } }>("GET", `/charges/${id}`)
      yield* found("antonia")
      yield* visiting(operatorUrl, async (visit) => {
        await visit.signIn(operatorToken)
        for (const q of [
          customer.document,
          "390.533.447-05",
          customer.email,
          "LOJA-7731",
          charge.pix.end_to_end_id,
          "conceicao ant",
          "352,21 hoje",
          "7731",
          pix.br_code!,
          id.slice(4, 8) + id.slice(9, 13)
        ]) {
          await visit.task(0, async () => {
            await search(visit, q, /R\$ 352,21 · Antônia/)
            await visit.page.waitForURL(`**/charges/${id}`)
          })
        }
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("a part is returned, and the button says how much: two clicks of three", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { key } = yield* funded(100)
      yield* paidCharge(key, 20_000, { reference: "DEVOLVER-9", customer })
      yield* visiting(operatorUrl, async (visit) => {
        await visit.signIn(operatorToken)
        await visit.task(2, async () => {
          await search(visit, "DEVOLVER-9", /R\$ 200,00/)
          await visit.press("Return")
          const dialog = visit.page.getByRole("dialog")
          await dialog.getByLabel("Amount optional").fill("10,50")
          await dialog.getByRole("button", { name: "Return R$ 10,50" }).click()
          await visit.page.getByRole("row").filter({ hasText: "R$ 10,50" }).getByText("completed").waitFor()
        })
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("the failed webhook of a charge is resent: two clicks of three", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* funded(100)
      let status = 503
      const { url } = yield* receiver((_, response) => response.writeHead(status).end())
      const { id } = yield* registered(key, { url, events: ["charge.pix.created"] })
      yield* created(key, { reference: "AVISO-9", amount: 4321 })
      const all = deliveriesOf(`endpoint_id=${id}`)
      yield* eventually(all, (rows) => rows.length === 1 && rows[0]!.attempts_made === 1)
      yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL WHERE endpoint_id = ${id}::uuid`
      status = 200
      yield* visiting(operatorUrl, async (visit) => {
        await visit.signIn(operatorToken)
        await visit.task(2, async () => {
          await search(visit, "AVISO-9", /R\$ 43,21/)
          await visit.press("Resend")
          await visit.submit("Resend")
          await visit.page.getByText("delivered to").waitFor()
        })
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "the dispute that ends first is defended with a file, its context beside it: three clicks",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* funded(20_000)
        const now = yield* Clock.currentTimeMillis
        const ending = (amount: number, hours: number) =>
          Effect.flatMap(paidCharge(key, amount, { customer, reference: `MED-${amount}` }), ({ id }) =>
            med(id, { defense_deadline_at: formatInstant(now + hours * HOUR_MS) })
          )
        yield* ending(1230, 30)
        const { id } = yield* ending(8990, 5)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await visit.task(3, async () => {
            await page.getByRole("link", { name: "2 disputes need a defense" }).click()
            await page.waitForURL(`**/disputes/${id}`)
            for (const text of ["Antônia Conceição", "390.533.447-05", "MED-8990", "Other disputes of this payer"]) {
              await page.getByText(text).first().waitFor()
            }
            await page.getByLabel("Delivery or use").fill("Arrived on 20 November.")
            const file = { name: "nota.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4") }
            await page.getByLabel("Files", { exact: true }).setInputFiles(file)
            await page.getByText("nota.pdf").waitFor()
            await visit.press("File defense")
            await page.getByText("The defense is under review.").waitFor()
            await page.getByRole("link", { name: "nota.pdf" }).waitFor()
          })
          visit.assertNoFault()
        })
      })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tasks of an incident", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "why payments failed yesterday between 14 and 15 h: one click, their list the second",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        yield* failedYesterday
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          const reasons = page.locator(".card").filter({ hasText: "Failures by reason" })
          await visit.task(2, async () => {
            await reasons.getByRole("group", { name: "Yesterday" }).getByRole("button", { name: "14 h 3" }).click()
            await reasons.getByRole("link", { name: "3 charges refused by the simulator" }).waitFor()
            await waitForCount(reasons.getByRole("link"), 1)
            await reasons.getByRole("link").click()
            await page.getByText("3 rows · R$ 297,00").waitFor()
            const { searchParams } = new URL(page.url())
            const [created, failed] = ["created_after", "failed_after"].map((name) =>
              Date.parse(searchParams.get(name) ?? "")
            )
            assert.strictEqual(failed! + 1 - created!, 31 * 24 * HOUR_MS)
          })
          await page.goBack()
          await reasons.getByRole("link", { name: "4 charges refused by the simulator" }).waitFor()
          await reasons.getByRole("button", { name: "14 h 3" }).press("Enter")
          await visit.look("tasks-failures")
          await page.getByRole("button", { name: "Português" }).click()
          await page.getByText("Ontem", { exact: true }).waitFor()
          await page.setViewportSize({ width: 390, height: 844 })
          await visit.look("tasks-failures-phone-pt")
          visit.assertNoFault()
        })
      })
  )
})

/** Three charges that failed between 14 and 15 h of yesterday in Brazil, and one before, each created an hour earlier. */
const failedYesterday = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { key } = yield* funded(100)
  const { id } = yield* created(key, { amount: 9900 })
  yield* sql`
    WITH made AS (
      SELECT account_id, application_id, n,
        (date_trunc('day', now() AT TIME ZONE 'America/Sao_Paulo') - interval '10 hours') AT TIME ZONE 'America/Sao_Paulo'
          + (n - 1) * interval '19 minutes' - interval '1 minute' AS at
      FROM charges, generate_series(1, 4) n WHERE id = ${id}::uuid
    ), failed AS (
      INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, failure_reason, created_at, sequence)
      SELECT uuidv7(at - interval '1 hour' - now()), account_id, application_id, 'api', 'failed', 'pix', 9900,
        'simulated refusal', at - interval '1 hour', 2
      FROM made RETURNING *
    )
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT uuidv7(created_at + interval '1 hour' - now()), id, account_id, application_id, 'charge.pix', '{}', 'failed', 2, '{}',
      created_at + interval '1 hour'
    FROM failed`
  const day = (days: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => formatInstant(now + days * 24 * HOUR_MS).slice(0, 10))
  // Counted in the background.
  yield* eventually(
    operated<Stats>("GET", `/stats?from=${yield* day(-2)}&to=${yield* day(0)}`),
    ({ periods }) => periods.flatMap(({ failed }) => failed).reduce((sum, { count }) => sum + count, 0) === 4
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Tasks of a first day", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-115: account, application and a key that a second operator approves, which is shown: nine clicks",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const { one, other } = yield* makeApprovers
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(one.token)
          await visit.task(9, async () => {
            await page.getByRole("link", { name: "Accounts" }).click()
            await visit.press("Create account")
            await visit.submit("Create account", {
              Name: "Padaria Central",
              "Legal name": "Padaria Central Ltda",
              "CPF or CNPJ": "11.222.333/0001-81",
              Phone: "+5511999998888"
            })
            await page.getByRole("heading", { level: 1, name: "Padaria Central" }).waitFor()
            await visit.press("Create application")
            await visit.submit("Create application", { Name: "Checkout" })
            await page.getByRole("heading", { level: 1, name: "Checkout" }).waitFor()
            await visit.press("Create key")
            await page.getByLabel("payout:write").check()
            await visit.fill("Create key", { Name: "web" })
            await page.getByRole("dialog").getByText("Another operator has to approve it.").waitFor()
            await page.keyboard.press("Escape")
            const { body } = await runPromise(
              other.call<{ data: ReadonlyArray<{ id: string }> }>(
                "GET",
                "/operator/v1/approvals?status=pending&limit=1"
              )
            )
            await runPromise(approve(other.call, body.data[0]!.id))
            await page.getByRole("main").getByRole("button", { name: "Approved: show the key (once)" }).click()
            await page.getByText("It is never shown again.").waitFor()
          })
          visit.assertNoFault()
        })
      })
  )
})
