/** The desk of defenses: a dispute with what it is about, evidence, files, and a draft that outlives the page. */
import { assert, layer } from "@effect/vitest"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { expect } from "vitest"
import { disputeOf, med } from "../support/Disputes.ts"
import { funded, paidCharge } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"
import { hasBrowser, visiting, waitForCount } from "./Visit.ts"

/** A picture of one point. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

/** How many parts of the draft the browser has stored: one of texts, one of files. */
const STORED_PARTS = `new Promise((resolve, reject) => {
  const opening = indexedDB.open("drafts")
  opening.onerror = () => reject(opening.error)
  opening.onsuccess = () => {
    const reading = opening.result.transaction("defenses").objectStore("defenses").getAllKeys()
    reading.onsuccess = () => {
      opening.result.close()
      resolve(reading.result.length)
    }
  }
})`
const HOUR_MS = 3_600_000
const customer = { name: "Antônia Conceição", email: "antonia@example.com", document: "39053344705" }
const settings = { simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

const world = Effect.gen(function* () {
  const { key } = yield* funded(10_000, { name: "Livraria Capitu" })
  const { url } = yield* receiver()
  yield* registered(key, { url, events: ["charge.pix.paid"] })
  const now = yield* Clock.currentTimeMillis
  const earlier = yield* med((yield* paidCharge(key, 1230, { customer, reference: "LOJA-1" })).id, {
    defense_deadline_at: formatInstant(now + 30 * HOUR_MS)
  })
  const { id } = yield* med((yield* paidCharge(key, 8990, { customer, reference: "LOJA-2" })).id, {
    defense_deadline_at: formatInstant(now + 5 * HOUR_MS)
  })
  return { earlier, id }
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("The desk of defenses", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-380, OPR-381, OPR-382: from the first page to the defense in three clicks, with its context; the draft survives a reload",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { earlier, id } = yield* world
        const viewer = yield* makeOperator("viewer")
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.getByText("R$ 102,20 blocked · 1 within 6 h · 2 within 48 h").waitFor()
          await page.goto("/disputes?status=open")
          await page.getByText("2 rows · R$ 102,20 · the first deadline first").waitFor()
          const rows = page.getByRole("main").locator("a.row")
          // The count and the rows are two answers.
          await waitForCount(rows, 2)
          assert.deepStrictEqual(await rows.evaluateAll((all) => all.map((row) => row.getAttribute("href"))), [
            `/disputes/${id}`,
            `/disputes/${earlier.id}`
          ])

          // 1.
          await rows.first().click()
          for (const text of [
            "Antônia Conceição",
            "390.533.447-05",
            "LOJA-2",
            "Livraria Capitu",
            "charge.pix.paid",
            "Other disputes of this payer"
          ]) {
            await page.getByText(text).first().waitFor()
          }
          await page.getByRole("link", { name: "R$ 12,30" }).waitFor()
          await page.getByLabel("Delivery or use").fill("Arrived on 20 November, signed by A. Conceição.")
          await page.getByLabel("What was sold").fill("Dom Casmurro, one copy.")
          // 2.
          await page.getByLabel("Files", { exact: true }).setInputFiles([
            { name: "entrega.png", mimeType: "image/png", buffer: PNG },
            { name: "nota.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4") }
          ])
          await page.locator('.files img[src^="data:image/png"]').waitFor()
          await page.getByText("nota.pdf").waitFor()
          await visit.look("defense-draft")
          // Texts and files are written in turn, after the page shows them.
          await expect.poll(() => page.evaluate<number>(STORED_PARTS), { timeout: 120_000 }).toBe(2)
          await page.reload()
          await page.getByText("entrega.png").waitFor()
          assert.strictEqual(await page.getByLabel("What was sold").inputValue(), "Dom Casmurro, one copy.")
          // 3.
          await visit.press("File defense")
          await page.getByText("The defense is under review.").waitFor()
          await page.getByText("Delivery or use:").waitFor()
          const picture = page.locator('.chat .files img[src^="/operator/v1/dispute-files/"]')
          await picture.waitFor()
          await page.waitForFunction(
            () =>
              (
                globalThis as unknown as { document: { querySelector: (of: string) => { naturalWidth: number } } }
              ).document.querySelector(".chat .files img").naturalWidth === 1
          )
          await page.getByRole("link", { name: "nota.pdf" }).waitFor()
          await visit.inspect("defense-sent", `/disputes/${id}`, "R$ 89,90")

          // Nothing of it is left in the browser, and a sign-out leaves no draft of another one.
          await page.goto(`/disputes/${earlier.id}`)
          await page.getByLabel("What was sold").fill("secret of a colleague")
          await page.getByText("The draft is kept in this browser.").waitFor()
          await page.getByRole("button", { name: "Sign out" }).click()
          await visit.signIn(operatorToken)
          await page.getByLabel("What was sold").waitFor()
          assert.strictEqual(await page.getByLabel("What was sold").inputValue(), "")
          await page.getByRole("button", { name: "Sign out" }).click()

          await visit.signIn(viewer.token)
          await page.goto(`/disputes/${id}`)
          await page.getByText("nota.pdf").waitFor()
          assert.strictEqual(await page.getByRole("link", { name: "nota.pdf" }).count(), 0)
          visit.assertNoFault()
        })
        const { messages, status } = yield* disputeOf(id)
        assert.strictEqual(status, "under_review")
        assert.strictEqual(
          messages[0]!.text,
          "Delivery or use:\nArrived on 20 November, signed by A. Conceição.\n\nWhat was sold:\nDom Casmurro, one copy."
        )
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-74: a defense that is too long, or has six files, is not sent; in Portuguese",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { id } = yield* world
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/disputes/${id}`)
          await visit.signIn(operatorToken)
          await page.getByRole("button", { name: "Português" }).click()
          const send = page.getByRole("button", { name: "Enviar defesa" })
          assert.isTrue(await send.isDisabled())
          await page.getByLabel("Quem comprou").fill("x".repeat(4001))
          await page.getByText(/^4\.0\d\d de 4\.000$/).waitFor()
          assert.isTrue(await send.isDisabled())
          await page.getByLabel("Quem comprou").fill("cliente desde 2019")
          await page.getByLabel("Arquivos", { exact: true }).setInputFiles(
            Array.from({ length: 6 }, (_, index) => ({
              name: `${index}.txt`,
              mimeType: "text/plain",
              buffer: Buffer.from("x")
            }))
          )
          await page.getByText("No máximo 5 arquivos.").waitFor()
          await waitForCount(page.getByRole("button", { name: /^Tirar: / }), 5)
          await page.getByRole("button", { name: "Descartar rascunho" }).click()
          await page.locator("form.defense button.first:disabled").waitFor()
          await visit.inspect("defense-pt", `/disputes/${id}`, "R$ 89,90")
          visit.assertNoFault()
        })
      })
  )
})
