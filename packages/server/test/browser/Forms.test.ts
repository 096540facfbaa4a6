/** Every form: bad input gives each field's own message. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { funded, holding, paidOut, submittedPayout } from "../support/Money.ts"
import { loopback } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { makeDashboardWorld } from "./DashboardWorld.ts"
import { hasBrowser, type Visit, visiting } from "./Visit.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

/** Longer than every text may be. */
const BAD = "x".repeat(33_000)

/** Opens the form of a button, fills it with bad input, and returns the fields that show no message of their own. */
const silentFields = async ({ page, press }: Visit, path: string, button: string): Promise<ReadonlyArray<string>> => {
  await page.goto(path)
  await press(button)
  const dialog = page.getByRole("dialog")
  // Who gets an exception's money is looked for as it is written: a text that leads to nobody is never sent (`AcceptedExceptions.test.ts`).
  const fields = dialog.locator("input:not([type=checkbox]):not([type=file]):not([name=receiver]), textarea")
  const names: Array<string> = []
  for (const field of await fields.all()) {
    await field.fill(BAD)
    names.push((await field.getAttribute("name")) ?? "")
  }
  assert.notStrictEqual(names.length, 0, `${button} has no field`)
  await dialog.locator("button[type=submit]").click()
  await dialog.locator(".wrong").first().waitFor()
  const silent: Array<string> = []
  for (const name of names) {
    const field = dialog.locator(`[name="${name}"]`)
    const message = dialog.locator(`[id="${await field.getAttribute("aria-describedby")}"]`)
    const isMarked = (await field.getAttribute("aria-invalid")) === "true"
    if (!isMarked || ((await message.textContent()) ?? "").length < 12) silent.push(`${path} ${button}: ${name}`)
  }
  // The first bad field has the focus.
  await dialog.locator(`[name="${names[0]}"]:focus`).waitFor()
  return silent
}

/** A request for an approval of another operator. */
const requestedApproval = ({
  accountId,
  operatorId,
  payoutId
}: { readonly [Name in "accountId" | "operatorId" | "payoutId"]: string }) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`
      INSERT INTO approvals (id, action, resource_id, account_id, request, fingerprint, requested_by, status, expires_at,
        created_at)
      VALUES (uuidv7(), 'payout.approve', ${payoutId}::uuid, ${accountId}::uuid, '{}', 'forms', ${operatorId}::uuid,
        'pending', now() + interval '1 hour', now())`
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Forms", (it) => {
  it.effect.skipIf(!hasBrowser)("OPR-9: a field that is refused says what it accepts, in every form", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const world = yield* makeDashboardWorld
      const { key } = yield* funded(10_000)
      const sent = yield* submittedPayout(key, (yield* paidOut(key, holding)).id)
      yield* requestedApproval(world)
      yield* visiting(operatorUrl, async (visit) => {
        await visit.signIn(operatorToken)
        const silent: Array<string> = []
        for (const [path, button] of [
          ["/accounts", "Create account"],
          [`/accounts/${world.accountId}`, "Create application"],
          [`/applications/${world.applicationId}`, "Create key"],
          ["/operators", "Add operator"],
          [`/operators/${world.operatorId}`, "Create token"],
          [`/charges/${world.chargeId}`, "Return"],
          [`/charges/${world.chargeId}`, "Open dispute"],
          [`/disputes/${world.disputeId}`, "Send message"],
          [`/disputes/${world.disputeId}`, "Reply"],
          [`/exceptions/${world.exceptionId}`, "Accept"],
          [`/exceptions/${world.exceptionId}`, "Return"],
          [`/exceptions/${world.exceptionId}`, "Dismiss"],
          ["/approvals", "Reject"],
          [`/payouts/${sent.id}`, "Fail"],
          ["/settings", "Rename"],
          ["/connections", "Connect a provider"],
          [`/connections/${world.connectionId}`, "Register webhook"],
          [`/connections/${world.connectionId}`, "Rotate credentials"],
          [`/connections/${world.connectionId}`, "Change"]
        ] as const) {
          silent.push(...(await silentFields(visit, path, button)))
        }
        assert.deepStrictEqual(silent, [])
      })
    })
  )
})
