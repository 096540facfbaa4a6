/** The question of an exception that is accepted names the charge or the account that the server then takes. */
import { assert, layer } from "@effect/vitest"
import type { SearchResults } from "@pix-payments/api/operator/Search"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Locator, Page } from "playwright-core"
import { created } from "../support/ChargeRequests.ts"
import { exceptionOf, notified, paymentOf } from "../support/Exceptions.ts"
import { availableOf, operated, paidCharge } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, type Visit, visiting } from "./Visit.ts"

const FIELD = /^Charge or account/

/** Waits until the question names these, then accepts, and gives what was sent. */
const accepted = async ({ page, submit }: Visit, facts: Readonly<Record<string, string>>) => {
  for (const [name, value] of Object.entries(facts)) {
    await page.getByRole("dialog").locator("dt", { hasText: name }).locator("+ dd").getByText(value).waitFor()
  }
  const sent = page.waitForRequest("**/resolve")
  await submit("Accept")
  return (await sent).postDataJSON() as Readonly<Record<string, unknown>>
}

const button = (page: Page): Locator => page.getByRole("dialog").getByRole("button", { name: "Accept", exact: true })

const isDisabled = (page: Page): Promise<boolean> => button(page).isDisabled()

/** An exception of these cents, which names nothing. */
const unknownPayment = Effect.fnUntraced(function* (amount: number) {
  const payment = paymentOf("", { amount, key: "pix@example.com" })
  yield* notified(payment)
  return (yield* exceptionOf(payment.endToEndId)).id
})

/** Words are indexed in the background. */
const found = (q: string, count: number) =>
  eventually(
    operated<SearchResults>("GET", `/search?q=${encodeURIComponent(q)}`),
    ({ data }) => data.filter(({ kind }) => kind === "charge" || kind === "account").length === count
  )

layer(TestService.layer(), { excludeTestServices: true })("Accepted exceptions", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-82: without a choice the question names the charge that the payment names, and it is sent; an account is sent alone",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { name: "Livraria Capitu" } })
        const sebo = yield* makeCaller({ account: { name: "Sebo Bento" } })
        const exceptions: Array<{ readonly id: string; readonly chargeId: string }> = []
        for (const reference of ["um", "dois"]) {
          const { id } = yield* created(key, { amount: 8990, reference })
          const wrong = paymentOf(id, { amount: 9990 })
          yield* notified(wrong)
          exceptions.push({ id: (yield* exceptionOf(wrong.endToEndId)).id, chargeId: id })
        }
        const [one, other] = exceptions
        yield* found("Sebo Bento", 1)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/exceptions/${one!.id}`)
          await visit.signIn(operatorToken)
          // Its account cannot be read, then is read slowly.
          const account = `**/operator/v1/accounts/${accountId}`
          await page.route(account, (route) => route.abort("connectionreset"))
          await visit.press("Accept")
          await page.getByRole("dialog").getByText("The server did not answer.").waitFor()
          assert.isTrue(await isDisabled(page))
          visit.forgetFaults()
          await page.keyboard.press("Escape")
          await page.unroute(account)
          const held = Promise.withResolvers<void>()
          await page.route(account, (route) => held.promise.then(() => route.continue()))
          const asked = page.waitForRequest(account)
          await visit.press("Accept")
          await asked
          assert.isTrue(await isDisabled(page))
          held.resolve()
          const facts = { Charge: "R$ 89,90 · um", Account: "Livraria Capitu", "Balance after": "R$ 99,90" }
          assert.deepStrictEqual(await accepted(visit, facts), { action: "accept", charge_id: one!.chargeId })

          await page.goto(`/exceptions/${other!.id}`)
          await visit.press("Accept")
          await page.getByRole("dialog").getByText("R$ 89,90 · dois").waitFor()
          await page.getByRole("dialog").getByLabel(FIELD).fill("Sebo Bento")
          assert.deepStrictEqual(await accepted(visit, { Account: "Sebo Bento", "Balance after": "R$ 99,90" }), {
            action: "accept",
            account_id: sebo.accountId
          })
          visit.assertNoFault()
        })
        assert.strictEqual(yield* availableOf(key), 9990)
        assert.strictEqual(yield* availableOf(sebo.key), 9990)
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-82: an id or a whole reference decides by itself; of several that are found one is chosen; a search without an answer sends nothing",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller({ account: { name: "Papelaria Escobar" } })
        yield* paidCharge(key, 1000)
        const charge = yield* created(key, { amount: 5678, reference: "pedido-77" })
        yield* created(key, { amount: 5678, reference: "pedido-778" })
        const byId = yield* created(key, { amount: 4321 })
        yield* created(key, { amount: 100, reference: byId.id })
        yield* found("56,78", 2)
        const first = yield* unknownPayment(5678)
        const second = yield* unknownPayment(4321)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const dialog = page.getByRole("dialog")
          const field = dialog.getByLabel(FIELD)
          await page.goto(`/exceptions/${first}`)
          await visit.signIn(operatorToken)
          const searches: Array<string> = []
          page.on("request", (request) => {
            searches.push(new URL(request.url()).searchParams.get("reference") ?? "")
          })
          await visit.press("Accept")
          assert.isTrue(await isDisabled(page))
          await page.route("**/operator/v1/search*", (route) => route.abort("connectionreset"), { times: 1 })
          await field.fill("no answer")
          await dialog.getByText("The server did not answer.").waitFor()
          assert.isTrue(await isDisabled(page))
          visit.forgetFaults()
          await field.fill("no such charge")
          await dialog.getByText("Nothing is found by this.").waitFor()
          assert.isTrue(await isDisabled(page))
          await field.pressSequentially(" of this shop")
          await dialog.getByText("Nothing is found by this.").waitFor()
          assert.isBelow(searches.filter((text) => text.startsWith("no such charge ")).length, " of this shop".length)
          await field.fill("56,78")
          await dialog.getByText("2 are found by this. Choose one:").waitFor()
          assert.isTrue(await isDisabled(page))
          await dialog.getByRole("radio", { name: shortIdOf(charge.id) }).check()
          await dialog.getByText("pedido-77", { exact: false }).first().waitFor()
          await visit.look("exception-accept-several")
          await field.fill("pedido-77")
          await dialog.locator("dd").getByText("Papelaria Escobar").waitFor()
          await page.setViewportSize({ width: 390, height: 844 })
          await visit.look("exception-accept-phone")
          const facts = { Charge: "R$ 56,78 · pedido-77", Account: "Papelaria Escobar", "Balance after": "R$ 66,78" }
          assert.deepStrictEqual(await accepted(visit, facts), { action: "accept", charge_id: charge.id })

          await page.goto(`/exceptions/${second}`)
          await visit.press("Accept")
          await field.fill(byId.id)
          const sent = await accepted(visit, { Charge: "R$ 43,21", "Balance after": "R$ 109,99" })
          assert.deepStrictEqual(sent, { action: "accept", charge_id: byId.id })
          visit.assertNoFault()
        })
        assert.strictEqual(yield* availableOf(key), 10_999)
        assert.strictEqual((yield* operated<{ status: string }>("GET", `/charges/${charge.id}`)).status, "paid")
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-82: an account is found by words of its name or its id, beyond the newest hundred too, and those of equal names by the short id",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const one = yield* makeCaller({ account: { name: "Drogaria Sancha" } })
        const other = yield* makeCaller({ account: { name: "Drogaria Sancha" } })
        yield* sql`INSERT INTO accounts
          SELECT (jsonb_populate_record(a, jsonb_build_object('id', uuidv7(), 'name', 'Loja ' || n))).*
          FROM accounts a, generate_series(1, 100) n WHERE a.id = ${one.accountId}::uuid`
        yield* found("drogaria", 2)
        const first = yield* unknownPayment(1234)
        const second = yield* unknownPayment(1235)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const dialog = page.getByRole("dialog")
          await page.goto(`/exceptions/${first}`)
          await visit.signIn(operatorToken)
          await visit.press("Accept")
          await dialog.getByLabel(FIELD).fill("drogaria")
          await dialog.getByRole("radio", { name: shortIdOf(one.accountId) }).check()
          await dialog.locator("dd").getByText(shortIdOf(one.accountId)).waitFor()
          await visit.look("exception-accept")
          assert.deepStrictEqual(await accepted(visit, { Account: "Drogaria Sancha", "Balance after": "R$ 12,34" }), {
            action: "accept",
            account_id: one.accountId
          })
          await page.goto(`/exceptions/${second}`)
          await visit.press("Accept")
          await dialog.getByLabel(FIELD).fill(other.accountId)
          assert.deepStrictEqual(await accepted(visit, { Account: "Drogaria Sancha", "Balance after": "R$ 12,35" }), {
            action: "accept",
            account_id: other.accountId
          })
        })
        assert.strictEqual(yield* availableOf(one.key), 1234)
        assert.strictEqual(yield* availableOf(other.key), 1235)
      })
  )
})
