/** Resending deliveries on the dashboard. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../support/ChargeRequests.ts"
import { operated } from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { deliveriesOf, type DeliveryRow, registered } from "../support/Webhooks.ts"
import { hasBrowser, visiting } from "./Visit.ts"

const RESEND = /\/deliveries\/resend$/

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Deliveries", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-138, OPR-155: a resend by filter shows its number first, and sends those deliveries, but no tests",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const other = yield* makeCaller()
        let status = 503
        const { url } = yield* receiver((_, response) => response.writeHead(status).end())
        const { id } = yield* registered(key, { url, events: ["charge.pix.created"] })
        for (let i = 0; i < 3; i++) yield* created(key)
        yield* operated("POST", `/webhooks/${id}/test`, undefined, 202)
        const all = deliveriesOf(`endpoint_id=${id}`)
        yield* eventually(all, (rows) => rows.length === 4 && rows.every((row) => row.attempts_made === 1))
        yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL WHERE endpoint_id = ${id}::uuid`
        status = 200
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/deliveries")
          await visit.signIn(operatorToken)
          await page.goto("/")
          await page.getByText("3 deliveries").waitFor()
          const dialog = page.getByRole("dialog")
          const counts = (count: number) => dialog.getByText(`Failed deliveries: ${count}.`).waitFor()
          await page.goto("/deliveries")
          await visit.press("Resend failed")
          await counts(3)
          await dialog.getByLabel("Event").selectOption("charge.pix.paid")
          await counts(0)
          await dialog.getByLabel("Event").selectOption("charge.pix.created")
          await counts(3)
          await page.keyboard.press("Escape")
          await page.goto("/deliveries?resource_id=00000000-0000-7000-8000-000000000000")
          await visit.press("Resend failed")
          await counts(0)
          const filters = [
            [`account_id=${accountId}`, 3],
            [`account_id=${other.accountId}`, 0],
            ["created_after=2099-01-01T00:00:00Z", 0],
            ["created_before=2026-01-01T00:00:00Z", 0]
          ] as const
          for (const [filter, count] of filters) {
            await page.goto(`/deliveries?${filter}`)
            await visit.press("Resend failed")
            await counts(count)
          }
          await page.goto(`/deliveries?endpoint_id=${id}`)
          await visit.press("Resend failed")
          await counts(3)
          await visit.look("deliveries-resend")
          const submit = dialog.getByRole("button", { name: "Resend failed" })
          await dialog.getByLabel("Created since (BRT)").fill("0002-11-21T10:00")
          await dialog.locator(".question", { hasText: "A date and a time." }).waitFor()
          assert.isTrue(await submit.isDisabled(), "an instant that cannot be read is not sent")
          await page.route(RESEND, (route) => route.abort(), { times: 1 })
          await dialog.getByLabel("Created since (BRT)").fill("")
          await dialog.getByText("The server did not answer.").waitFor()
          assert.isTrue(await submit.isDisabled(), "a filter that could not be counted is not sent")
          visit.forgetFaults()
          await dialog.getByLabel("Event").selectOption("charge.pix.created")
          await counts(3)
          let turns = 0
          let staysOpen = false
          await page.route(RESEND, async (route) => {
            turns += 1
            if (turns > 1) return route.continue()
            await page.keyboard.press("Escape")
            staysOpen = await dialog.isVisible()
            return route.fulfill({ status: 202, json: { object: "resend", count: 7, has_more: true, dry_run: false } })
          })
          await visit.submit("Resend failed")
          assert.strictEqual(turns, 2, "what is left is sent too")
          assert.isTrue(staysOpen, "Escape leaves no dialog that acts")
          visit.assertNoFault()
        })
        const isTest = (row: DeliveryRow) => row.resource_id === id
        const sent = yield* eventually(all, (rows) => rows.every((row) => isTest(row) || row.status === "delivered"))
        assert.deepStrictEqual(
          sent.filter(isTest).map((row) => row.status),
          ["failed"]
        )
        assert.lengthOf(sent, 4)
      })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Resends", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-138: failed deliveries of an endpoint are resent since an instant in the shown zone",
    () =>
      Effect.gen(function* () {
        const { operatorToken, operatorUrl } = yield* TestService
        const { accountId, endpointId, setStatus, sql, url } = yield* failedDeliveries(3)
        const all = deliveriesOf(`endpoint_id=${endpointId}`)
        const [newest] = yield* all
        // 01:30 UTC is 22:30 of the day before in Brazil.
        yield* sql`UPDATE deliveries SET created_at = '2026-03-02T01:29:59Z' WHERE id <> ${newest!.id}::uuid`
        yield* sql`UPDATE deliveries SET created_at = '2026-03-02T01:30:00Z' WHERE id = ${newest!.id}::uuid`
        setStatus(200)
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto("/")
          await visit.signIn(operatorToken)
          await page.getByTitle("waits for a person").getByText("1").waitFor()
          await page.getByRole("link", { name: "1 endpoint fails" }).click()
          await page.waitForURL(`**/endpoints/${endpointId}`)
          await page.getByRole("link", { name: "Webhooks" }).click()
          await page.getByLabel("Account").selectOption(accountId)
          await page.waitForURL(`**/endpoints?account_id=${accountId}`)
          await page.getByRole("row", { name: url }).getByText("failing").waitFor()
          await visit.press("Resend failed")
          const dialog = page.getByRole("dialog")
          // By default since yesterday.
          await dialog.getByText("Failed deliveries: 0.").waitFor()
          assert.strictEqual(await dialog.getByLabel("Endpoint").locator("option:checked").innerText(), url)
          await dialog.getByLabel("Created since (BRT)").fill("2026-03-01T22:30")
          await dialog.getByText("Failed deliveries: 1.").waitFor()
          await page.keyboard.press("Escape")
          await page.getByRole("button", { name: "BRT" }).click()
          await visit.press("Resend failed")
          await dialog.getByLabel("Created since (UTC)").fill("2026-03-02T01:30")
          await dialog.getByText("Failed deliveries: 1.").waitFor()
          await visit.look("endpoints-resend")
          await visit.submit("Resend failed")
          await page.goto("/endpoints?failing=true")
          await page.getByText("Nothing here with these filters.").waitFor()
          visit.assertNoFault()
        })
        const rows = yield* eventually(all, (rows) => rows.some((row) => row.status === "delivered"))
        assert.deepStrictEqual(
          rows.filter((row) => row.status === "delivered").map((row) => row.id),
          [newest!.id]
        )
      })
  )

  it.effect.skipIf(!hasBrowser)("OPR-138: a charge's page resends one of its deliveries, or those that failed", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const { endpointId, setStatus } = yield* failedDeliveries(2)
      const all = deliveriesOf(`endpoint_id=${endpointId}`)
      const [second, first] = yield* all
      setStatus(200)
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto(`/charges/${first!.resource_id}`)
        await visit.signIn(operatorToken)
        await visit.press("Resend")
        await visit.submit("Resend")
        await page.getByText("delivered to").waitFor()
        await page.goto(`/charges/${second!.resource_id}`)
        await visit.press("Resend failed webhooks")
        await page.getByRole("dialog").getByText("Failed deliveries: 1.").waitFor()
        await visit.submit("Resend failed webhooks")
        await page.getByText("delivered to").waitFor()
        await page.getByRole("button", { name: "Resend failed webhooks" }).waitFor({ state: "detached" })
        visit.assertNoFault()
      })
      yield* eventually(all, (rows) => rows.every((row) => row.status === "delivered"))
    })
  )
})

/** Charges whose only delivery failed. */
const failedDeliveries = Effect.fnUntraced(function* (count: number) {
  const { makeCaller } = yield* TestService
  const sql = yield* SqlClient
  const { accountId, key } = yield* makeCaller()
  let status = 503
  const { url } = yield* receiver((_, response) => response.writeHead(status).end())
  const { id: endpointId } = yield* registered(key, { url, events: ["charge.pix.created"] })
  for (let i = 0; i < count; i++) yield* created(key)
  const isTried = (rows: ReadonlyArray<DeliveryRow>) =>
    rows.length === count && rows.every((row) => row.attempts_made === 1)
  yield* eventually(deliveriesOf(`endpoint_id=${endpointId}`), isTried)
  yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL WHERE endpoint_id = ${endpointId}::uuid`
  const setStatus = (next: number) => {
    status = next
  }
  return { accountId, endpointId, setStatus, sql, url }
})
