/** Names instead of ids, what tells rows apart on a phone, and the orders of a list. */
import { assert, layer } from "@effect/vitest"
import { formatInstant } from "@pix-payments/domain/Instant"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { med } from "../support/Disputes.ts"
import { operated, paidCharge } from "../support/Money.ts"
import { makeOperator, withToken } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/
const HOUR_MS = 3_600_000

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Names", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "keys, operators, accounts and operations have their names in lists; a phone shows what tells rows apart",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate, operatorUrl } = yield* TestService
        const { accountId, applicationId } = yield* makeCaller({ account: { name: "Livraria Capitu" } })
        const { key } = yield* operated<{ key: string }>(
          "POST",
          `/applications/${applicationId}/keys`,
          { name: "Caixa da loja", scopes: ["charge:read", "charge:write"] },
          201
        )
        const { id } = yield* paidCharge(key, 5000, { reference: "LOJA-1" })
        const dora = yield* makeOperator("admin")
        const limited = yield* makeOperator("viewer", [
          accountId,
          (yield* makeCaller({ account: { name: "Sebo Bento" } })).accountId
        ])
        const asDora = withToken(operate, dora.token)
        const refunded = yield* asDora("POST", `/operator/v1/charges/${id}/refund`, {
          body: { amount: 590, description: "faltou um livro" }
        })
        assert.isBelow(refunded.status, 300, refunded.text)
        yield* call("GET", "/v1/account", { key: "pix_unknown" })
        yield* eventually(
          operated<{ data: ReadonlyArray<{ key_id: string | null }> }>("GET", "/requests"),
          ({ data }) => data.some(({ key_id }) => key_id === null) && data.some(({ key_id }) => key_id !== null)
        )
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const main = page.getByRole("main")
          await visit.signIn(dora.token)
          const shows = async (path: string, texts: ReadonlyArray<string>) => {
            await page.goto(path)
            for (const text of texts) await main.getByText(text).filter({ visible: true }).first().waitFor()
            await page.locator("[data-loading]").first().waitFor({ state: "detached" })
            assert.notMatch(await main.innerText(), UUID, path)
          }
          await shows("/requests", ["Caixa da loja", "POST /v1/charges", shortIdOf(id)])
          await main.getByRole("link", { name: "Caixa da loja" }).first().click()
          await page.waitForURL("**key_id=**")
          await main.getByText("401", { exact: true }).waitFor({ state: "detached" })
          await shows("/audit", ["API key: create", "Caixa da loja", "charge: return", "installation's token"])
          await shows("/ledger", ["Pix received", "Livraria Capitu", "Return"])
          await shows(`/ledger?account_id=${accountId}`, ["Pix received"])
          await shows("/refunds", ["faltou um livro", "Livraria Capitu", "operator"])
          await shows("/sessions", ["admin", "Chrome, Linux"])
          await page.goto(`/operators/${limited.id}`)
          await main.getByRole("link", { name: "Livraria Capitu", exact: true }).waitFor()
          await main.getByRole("link", { name: "Sebo Bento", exact: true }).waitFor()
          await visit.inspect("names-operator", `/operators/${limited.id}`, "viewer")
          for (const name of ["requests", "audit", "ledger", "refunds"]) {
            await visit.inspect(`names-${name}`, `/${name}`, /./)
          }
          await page.getByRole("button", { name: "Português" }).click()
          await page.setViewportSize({ width: 390, height: 844 })
          await shows("/requests", ["Caixa da loja", shortIdOf(id)])
          await visit.look("names-requests-phone-pt")
          await shows("/refunds", ["faltou um livro"])
          await visit.look("names-refunds-phone-pt")
          await shows("/audit", ["chave de API: criar", "Caixa da loja", "cobrança: devolver"])
          await visit.look("names-audit-phone-pt")
          await shows("/ledger", ["Pix recebido", "Livraria Capitu", shortIdOf(id)])
          await visit.look("names-ledger-phone-pt")
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-290: disputes are in order by deadline or the newest first, by the heads of their columns",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const now = yield* Clock.currentTimeMillis
        for (const [amount, hours] of [
          [1100, 30],
          [2200, 5],
          [3300, 60]
        ] as const) {
          const { id } = yield* paidCharge(key, amount)
          yield* med(id, { defense_deadline_at: formatInstant(now + hours * HOUR_MS) })
        }
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/disputes?status=open")
          await visit.signIn(operatorToken)
          const head = (name: string) => page.getByRole("columnheader", { name })
          const inOrder = async (...amounts: Array<string>) => {
            await page.locator("a.row").first().filter({ hasText: amounts[0]! }).waitFor()
            const shown = await page.locator("a.row").allInnerTexts()
            assert.deepStrictEqual(
              shown.map((text) => text.replaceAll("\u00a0", " ").split("\n")[0]),
              amounts
            )
          }
          await inOrder("R$ 22,00", "R$ 11,00", "R$ 33,00")
          assert.strictEqual(await head("Defense until").getAttribute("aria-sort"), "ascending")
          assert.isNull(await head("Opened").getAttribute("aria-sort"))
          await head("Opened").getByRole("link").press("Enter")
          await inOrder("R$ 33,00", "R$ 22,00", "R$ 11,00")
          assert.strictEqual(await head("Opened").getAttribute("aria-sort"), "descending")
          assert.isNull(await head("Defense until").getAttribute("aria-sort"))
          await visit.look("names-disputes-newest")
          await head("Defense until").getByRole("link").click()
          await inOrder("R$ 22,00", "R$ 11,00", "R$ 33,00")
          await page.goto("/disputes")
          await head("Defense until").waitFor()
          assert.strictEqual(await head("Defense until").getByRole("link").count(), 0)
          visit.assertNoFault()
        })
      })
  )
})
