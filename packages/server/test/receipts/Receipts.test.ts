/** Receipts of money that moved, as a page and a PDF, and the public page that verifies them. */
import { assert, layer } from "@effect/vitest"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created, someCharge } from "../support/ChargeRequests.ts"
import { exceptionOf, notified, paymentOf, resolved, txidOf } from "../support/Exceptions.ts"
import { funded, operated, paidCharge, paidOut, payoutReaching, simulated } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"

const settings = { simulatorSettleMs: 0, publicUrl: Option.some("https://pix.example.com") }

const customer = { ...someCharge.customer, name: "Ana <b>& João", document: "529.982.247-25" }

const receiptOf = (path: string, query = "") =>
  Effect.flatMap(TestService, ({ operate }) => operate("GET", `/operator/v1${path}/receipt${query}`))

const codeIn = (text: string): string => /https:\/\/pix\.example\.com\/receipts\/([\w-]{44})/.exec(text)?.[1] ?? "none"

/** The text of a PDF as it was written: strings of hexadecimal digits. */
const written = (pdf: string): string =>
  [...pdf.matchAll(/<([0-9a-f]+)> Tj/g)].map(([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1")).join("\n")

layer(TestService.layer({ settings }), { excludeTestServices: true })("receipts", (it) => {
  it.effect(
    "OPR-270, OPR-271: a paid charge has a receipt in both languages, whose code the public page verifies",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 123_456, { customer })
        const page = yield* receiptOf(`/charges/${id}`)
        assert.strictEqual(page.status, 200, page.text)
        assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8")
        assert.match(String(page.headers["content-security-policy"]), /^default-src 'none'; style-src 'sha256-/)
        assert.include(page.text, "Comprovante de Pix recebido")
        assert.include(page.text, "R$ 1.234,56")
        assert.include(page.text, "Ana &#60;b&#62;&#38; João")
        assert.include(page.text, "***982247**")
        assert.notInclude(page.text, "52998224725")
        assert.include(page.text, "Não é um comprovante do banco.")
        const english = yield* receiptOf(`/charges/${id}`, "?language=en")
        assert.include(english.text, "Receipt of a received Pix")
        assert.include(english.text, "R$ 1,234.56")
        assert.include(english.text, "It is not a receipt of the bank.")

        const code = codeIn(page.text)
        assert.strictEqual(codeIn(english.text), code)
        const verified = yield* call("GET", `/receipts/${code}`)
        assert.strictEqual(verified.status, 200, verified.text)
        assert.include(verified.text, "Comprovante autêntico")
        assert.include(verified.text, "R$ 1.234,56")
        assert.include(verified.text, "***982247**")
        assert.notInclude(verified.text, "529.982")
        assert.strictEqual(verified.headers["cache-control"], "no-store")
        assert.include((yield* call("GET", `/receipts/${code}?language=en`)).text, "The receipt is authentic")

        // Each character counts, and what is no code is the same 404.
        const forged = [0, 10, 24, 30, 43].map(
          (at) => code.slice(0, at) + (code[at] === "A" ? "B" : "A") + code.slice(at + 1)
        )
        for (const wrong of [...forged, code.slice(1), `${code}A`, id]) {
          const answer = yield* call("GET", `/receipts/${wrong}`)
          assert.strictEqual(answer.status, 404, wrong)
          assert.include(answer.text, "Este código não é de um comprovante.")
        }
      })
  )

  it.effect(
    "OPR-270, OPR-338: who paid stays on the receipts when retention has removed the report, and after an erasure",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const payer = { name: "Bruno Lima", document: "11144477735" }
        const isNamed = (text: string) => text.includes(payer.name) && text.includes("***444777**")
        const [charge, accepted] = [yield* created(key, { customer }), yield* created(key, { customer })]
        const { amount } = charge

        assert.strictEqual(yield* notified(paymentOf(charge.id, { amount, payer })), "applied")
        const { refunds } = yield* operated<OperatorCharge>("POST", `/charges/${charge.id}/refund`, { amount: 300 })
        // A payment that named no charge, and that an operator accepted for this one.
        const unidentified = paymentOf("", { amount, payer })
        assert.strictEqual(yield* notified(unidentified), "exception")
        const { id } = yield* exceptionOf(unidentified.endToEndId)
        yield* resolved(id, { action: "accept", charge_id: accepted.id })

        const paths = [`/charges/${charge.id}`, `/refunds/${refunds[0]!.id}`, `/charges/${accepted.id}`]
        const receipts = Effect.forEach(paths, (path) => Effect.map(receiptOf(path), ({ text }) => text))
        const before = yield* receipts
        assert.deepStrictEqual(before.map(isNamed), [true, true, true])

        const removed = yield* sql`DELETE FROM notifications WHERE subject = ${txidOf(charge.id)} RETURNING id`
        assert.isNotEmpty(removed)
        assert.deepStrictEqual(yield* receipts, before)
        for (const document of [payer.document, customer.document]) {
          const body = { document, legal_ground: "LGPD art. 18" }
          const erased = yield* operate("POST", "/operator/v1/payers/anonymise", { body })
          assert.deepInclude(erased.body, { anonymised: 0 })
        }
        assert.deepStrictEqual(yield* receipts, before)
        for (const path of [`charges/${charge.id}`, `charges/${accepted.id}`, "charges"])
          assert.notInclude((yield* call("GET", `/v1/${path}`, { key })).text, payer.name)
      })
  )

  it.effect("OPR-272: the PDF of a receipt has its text, one page, and always the same bytes", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 990, { customer, description: "Açaí 🍇 – café" })
      const first = yield* receiptOf(`/charges/${id}`, "?format=pdf")
      assert.strictEqual(first.headers["content-type"], "application/pdf")
      assert.strictEqual((yield* receiptOf(`/charges/${id}`, "?format=pdf")).text, first.text)
      const text = written(first.text)
      for (const part of ["Comprovante de Pix recebido", "R$ 9,90", "Açaí ? \u0096 café", "***982247**"])
        assert.include(text, part)
      assert.include(text.replaceAll("\n", ""), codeIn((yield* receiptOf(`/charges/${id}`)).text))
      // The table at its end says where each object begins.
      const [, from = ""] = /startxref\n(\d+)\n%%EOF\n$/.exec(first.text) ?? []
      assert.strictEqual(first.text.slice(Number(from), Number(from) + 4), "xref")
      const starts = [...first.text.matchAll(/^(\d{10}) 00000 n $/gm)].map(([, start]) => Number(start))
      assert.lengthOf(starts, 7)
      for (const [index, start] of starts.entries()) {
        assert.strictEqual(first.text.slice(start, start + 7), `${index + 1} 0 obj`)
      }
    })
  )

  it.effect(
    "OPR-270, BAL-16: a payout's receipt has the time its money left, and is none once the bank says that it did not",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* funded(10_000)
        const { id } = yield* paidOut(key, {})
        yield* payoutReaching(key, id, "completed")
        const { text } = yield* receiptOf(`/payouts/${id}`)
        // It was handed to the bank the day before.
        yield* sql`UPDATE payouts SET processed_at = processed_at - interval '1 day' WHERE id = ${id}::uuid`
        assert.strictEqual((yield* receiptOf(`/payouts/${id}`)).text, text)
        const code = codeIn(text)
        assert.strictEqual((yield* call("GET", `/receipts/${code}`)).status, 200)
        yield* simulated(`/payouts/${id}/fail`, { reason: "account closed" })
        assertRefused(yield* receiptOf(`/payouts/${id}`), "INVALID_STATE")
        assert.strictEqual((yield* call("GET", `/receipts/${code}`)).status, 404)
      })
  )

  it.effect("OPR-270: a completed payout and a completed refund have receipts; what did not move money has none", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000)
      const payout = yield* paidOut(key, { recipient_name: "Bia", recipient_document: "529.982.247-25" })
      yield* payoutReaching(key, payout.id, "completed")
      const sent = yield* receiptOf(`/payouts/${payout.id}`)
      assert.strictEqual(sent.status, 200, sent.text)
      for (const part of ["Comprovante de Pix enviado", "R$ 5,00", "Bia", "***982247**"])
        assert.include(sent.text, part)

      const { id } = yield* paidCharge(key, 700)
      const { refunds } = yield* operated<OperatorCharge>("POST", `/charges/${id}/refund`, { amount: 300 })
      const returned = yield* receiptOf(`/refunds/${refunds[0]!.id}`)
      assert.strictEqual(returned.status, 200, returned.text)
      for (const part of ["Comprovante de devolução de Pix", "R$ 3,00"]) assert.include(returned.text, part)

      assertRefused(yield* receiptOf(`/charges/${(yield* created(key)).id}`), "INVALID_STATE")
      assertRefused(yield* receiptOf(`/charges/${payout.id}`), "NOT_FOUND")
      assertRefused(yield* receiptOf(`/payouts/x`), "NOT_FOUND")
      assertRefused(yield* receiptOf(`/charges/${id}`, "?format=docx"), "VALIDATION_ERROR", ["format"])
    })
  )
})
