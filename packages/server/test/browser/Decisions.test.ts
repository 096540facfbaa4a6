/** Exceptions, disputes and connections: what people decide and repair in the dashboard. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { startDouble } from "../support/Bank.ts"
import { operatorCredentials } from "../support/Connections.ts"
import { disputeOf, med } from "../support/Disputes.ts"
import { exceptionOf, notified, paymentOf } from "../support/Exceptions.ts"
import { created } from "../support/ChargeRequests.ts"
import { availableOf, operated, paidCharge } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"
import { hasBrowser, visiting } from "./Visit.ts"

layer(TestService.layer(), { excludeTestServices: true })("Decisions", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-82, OPR-84, OPR-231: an exception is accepted into its charge and returned in part, and one is dismissed with a reason",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const charge = yield* created(key, { amount: 8990 })
        const wrong = paymentOf(charge.id, { amount: 9990 })
        yield* notified(wrong)
        const accepted = yield* exceptionOf(wrong.endToEndId)
        const unknown = paymentOf("", { amount: 1234, key: "pix@example.com" })
        yield* notified(unknown)
        const dismissed = yield* exceptionOf(unknown.endToEndId)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/exceptions?status=open")
          await visit.signIn(operatorToken)
          await page.getByRole("link", { name: "R$ 99,90" }).click()
          await page.waitForURL(`**/exceptions/${accepted.id}`)
          await visit.press("Accept")
          await page.getByRole("dialog").getByText("R$ 99,90 are credited").waitFor()
          await visit.submit("Accept", { "Reason optional": "agreed with the payer" })
          await page.getByText("agreed with the payer").waitFor()
          assert.strictEqual(await page.getByRole("main").getByRole("button", { name: "Accept" }).count(), 0)

          // A part of it goes back to the payer.
          const dialog = page.getByRole("dialog")
          await visit.press("Return")
          await dialog.getByText("what the account has of R$ 99,90").waitFor()
          await dialog.getByLabel("Amount optional").fill("40,00")
          await dialog.getByText(/returns to .*40,00\./).waitFor()
          await visit.look("exception-refund")
          await visit.submit("Return R$ 40,00")
          visit.assertNoFault()

          await page.goto(`/exceptions/${dismissed.id}`)
          await visit.press("Dismiss")
          await visit.submit("Dismiss", { Reason: "a transfer between our own accounts" })
          await page.getByText("a transfer between our own accounts").waitFor()
        })
        assert.strictEqual(yield* availableOf(key), 5990)
        const after = yield* operated<{ action: string; resolved_by: string }>("GET", `/exceptions/${dismissed.id}`)
        assert.strictEqual(after.action, "dismiss")
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-74, OPR-75: a defense with a file makes a dispute under review; the outcome arrives by itself",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate, operatorToken, operatorUrl } = yield* TestService
        const runPromise = Effect.runPromiseWith(yield* Effect.context<TestService>())
        const { key } = yield* makeCaller()
        const { id: chargeId } = yield* paidCharge(key, 8990)
        const { id } = yield* med(chargeId)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/disputes/${id}`)
          await visit.signIn(operatorToken)
          await page.getByText("left for the defense").waitFor()
          await page.locator("[data-live=live]").waitFor()
          const files = page.getByLabel("Files", { exact: true })
          await page.getByLabel("Anything else").fill("The parcel arrived on 20 November.")
          await files.setInputFiles({ name: "none.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) })
          await page.getByText("none.txt is empty or larger than 5 MB.").waitFor()
          assert.isTrue(await page.getByRole("button", { name: "File defense" }).isDisabled())
          await page.getByRole("button", { name: "Remove: none.txt" }).click()
          await page.evaluate(UNREADABLE)
          await files.setInputFiles({ name: "receipt.txt", mimeType: "text/plain", buffer: Buffer.from("signed") })
          await visit.press("File defense")
          await page.getByText("The page could not finish this.").waitFor()
          await page.evaluate(READABLE)
          await visit.press("File defense")
          await page.getByText("The defense is under review.").waitFor()
          await page.getByText("The parcel arrived on 20 November.").waitFor()
          await runPromise(operate("POST", `/operator/v1/simulator/disputes/${id}/win`, { body: {} }))
          await page.getByText("Decided in our favour: R$ 89,90").waitFor()
          await visit.inspect("dispute-won", `/disputes/${id}`, "R$ 89,90")
        })
        assert.strictEqual((yield* disputeOf(id)).status, "won")
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-61, OPR-65, OPR-159, OPR-259: a provider is connected, checked, stopped, paused, and gets its bank account and other credentials",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const double = yield* startDouble()
        const other = yield* Effect.promise(() => double.authority.issue({ name: "other", usage: "client" }))
        const good = operatorCredentials(double)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/connections")
          await visit.signIn(operatorToken)
          await visit.press("Connect a provider")
          await visit.look("connection-form")
          const values = {
            Name: "Bank",
            Provider: double.profile.name,
            "Receiving Pix key": double.key,
            "Client id": good.client_id,
            "Client secret": good.client_secret,
            Certificate: good.certificate,
            "Authorities to trust optional": good.ca,
            "URL of the API optional": double.baseUrl,
            "URL of the tokens optional": double.tokenUrl
          }
          await visit.fill("Connect a provider", { ...values, "Private key": other.key })
          await page.getByRole("dialog").locator(".wrong", { hasText: "credentials.private_key" }).waitFor()
          visit.forgetFaults()
          await visit.submit("Connect a provider", { "Private key": good.private_key })
          await page.waitForURL(/\/connections\/.+/)
          await page.locator("h1 ~ .chip", { hasText: "ready" }).waitFor()

          await visit.press("Check")
          await visit.submit("Check")
          await page.getByRole("row", { name: /^Token works/ }).waitFor()
          await visit.press("Stop payouts")
          await page.getByRole("dialog").getByText("no payout of the accounts of Bank is sent").waitFor()
          await visit.submit("Stop payouts")
          await page.getByRole("button", { name: "Release payouts" }).waitFor()
          await page.getByRole("button", { name: "Stop charges" }).waitFor()
          await page.getByRole("link", { name: "Today" }).click()
          const brakes = page.getByRole("definition").filter({ hasText: "payouts stopped" })
          await brakes.getByRole("link", { name: "Bank" }).click()
          await visit.press("Pause")
          await visit.submit("Pause")
          await page.locator("h1 ~ .chip", { hasText: "paused" }).waitFor()
          await visit.press("Change")
          await visit.look("connection-change")
          await visit.submit("Change", {
            "Bank in OFX optional": "341",
            "Branch in OFX optional": "1234",
            "Number in OFX optional": "56789-0"
          })
          await page.getByRole("definition").filter({ hasText: "341 / 1234 / 56789-0" }).waitFor()
          await visit.press("Rotate credentials")
          await visit.submit("Rotate credentials", { "Client secret optional": "another-secret" })
          await visit.press("Check")
          await visit.submit("Check")
          await page.getByRole("row", { name: /^Token fails/ }).waitFor()
          visit.assertNoFault()

          // What single banks want beside the others' credentials.
          for (const [profile, part, label] of [
            ["inter", "current_account", "Current account, at Inter optional"],
            ["banco-do-brasil", "developer_key", "Developer key, at Banco do Brasil optional"]
          ] as const) {
            await page.goto("/connections")
            await visit.press("Connect a provider")
            await visit.fill("Connect a provider", {
              ...values,
              "Private key": good.private_key,
              Name: profile,
              Provider: profile,
              "Receiving Pix key": `${profile}@example.com`
            })
            await page
              .getByRole("dialog")
              .locator(".wrong", { hasText: `credentials.${part}` })
              .waitFor()
            await visit.submit("Connect a provider", { [label]: "12345678" })
            await page.locator("h1", { hasText: profile }).waitFor()
          }
        })
      })
  )
})

/** A file that was moved after it was chosen. */
const UNREADABLE = `globalThis.readable = FileReader.prototype.readAsDataURL
  FileReader.prototype.readAsDataURL = function () { this.dispatchEvent(new Event("error")) }`
const READABLE = `FileReader.prototype.readAsDataURL = globalThis.readable`
