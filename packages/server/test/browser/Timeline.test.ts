/** The page of a charge and of a payout: what happened, in one line. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Page } from "playwright-core"
import { expect } from "vitest"
import { created } from "../support/ChargeRequests.ts"
import { funded, holding, paidOut, simulated } from "../support/Money.ts"
import { loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

/** What the timeline shows, oldest first, without ids and durations. */
const storyOf = (page: Page): Promise<ReadonlyArray<string>> =>
  page
    .locator(".line > li")
    .allTextContents()
    .then((texts) => texts.toReversed().map((text) => text.replaceAll(/\s+/g, " ")))

/** The numbers of the lines that these words are in. */
const placesOf = (story: ReadonlyArray<string>, words: ReadonlyArray<string>) =>
  words.map((word) => story.findIndex((line) => line.includes(word)))

/** The story once it has all of these: one that is read as they are written may have the last without those before. */
const storyWith = async (page: Page, words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  let story: ReadonlyArray<string> = []
  const places = async () => {
    story = await storyOf(page)
    return placesOf(story, words)
  }
  await expect.poll(places, { timeout: 120_000 }).not.toContain(-1)
  return story
}

layer(TestService.layer({ settings }), { excludeTestServices: true })("Timeline", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-141: a charge that is paid while its page is open shows the whole story in order, as it happens",
    () =>
      Effect.gen(function* () {
        const context = yield* Effect.context<TestService>()
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const { url } = yield* receiver((_, response) => response.writeHead(500).end("we are closed"))
        yield* registered(key, { url, events: ["charge.pix.paid"] })
        const { id } = yield* created(key, { amount: 4590 })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.goto(`/charges/${id}`)
          const lines = page.locator(".line > li")
          await lines.filter({ hasText: "POST /v1/charges" }).waitFor()
          assert.deepStrictEqual(
            placesOf(await storyOf(page), ["the acquirer reported", "ledger", "webhook"]),
            [-1, -1, -1]
          )
          await Effect.runPromiseWith(context)(simulated(`/charges/${id}/pay`))
          await lines.filter({ hasText: "we are closed" }).waitFor({ state: "attached" })
          const words = [
            "processing",
            "charge.pix.created",
            "charge.pix.emitted",
            "the acquirer reported charge.paid applied",
            "charge.pix.paid",
            "webhook charge.pix.paid",
            "attempt 500"
          ]
          const story = await storyWith(page, [...words, "ledger R$ 45,90 acquirer › available"])
          const places = placesOf(story, words)
          assert.deepStrictEqual(
            places,
            places.toSorted((one, other) => one - other),
            story.join("\n")
          )
          await visit.inspect("timeline", `/charges/${id}`, "R$ 45,90")
          await page.getByText("the response", { exact: true }).click()
          await page.getByText("we are closed").waitFor()
          await lines.getByRole("link", { name: "charge.pix.paid" }).first().click()
          await page.waitForURL(/\/deliveries\/.+/)
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-141: a payout that ends while its page is open shows its order, its outcome and its money",
    () =>
      Effect.gen(function* () {
        const context = yield* Effect.context<TestService>()
        const { operatorToken, operatorUrl } = yield* TestService
        const { key } = yield* funded(90_000)
        const { id } = yield* paidOut(key, { ...holding, amount: 700 })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await visit.signIn(operatorToken)
          await page.goto(`/payouts/${id}`)
          const lines = page.locator(".line > li")
          await lines.filter({ hasText: "waits for the answer" }).waitFor()
          await Effect.runPromiseWith(context)(simulated(`/payouts/${id}/complete`))
          await lines.filter({ hasText: "payment.pix.completed" }).waitFor()
          const words = [
            "order to the acquirer payout R$ 7,00 accepted",
            "ledger R$ 7,00 available › payouts in transit",
            "the acquirer reported payout.completed applied",
            "payment.pix.completed",
            "ledger R$ 7,00 payouts in transit › acquirer"
          ]
          const story = await storyWith(page, words)
          const places = placesOf(story, words)
          assert.isBelow(places[2]!, places[4]!, story.join("\n"))
          await visit.inspect("payout-timeline", `/payouts/${id}`, "R$ 7,00")
          visit.assertNoFault()
        })
      })
  )
})
