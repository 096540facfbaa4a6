/** Endpoints, keys, the live tail and the simulator on the dashboard. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { created } from "../support/ChargeRequests.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { deliveriesOf, registered } from "../support/Webhooks.ts"
import { hasBrowser, visiting, waitForCount } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Developers", (it) => {
  it.effect.skipIf(!hasBrowser)(
    "OPR-153, OPR-155: a test is sent to an endpoint, and resent; its health is shown",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorToken, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        let status = 503
        const hooks = yield* receiver((_, response) => response.writeHead(status).end("later"))
        const { id } = yield* registered(key, { url: hooks.url, events: ["charge.pix.paid"] })
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/endpoints?account_id=${accountId}`)
          await visit.signIn(operatorToken)
          await visit.openFirstRow(hooks.url)
          await page.getByRole("heading", { level: 1, name: hooks.url }).waitFor()
          await visit.press("Send test")
          await visit.look("endpoint-test")
          await visit.submit("Send test")
          await page.getByRole("heading", { level: 1, name: "charge.pix.paid (test)" }).waitFor()
          await page.getByText("503", { exact: true }).waitFor()
          const ofDelivery = page.url()
          await page.goBack()
          await page.getByText("0 % (0 of 1)").waitFor()
          // A test is resent by itself only.
          status = 200
          await page.goto(ofDelivery)
          await visit.press("Resend")
          await visit.submit("Resend")
          await page.locator("h1 ~ .chip", { hasText: "delivered" }).waitFor()
          await page.goBack()
          await page.getByText("100 % (1 of 1)").waitFor()
          visit.assertNoFault()
        })
        const rows = yield* deliveriesOf(`resource_id=${id}`)
        assert.deepStrictEqual(
          rows.map(({ attempts_made, status }) => [status, attempts_made]),
          [["delivered", 2]]
        )
        assert.strictEqual(hooks.received[0]!.body.id, hooks.received[1]!.body.id)
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-15: a key is created, then rotated: the new one is shown once, and the old one works until it is revoked",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operatorUrl } = yield* TestService
        const { accountId } = yield* makeCaller()
        const { token } = yield* makeOperator("developer", [accountId])
        const statusOf = (key: string) => Effect.map(call("GET", "/v1/charges", { key }), ({ status }) => status)
        const keys: Array<string> = []
        const run = Effect.runPromiseWith(yield* Effect.context<never>())
        const use = (key: string) => run(statusOf(key))
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          const shown = async () => {
            const secret = page.getByRole("status").filter({ hasText: "Copy it now" }).locator("code")
            await secret.filter({ hasNotText: keys.at(-1) ?? "no key" }).waitFor()
            keys.push(await secret.innerText())
          }
          await page.goto(`/developers?account_id=${accountId}`)
          await visit.signIn(token)
          await visit.openFirstRow("Loja")
          await visit.press("Create key")
          const dialog = page.getByRole("dialog")
          await dialog.getByLabel("Name").fill("shop")
          await dialog.getByLabel("charge:read").check()
          await dialog.getByRole("button", { name: "Create key" }).click()
          await shown()
          const row = page.getByRole("row", { name: /^shop/ }).first()
          await row.getByRole("button", { name: "Rotate" }).click()
          await visit.submit("Rotate")
          await shown()
          const [old = "", fresh = ""] = keys
          assert.deepStrictEqual([await use(old), await use(fresh)], [200, 200])
          await visit.look("key-rotation")
          const notice = page.getByRole("status").filter({ hasText: "still works" })
          await notice.getByRole("button", { name: "Revoke" }).click()
          await visit.submit("Revoke")
          await notice.waitFor({ state: "detached" })
          assert.deepStrictEqual([await use(old), await use(fresh)], [401, 200])
          await page.reload()
          await page.getByRole("heading", { level: 1 }).waitFor()
          assert.notInclude(await page.content(), fresh)
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)(
    "OPR-31, OPR-161: the live tail shows a request without a reload, and none while it is paused; its filter and pause are in the address, and its request ids lead to their requests",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operatorUrl } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { token } = yield* makeOperator("developer", [accountId])
        const run = Effect.runPromiseWith(yield* Effect.context<never>())
        const request = (path: string) => run(Effect.asVoid(call("GET", path, { key })))
        yield* visiting(operatorUrl, async (visit) => {
          const { page } = visit
          await page.goto(`/developers?account_id=${accountId}`)
          await visit.signIn(token)
          const tail = page.getByRole("log")
          await page.getByText("Requests to /v1 appear here").waitFor()
          await request("/v1/balance")
          await tail.getByText("GET /v1/balance").waitFor()
          await visit.look("live-tail")
          await visit.press("Pause")
          await request("/v1/account")
          await visit.press("Resume")
          await tail.getByText("GET /v1/account").waitFor()
          await request("/v1/charges/00000000-0000-7000-8000-000000000000")
          await tail.getByText("GET /v1/charges/{id}").waitFor()
          await page.getByLabel("Status").selectOption("4xx")
          await tail.getByText("GET /v1/balance").waitFor({ state: "detached" })
          await waitForCount(tail.getByText("404", { exact: true }), 1)
          await visit.press("Pause")
          await page.reload()
          await page.getByRole("button", { name: "Resume" }).waitFor()
          await tail.getByText("404", { exact: true }).waitFor()
          await waitForCount(tail.getByRole("row"), 2)
          await page.goBack()
          await page.getByRole("button", { name: "Pause" }).waitFor()
          assert.strictEqual(await page.getByLabel("Status").inputValue(), "4xx")

          // A request id leads to its request, from the tail and from the search.
          await visit.openFirstRow("GET /v1/charges/{id}")
          await page.waitForURL("**/requests?request_id=*")
          const found = page.getByRole("row").filter({ hasText: "/v1/" })
          await found.filter({ hasText: "GET /v1/charges/{id}" }).waitFor()
          await waitForCount(found, 1)
          const requestId = new URL(page.url()).searchParams.get("request_id")!
          await page.goto("/")
          await page.getByText("Nothing waits for a person.").waitFor()
          await page.keyboard.press("/")
          await page.keyboard.type(requestId)
          await page.getByRole("option", { name: "GET /v1/charges/{id} 404" }).waitFor()
          await page.keyboard.press("Enter")
          await page.waitForURL(`**/requests?request_id=${requestId}`)
          await found.waitFor()
          visit.assertNoFault()
        })
      })
  )

  it.effect.skipIf(!hasBrowser)("OPR-32: the simulator pays a charge and contests it", () =>
    Effect.gen(function* () {
      const { makeCaller, operate, operatorUrl } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { token } = yield* makeOperator("developer", [accountId])
      const charge = yield* created(key, { amount: 4590 })
      yield* visiting(operatorUrl, async (visit) => {
        const { page } = visit
        await page.goto("/simulator")
        await visit.signIn(token)
        const row = page.getByRole("row", { name: /R\$ 45,90/ }).first()
        await row.getByText("pending").waitFor()
        await visit.openFirstRow("R$ 45,90")
        await page.waitForURL(`**/charges/${charge.id}`)
        await page.goBack()
        await visit.press("Pay")
        await visit.submit("Pay")
        await row.getByText("paid").waitFor()
        await visit.press("Open dispute")
        await visit.submit("Open dispute", { Reason: "fraud" })
        await page.getByRole("button", { name: "Decide for us" }).waitFor()
        await visit.look("simulator-dispute")
        visit.assertNoFault()
      })
      yield* eventually(
        operate<{ status: string }>("GET", `/operator/v1/charges/${charge.id}`),
        ({ body }) => body.status === "infraction"
      )
    })
  )
})
