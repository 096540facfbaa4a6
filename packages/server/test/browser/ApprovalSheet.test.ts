/** What an operator sees of requests before the decision: on a desktop, on a phone, in both languages, in light and dark. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import * as Effect from "effect/Effect"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { funded, operated } from "../support/Money.ts"
import { makeOperator, withToken } from "../support/Operators.ts"
import { type Fields, TestService } from "../support/TestService.ts"
import { hasBrowser, type Visit, visiting } from "./Visit.ts"

const DESKTOP = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 844 }

/** It would show `ana@example.com` as a part of the amount, and hides what follows. */
const NAME = "Ana \u202emoc.elpmaxe@\u200b\u2067Souza"

/** Two requests for the same Pix, one for a TED, and one for another limit of the account. */
const makeRequests = Effect.gen(function* () {
  const { one, other } = yield* makeApprovers
  const { accountId } = yield* funded(100_000, { name: "Padaria do Zé", auto_payout_enabled: false })
  const ask = Effect.fnUntraced(function* (method: string, path: string, body: Fields) {
    const asked = yield* one.call<Approval>(method, `/operator/v1/accounts/${accountId}${path}`, { body })
    assert.strictEqual(asked.status, 202, asked.text)
    return asked.body
  })
  const pix = { amount: 30_000, pix_key_type: "email", pix_key: "fornecedor@example.com", recipient_name: NAME }
  yield* ask("POST", "/payouts", pix)
  yield* ask("POST", "/payouts", pix)
  const bank = { bank: "00000000", branch: "0001", account: "12345-6", account_type: "checking" }
  const recipient = { recipient_name: "Moinho Ltda", recipient_document: "11222333000181" }
  yield* ask("POST", "/payouts", { method: "ted", amount: 25_000, ...bank, ...recipient })
  yield* ask("PATCH", "", { approval_limit: 50_000, payouts_paused: true })
  yield* operated("POST", `/accounts/${accountId}/payouts`, { ...pix, amount: 10_000 }, 201)
  return { token: other.token }
})

layer(TestService.layer(), { excludeTestServices: true })("The sheet of an approval", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-240, OPR-241: a question has destination, account, changes, duplicates, sum and balance, on every screen",
    () =>
      Effect.gen(function* () {
        const { operatorUrl } = yield* TestService
        const { token } = yield* makeRequests
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/approvals?status=pending")
          await visit.signIn(token)
          await look(visit, "desktop-en", english)
          await page.setViewportSize(PHONE)
          await look(visit, "phone-en", english)
          await page.setViewportSize(DESKTOP)
          await page.getByRole("button", { name: "Português" }).click()
          await look(visit, "desktop-pt", portuguese)
          await page.setViewportSize(PHONE)
          await look(visit, "phone-pt", portuguese)
          visit.assertNoFault()
        })
      }),
    1_800_000
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-203, OPR-240: one new recipient among forty, and who made the token of a request",
    () =>
      Effect.gen(function* () {
        const { operate, operatorUrl } = yield* TestService
        const { accountId, asking, maker, token } = yield* makeTokenOf
        const recipients = Array.from({ length: 40 }, (_, n) => `loja-${n}@example.com`)
        yield* operated("PATCH", `/accounts/${accountId}`, { limits: { recipients } })
        const limits = { recipients: recipients.with(20, "ana@example.com") }
        const body = { limits, approval_limit: 900 }
        const asked = yield* withToken(operate, asking)<Approval>("PATCH", `/operator/v1/accounts/${accountId}`, {
          body
        })
        assert.strictEqual(asked.status, 202, asked.text)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/approvals?status=pending")
          await visit.signIn(maker)
          const row = page.getByRole("row").filter({ hasText: "ana@example.com" })
          await row.waitFor()
          // Who made the token does not decide.
          assert.strictEqual(await row.getByRole("button", { name: "Approve" }).count(), 0)
          await page.getByRole("button", { name: "Sign out" }).click()
          await visit.signIn(token)
          await row.getByRole("button", { name: "Approve" }).click()
          const dialog = page.getByRole("dialog")
          const text = (await dialog.innerText()).replace(/\s+/g, " ")
          assert.include(text, "recipients (40 in all): removed loja-20@example.com › added ana@example.com")
          const { requested_by: by, token_made_by: of } = asked.body
          assert.include(text, `admin ${by.email}, with a token of admin ${of!.email}`)
          await visit.look("sheet-recipients")
          await page.setViewportSize(PHONE)
          await visit.look("sheet-recipients-phone")
          await visit.submit("Approve")
          await row.waitFor({ state: "detached" })
          visit.assertNoFault()
        })
        const { limits: after } = yield* operated<{ limits: Fields }>("GET", `/accounts/${accountId}`)
        assert.sameMembers(after["recipients"] as Array<string>, limits.recipients)
      })
  )
})

/** An account, a token of one admin that another one made, and the tokens of the maker and of a third. */
const makeTokenOf = Effect.gen(function* () {
  const { one, other } = yield* makeApprovers
  const third = yield* makeOperator("admin")
  const { accountId } = yield* funded(1000, { name: "Padaria Nova" })
  const ask = one.call<Approval & { token: string }>("POST", `/operator/v1/operators/${other.id}/tokens`, {
    body: { name: "laptop" }
  })
  yield* approve(third.call, (yield* ask).body.id)
  return { accountId, asking: (yield* ask).body.token, maker: one.token, token: third.token }
})

const english = {
  approve: "Approve",
  back: "Back",
  create: "Create a payout",
  change: "Change an account",
  checking: "checking account 12345-6",
  unverified: "name not verified",
  twice: "requested twice",
  limit: "approval limit: no limit › R$ 500,00",
  balance: "Balance after"
}

const portuguese: typeof english = {
  approve: "Aprovar",
  back: "Voltar",
  create: "Criar um pagamento",
  change: "Alterar uma conta",
  checking: "conta corrente 12345-6",
  unverified: "nome não verificado",
  twice: "pedido duas vezes",
  limit: "limite de aprovação: sem limite › R$ 500,00",
  balance: "Saldo depois"
}

const look = async (visit: Visit, name: string, text: typeof english) => {
  const { page } = visit
  const picture = async (of: string) => {
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme })
      await visit.look(`${of}-${name}-${colorScheme}`)
    }
  }
  const main = page.getByRole("main")
  const dialog = page.getByRole("dialog")
  const rows = main.getByRole("row")
  const shows = async (shown: string) => dialog.getByText(shown).first().waitFor()
  const close = () => dialog.getByRole("button", { name: text.back }).click()
  const open = async (row: string) => {
    await rows.filter({ hasText: row }).first().getByRole("button", { name: text.approve, exact: true }).click()
    await dialog.waitFor()
  }

  // The row itself has the destination and the account.
  const row = rows.filter({ hasText: "fornecedor@example.com" }).first()
  for (const shown of ["R$ 300,00", "Padaria do Zé", text.unverified, text.twice]) {
    await row.getByText(shown).first().waitFor()
  }
  await picture("approvals")

  await open("fornecedor@example.com")
  for (const shown of [text.create, "R$ 300,00", "fornecedor@example.com", "Ana moc.elpmaxe@Souza", text.unverified]) {
    await shows(shown)
  }
  for (const shown of ["Padaria do Zé", text.twice, text.balance, "R$ 600,00"]) await shows(shown)
  assert.notMatch(await dialog.innerText(), /[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/)
  await picture("sheet-pix")
  await close()

  await open("00000000")
  for (const shown of ["R$ 250,00", "00000000", "0001", text.checking, "11.222.333/0001-81", "Moinho Ltda"])
    await shows(shown)
  await picture("sheet-ted")
  await close()

  await open(text.change)
  assert.include((await dialog.innerText()).replace(/\s+/g, " "), text.limit)
  await picture("sheet-change")
  await close()

  for (const box of await main.getByRole("checkbox").all()) await box.check()
  await main.getByRole("button", { name: `${text.approve} (4)` }).click()
  // 300,00 + 300,00 + 250,00 leave 1.000,00 - 100,00.
  for (const shown of ["R$ 850,00", "R$ 50,00", "fornecedor@example.com", "12345-6", text.limit.split(" ")[0]!]) {
    await shows(shown)
  }
  await picture("sheet-selection")
  await close()
  for (const box of await main.getByRole("checkbox").all()) await box.uncheck()
}
