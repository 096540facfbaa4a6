/** The pages of the books: a month reaches the accountant in three clicks, and closes show their chain. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Zip from "effect/encoding/Zip"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { SqlClient } from "effect/sql/SqlClient"
import type { Download } from "playwright-core"
import { closeDays, refuseCloses } from "../support/Closing.ts"
import { operated, paidCharge, paidOut, payoutReaching } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, plain, visiting, waitForCount, waitForTexts } from "./Visit.ts"

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Books", (it) => {
  /** The CSV statement in a package. */
  const statementIn = async (download: Download, name: string) => {
    const file = await download.createReadStream()
    return Stream.fromAsyncIterable<Uint8Array, unknown>(file, (error) => error).pipe(
      Stream.pipeThroughChannel(Zip.decode()),
      Stream.filter(({ header }) => header.path === name),
      Stream.flatMap(({ body = Stream.empty }) => Stream.decodeText(body)),
      Stream.mkString,
      Effect.runPromise
    )
  }

  it.effect.skipIf(!hasBrowser)("OPR-260, OPR-261: the accountant gets the last month: three clicks", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorToken, operatorUrl } = yield* TestService
      const { accountId } = yield* makeCaller()
      const sql = yield* SqlClient
      const [last] = yield* sql<{ month: string }>`
        WITH last AS (
          SELECT to_char(now() AT TIME ZONE 'America/Sao_Paulo' - interval '1 month', 'YYYY-MM') AS month
        ), moved AS (
          INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day,
            credit_after)
          SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 12345, uuidv7(), 'charge.paid', now(), n,
            (month || '-0' || n)::date, n * 12345
          FROM last, generate_series(1, 9) n
        )
        SELECT month FROM last`
      const month = last!.month
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await visit.signIn(operatorToken)
        const name = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", month: "long", year: "numeric" })
        await visit.task(3, async () => {
          await page.getByRole("link", { name: "Statement" }).click()
          await page.getByRole("link", { name: "Month until today (zip)" }).waitFor()
          await page.getByRole("link", { name: name.format(Date.parse(`${month}-01`)) }).click()
          const downloads = page.waitForEvent("download")
          await page.getByRole("link", { name: "Whole month (zip)" }).click()
          const download = await downloads
          assert.strictEqual(download.suggestedFilename(), `account-${accountId}-${month}.zip`)
          const statement = await statementIn(download, `account-${accountId}-${month}.csv`)
          assert.lengthOf(statement.trim().split("\r\n"), 10)
          assert.include(statement, ";123,45;1111,05;")
        })
        visit.assertNoFault()
      })
    })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-260: a period is printed with all its lines, and says on paper where it is not",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId } = yield* makeCaller()
        const sql = yield* SqlClient
        yield* sql`
        INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day, credit_after)
        SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 1, uuidv7(), 'charge.paid', now(), n,
          CASE WHEN n <= 120 THEN date '2026-01-10' ELSE '2026-02-10' END, n
        FROM generate_series(1, 1140) n`
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          const rows = page.locator("tbody tr")
          const note = page.getByText(/Only [0-9]+ rows are on this paper/)
          await page.goto(`/statements?account_id=${accountId}&from=2026-01-01&to=2026-01-31`)
          await rows.nth(49).waitFor()
          await waitForCount(rows, 50)
          assert.isFalse(await note.isVisible())
          await page.emulateMedia({ media: "print" })
          assert.isTrue(await note.isVisible())
          await page.emulateMedia({ media: "screen" })
          await page.getByRole("link", { name: "All lines, to print" }).press("Enter")
          await rows.nth(119).waitFor()
          await waitForCount(rows, 120)
          await page.emulateMedia({ media: "print" })
          assert.strictEqual(await note.count(), 0)
          await page.goto(`/statements?account_id=${accountId}&from=2026-02-01&to=2026-02-28&lines=all`)
          await rows.nth(999).waitFor()
          await waitForCount(rows, 1000)
          await page.getByText("Only 1000 rows are on this paper").waitFor()
          await page.goto(`/statements?account_id=${accountId}&from=2026-01-01&to=2026-01-31`)
          await note.waitFor()
          await visit.look("books-paper")
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-260, OPR-262: a statement has the balance after each line, and opening and closing of the period; lines lead to what is behind",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { payout_fee: { fixed: 30, basis_points: 0 } } })
        yield* paidCharge(key, 12_345, { reference: "order-17" })
        const payout = yield* paidOut(key, { amount: 2000 })
        yield* payoutReaching(key, payout.id, "completed")
        const other = yield* makeCaller()
        const returned = yield* paidCharge(other.key, 900)
        yield* operated("POST", `/charges/${returned.id}/refund`, { amount: 200 })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.goto(`/accounts/${accountId}`)
          await page.getByRole("main").getByRole("link", { name: "Statement" }).click()
          await page.getByText("order-17").last().waitFor()
          const right = page.locator("tbody td.right")
          await waitForTexts(right, ["-R$ 20,30 fee R$ 0,30", "R$ 103,15", "R$ 123,45", "R$ 123,45"])
          await waitForTexts(page.locator(".tile"), ["Opening R$ 0,00", "In and out R$ 103,15", "Closing R$ 103,15"])
          await page.getByRole("link", { name: "Yesterday" }).click()
          await page.getByText("No movement in this period.").waitFor()
          await page.goBack()
          await page.getByText("order-17").last().waitFor()
          await page.keyboard.press("j")
          await page.keyboard.press("Enter")
          await page.waitForURL(`**/payouts/${payout.id}`)
          await page.goto(`/statements?account_id=${other.accountId}`)
          await visit.openFirstRow("Return")
          await page.waitForURL(`**/charges/${returned.id}`)
          await page.goto(`/statements?account_id=${accountId}`)
          await visit.press("Adjust")
          await visit.look("books-adjust")
          await visit.submit("Adjust", { Direction: "take", Amount: "3,15", Reason: "a fee was forgotten" })
          await page.getByText("a fee was forgotten").last().waitFor()
          await page.locator(".tile").getByText("R$ 100,00").last().waitFor()
          await visit.inspect("books-statement", `/statements?account_id=${accountId}`, "Statement")
          await page.emulateMedia({ media: "print" })
          assert.isFalse(await page.getByRole("link", { name: "OFX 2.2" }).isVisible())
          await visit.look("books-statement-print")
          await page.emulateMedia({ media: "screen" })
          await page.getByRole("button", { name: "Português" }).click()
          await visit.glance("books-statement-pt", `/statements?account_id=${accountId}`, "Extrato")
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-260, OPR-256: closes show their chain; a broken one, a changed day and a day that is not closed are named",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        for (const day of [1, 2, 3]) {
          yield* paidCharge(key, 1000 * day)
          yield* closeDays(day)
        }
        const asOwner = (text: string) =>
          sql.withTransaction(Effect.andThen(sql`SET LOCAL session_replication_role = replica`, sql.unsafe(text)))
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.goto(`/accounts/${accountId}`)
          await page.getByRole("main").getByRole("link", { name: "Closes" }).click()
          await page.getByText("first day").waitFor()
          await waitForCount(page.getByText("chained", { exact: true }), 2)
          await visit.press("Verify")
          await page.getByText("are as they were closed").waitFor()
          await visit.inspect("books-closes", `/closes?account_id=${accountId}`, "Closes")
          visit.assertNoFault()
        })
        // Of the second close, the figures; of a day that ended, an entry without a close.
        yield* asOwner(`UPDATE closes SET closing = closing + 1 WHERE owner_id = '${accountId}' AND lines_hash =
          (SELECT lines_hash FROM closes WHERE owner_id = '${accountId}' ORDER BY day OFFSET 1 LIMIT 1)`)
        const { accountId: unclosed } = yield* makeCaller({ account: { name: "Padaria" } })
        yield* refuseCloses(unclosed, "UPDATE ON ledger_accounts")
        yield* asOwner(
          `UPDATE ledger_accounts SET open_day = '2026-01-02' WHERE owner_id = '${unclosed}' AND kind = 'available'`
        )
        yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position,
            day, credit_after)
          VALUES (uuidv7(), ${unclosed}::uuid, 'acquirer', 'available', 1, uuidv7(), 'charge.paid', now(), 1, '2026-01-02', 1)`
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.goto(`/closes?account_id=${accountId}`)
          await page.getByText("broken", { exact: true }).waitFor()
          await page.goto("/")
          await page.getByText("has a day that is not closed").waitFor()
          await visit.look("books-needs-person")
          await page.getByRole("link", { name: "1 account has a day that is not closed" }).click()
          await page.waitForURL(`**/closes?account_id=${unclosed}`)
          await page.getByRole("alert").getByText("02/01/2026 has ended and is not closed").waitFor()
          await visit.look("books-unclosed")
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-260, OPR-255: a connection shows its last closed days, and its statement opening, in, out and closing of the period",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        yield* closeDays(5)
        yield* paidCharge(key, 5000)
        yield* closeDays(7)
        yield* paidCharge(key, 1200)
        const payout = yield* paidOut(key, { amount: 700 })
        yield* payoutReaching(key, payout.id, "completed")
        yield* closeDays(9)
        const closes = yield* sql<{ day: string; opening: bigint; closing: bigint }>`
          SELECT day::text AS day, opening, closing FROM closes WHERE owner_id = ${SIMULATOR_CONNECTION}::uuid AND book = 'bank'
          ORDER BY day DESC`
        const [last, before] = closes
        const reais = (cents: bigint) =>
          plain((Number(cents) / 100).toLocaleString("pt-BR", { style: "currency", currency: "BRL" }))
        assert.deepStrictEqual([last!.opening, last!.closing], [before!.closing, before!.closing + 500n])
        const shown = (day: string) => day.split("-").toReversed().join("/")
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          const path = `/connections/${SIMULATOR_CONNECTION}`
          await page.goto(path)
          const row = page.getByRole("row").filter({ hasText: shown(last!.day) })
          await row.waitFor()
          await waitForTexts(row.locator("td"), [
            shown(last!.day),
            reais(last!.opening),
            "R$ 12,00",
            "-R$ 7,00",
            reais(last!.closing)
          ])
          await visit.inspect("books-connection", path, "Simulator")
          await row.getByRole("link").first().click()
          await page.getByText(`Closing, ${shown(last!.day)}`).waitFor()
          await waitForTexts(page.locator(".tile"), [
            `Opening ${reais(last!.opening)}`,
            "In R$ 12,00",
            "Out -R$ 7,00",
            `Closing, ${shown(last!.day)} ${reais(last!.closing)}`
          ])
          const both = `/statements?connection_id=${SIMULATOR_CONNECTION}&from=${before!.day}&to=${last!.day}`
          await page.goto(both)
          await page.locator(".tile").getByText("R$ 62,00").waitFor()
          await page.goto(`/statements?connection_id=${SIMULATOR_CONNECTION}&from=2019-01-01&to=2019-01-31`)
          await page.getByText("No movement in this period.").waitFor()
          await waitForCount(page.locator(".tile"), 0)
          await visit.inspect("books-bank-statement", both, "Statement")
          await page.getByRole("button", { name: "Português" }).click()
          await visit.inspect("books-connection-pt", path, "Simulador")
          await visit.inspect("books-bank-statement-pt", both, "Extrato")
          visit.assertNoFault()
        })
      })
  )
})
