/** Lists with filters, sums and files, as support and finance use them all day. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../support/ChargeRequests.ts"
import { funded, operated, paidCharge } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const customer = { name: "Antônia Conceição", email: "antonia@example.com", document: "39053344705" }

const world = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { accountId, key } = yield* funded(2_000_000, { name: "Livraria Capitu" })
  yield* funded(4200, { name: "Outra loja" })
  yield* created(key, { amount: 35_221, reference: "LOJA-7731", customer })
  const failed = yield* created(key, { amount: 9900, reference: "ontem" })
  const part = yield* paidCharge(key, 2000, { reference: "em-parte" })
  yield* operated("POST", `/charges/${part.id}/refund`, { amount: 500 })
  // Yesterday, between 14 and 15 h in Brazil.
  yield* sql`
    INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, reference, failure_reason, created_at, sequence)
    SELECT uuidv7(at - now()), account_id, application_id, 'api', 'failed', 'pix', 9900, 'ontem-' || n, 'simulated refusal', at, 2
    FROM charges, generate_series(1, 3) n, LATERAL (
      SELECT date_trunc('day', now() AT TIME ZONE 'America/Sao_Paulo') AT TIME ZONE 'America/Sao_Paulo'
        - interval '10 hours' + n * interval '7 minutes' AS at
    ) made WHERE id = ${failed.id}::uuid`
  return { accountId }
})

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Tasks", (it) => {
  it.effect.skipIf(!hasBrowser)("a list has any hours of any day, an account, and chips that remove each filter", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { accountId } = yield* world
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/")
        await visit.signIn(operatorToken)
        await page.getByRole("link", { name: "Charges", exact: true }).click()
        await page.getByRole("navigation", { name: "Status" }).getByRole("link", { name: "failed" }).click()
        await page.getByRole("combobox", { name: "Created", exact: true }).selectOption("yesterday")
        await page.waitForURL("**created_after**")
        const from = page.getByLabel("Created: from")
        const day = (await from.inputValue()).slice(0, 10)
        await from.fill(`${day}T14:00`)
        await page.getByLabel("Created: to").first().fill(`${day}T15:00`)
        await page.keyboard.press("Enter")
        await page.getByText("refused by the simulator").first().waitFor()
        assert.include(page.url(), "status=failed")
        await visit.look("tasks-failed")
        await page.getByRole("combobox", { name: "Account" }).selectOption(accountId)
        await page.getByText("3 rows · R$ 297,00").waitFor()
        await page.getByRole("list", { name: "Filters that are on" }).getByText("Livraria Capitu").click()
        await page.waitForURL((url) => !url.search.includes("account_id"))
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-291: each tab has the number of its rows, of the other filters, and keeps it while a state is chosen",
    () =>
      Effect.gen(function* () {
        const { call, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* funded(1000, { name: "Só daqui" })
        for (const reference of ["a", "b"]) yield* created(key, { amount: 700, reference })
        yield* paidCharge(key, 2500)
        assert.strictEqual((yield* call("POST", "/v1/charges", { key, body: { amount: -1 } })).status, 400)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/charges?account_id=${accountId}`)
          await visit.signIn(operatorToken)
          const tab = (name: string) => page.getByRole("navigation", { name: "Status" }).getByRole("link", { name })
          const tabs = async (...shown: Array<string>) => {
            for (const name of shown) await tab(name).waitFor()
            const texts = await page.getByRole("navigation", { name: "Status" }).getByRole("link").allInnerTexts()
            assert.deepStrictEqual(
              texts.filter((text) => /\d/.test(text)),
              shown
            )
          }
          // With the one that paid in the balance.
          await tabs("all 4", "pending 2", "paid 2")
          await tab("pending 2").click()
          await page.getByText("2 rows · R$ 14,00").waitFor()
          await tabs("all 4", "pending 2", "paid 2")
          await page.goto(`/charges?account_id=${accountId}&amount_max=700`)
          await tabs("all 2", "pending 2")
          await page.goto(`/requests?account_id=${accountId}`)
          await tab("refused 1").click()
          await page.getByText("1 row").waitFor()
          await page.getByText("400", { exact: true }).waitFor()
          await page.getByRole("button", { name: "Português" }).click()
          await page.getByRole("navigation", { name: "Estado" }).getByRole("link", { name: "recusadas 1" }).waitFor()
          // The longest tabs fit a laptop.
          await page.goto(`/charges?account_id=${accountId}`)
          const states = page.getByRole("navigation", { name: "Estado" })
          await states.getByRole("link", { name: "todas 4" }).waitFor()
          const rest = await states.evaluate((element) => {
            const { clientWidth, scrollWidth } = element as unknown as { clientWidth: number; scrollWidth: number }
            return scrollWidth - clientWidth
          })
          assert.isAtMost(rest, 0)
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("a reason is asked for as the page shows it, and a period by months of Brazil", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { accountId } = yield* world
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto(`/charges?account_id=${accountId}`)
        await visit.signIn(operatorToken)
        await page.getByRole("button", { name: "Português" }).click()
        await page.getByText("Mais filtros").click()
        await page.getByLabel("Motivo").fill("Recusada pelo simulador")
        await page.keyboard.press("Enter")
        await page.getByText("3 linhas · R$ 297,00").waitFor()
        assert.strictEqual(await page.getByLabel("Motivo").inputValue(), "recusada pelo simulador")
        const created = page.getByRole("combobox", { name: "Criação", exact: true })
        const ends = async (choice: string) => {
          await created.selectOption({ label: choice })
          await page
            .getByRole("list", { name: "Filtros ligados" })
            .getByText(/Criação/)
            .first()
            .waitFor()
          return [await page.getByLabel("Criação: de").inputValue(), await page.getByLabel("Criação: até").inputValue()]
        }
        const [[first, none], [begin, end]] = [await ends("este mês"), await ends("mês passado")]
        assert.match(first!, /-01T00:00$/)
        assert.strictEqual(none, "")
        assert.strictEqual(end, first)
        assert.match(begin!, /-01T00:00$/)
        assert.isBelow(Date.parse(begin!), Date.parse(first!))
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("OPR-290: the ledger and the audit log have a period, which a chip removes", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { accountId } = yield* funded(1000)
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/")
        await visit.signIn(operatorToken)
        for (const path of [`/ledger?account_id=${accountId}`, "/audit"]) {
          await page.goto(path)
          const created = page.getByRole("combobox", { name: "Created", exact: true })
          await created.selectOption("today")
          await page.waitForURL("**created_after**")
          await page.getByRole("main").getByRole("row").nth(1).waitFor()
          await created.selectOption("lastMonth")
          await page.getByText("Nothing here with these filters.").waitFor()
          await page.getByRole("list", { name: "Filters that are on" }).getByText("≥").click()
          await page.waitForURL((url) => !url.search.includes("created_after"))
        }
        // An action leads to all of its kind.
        await page.goto("/audit")
        await page.getByRole("link", { name: "account: create" }).first().click()
        await page.getByRole("list", { name: "Filters that are on" }).getByText("account: create").waitFor()
        await page.waitForURL("**action=accounts.create**")
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("OPR-290: the head of the time turns a list to its oldest rows, and back", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { accountId, key } = yield* funded(1000)
      for (const reference of ["first", "second", "third"]) yield* created(key, { amount: 700, reference })
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto(`/charges?account_id=${accountId}&amount_max=700`)
        await visit.signIn(operatorToken)
        const row = (nth: number, reference: string) =>
          page.getByRole("main").getByRole("row").nth(nth).filter({ hasText: reference }).waitFor()
        const head = page.getByRole("columnheader", { name: "Created" })
        await row(1, "third")
        assert.strictEqual(await head.getAttribute("aria-sort"), "descending")
        await head.getByRole("link").click()
        await row(1, "first")
        await row(3, "third")
        assert.strictEqual(await head.getAttribute("aria-sort"), "ascending")
        await head.getByRole("link").click()
        await row(1, "third")
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)("a list is a file with the rows of its filters, and says what it has looked at", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      yield* world
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/charges")
        await visit.signIn(operatorToken)
        await page.goto("/charges?amount_min=35221&amount_max=35221")
        await page.getByRole("row").filter({ hasText: "R$ 352,21" }).first().waitFor()
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("link", { name: "CSV" }).click()
        ])
        const stream = await download.createReadStream()
        const chunks: Array<Buffer> = []
        for await (const chunk of stream) chunks.push(chunk as Buffer)
        const text = Buffer.concat(chunks).toString()
        assert.match(text, /LOJA-7731;Antônia Conceição;39053344705/)
        assert.notInclude(text, "em-parte")
        visit.assertNoFault()
        const inTime = "charges payouts refunds disputes deliveries requests exceptions approvals ledger audit"
        for (const name of inTime.split(" ")) {
          await visit.glance(`tasks-${name}`, `/${name}?created_after=2020-01-01T00:00:00Z`, /./)
        }
        await visit.inspect("tasks-list", "/charges", "Charges")
        await page.getByRole("button", { name: "Português" }).click()
        await visit.inspect("tasks-list-pt", "/charges?status=failed", "Cobranças")
      })
    })
  )
})
