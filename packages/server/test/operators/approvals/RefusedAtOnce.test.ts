/** Under four eyes nobody is asked to approve what the action would refuse. Over HTTP. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { makeApprovers } from "../../support/Approvals.ts"
import { startDouble } from "../../support/Bank.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { closeDays } from "../../support/Closing.ts"
import { connectionTo, connectTo, fund, operatorCredentials } from "../../support/Connections.ts"
import { operated, paidOut } from "../../support/Money.ts"
import type { TestOperator } from "../../support/Operators.ts"
import { eventually } from "../../support/Receiver.ts"
import { type Fields, TestService } from "../../support/TestService.ts"

/** It is refused with 409, and no approval is stored. */
const assertNotAsked = Effect.fnUntraced(function* (by: TestOperator, method: string, path: string, body: Fields) {
  const sql = yield* SqlClient
  assertRefused(yield* by.call(method, `/operator/v1${path}`, { body }), "INVALID_STATE")
  assert.lengthOf(yield* sql`SELECT FROM approvals WHERE requested_by = ${by.id}::uuid AND status = 'pending'`, 0)
})

const settings = { acquirer: "connections", acquirerTimeoutMs: 60_000, simulatorSettleMs: 0 } as const

layer(TestService.layer({ settings }), { excludeTestServices: true })("What would be refused", (it) => {
  it.effect("OPR-99, OPR-111: a Pix key that another connection has or had", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const double = yield* startDouble()
      const first = yield* connectTo(double)
      const second = yield* connectTo(double, { pix_key: "second@example.com" })
      const credentials = { ...operatorCredentials(double), client_id: "another-application" }
      yield* assertNotAsked(one, "POST", "/connections", connectionTo(double, { credentials }))
      yield* assertNotAsked(one, "PATCH", `/connections/${second.id}`, { pix_key: double.key })
      // Its client keeps the key that it had.
      yield* operated("PATCH", `/connections/${first.id}`, { pix_key: "first@example.com" })
      yield* assertNotAsked(one, "POST", "/connections", connectionTo(double))
      yield* assertNotAsked(one, "PATCH", `/connections/${second.id}`, { pix_key: double.key })
      for (const pix_key of ["third@example.com", "second@example.com"]) {
        const asked = yield* one.call("PATCH", `/operator/v1/connections/${second.id}`, { body: { pix_key } })
        assert.strictEqual(asked.status, 202, asked.text)
      }
      const again = yield* one.call("POST", "/operator/v1/connections", {
        body: connectionTo(double, { pix_key: "third@example.com" })
      })
      assert.strictEqual(again.status, 202, again.text)
    })
  )

  it.effect("OPR-63, OPR-111: another client while a payout of the connection is in progress", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { one } = yield* makeApprovers
      const { accountId, key } = yield* makeCaller()
      const double = yield* startDouble({ profile: "efi", settings: { openingCents: 10_000 } })
      double.provider.webhooks.put(double.key, "https://127.0.0.1:1/none")
      const { id } = yield* connectTo(double)
      yield* fund(accountId, 10_000)
      yield* operated("PATCH", `/accounts/${accountId}`, { connection_id: id })
      const payout = yield* paidOut(key)
      yield* eventually(
        sql`SELECT 1 FROM payouts WHERE id = ${payout.id}::uuid AND connection_id = ${id}::uuid`,
        ({ length }) => length === 1
      )
      yield* assertNotAsked(one, "PATCH", `/connections/${id}`, { credentials: { client_id: "another-application" } })
      const { status, text } = yield* one.call("PATCH", `/operator/v1/connections/${id}`, {
        body: { credentials: { client_secret: double.clientSecret } }
      })
      assert.strictEqual(status, 202, text)
    })
  )

  it.effect("OPR-111, OPR-257: another time zone after the first close, together with four_eyes", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { one } = yield* makeApprovers
      yield* fund((yield* makeCaller()).accountId, 100)
      yield* closeDays(1)
      const body = { four_eyes: "off", timezone: "America/Manaus" }
      yield* assertNotAsked(one, "PATCH", "/installation", body)
      const { status, text } = yield* one.call("PATCH", "/operator/v1/installation", {
        body: { ...body, timezone: "America/Sao_Paulo" }
      })
      assert.strictEqual(status, 202, text)
    })
  )
})

layer(TestService.layer({ settings: { acquirer: "connections", outward: "off", logLevel: "none" } }), {
  excludeTestServices: true
})("What would be refused with OUTWARD=off", (it) => {
  it.effect("OPR-111, OPR-222: a registration of a webhook", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { id } = yield* connectTo(yield* startDouble())
      yield* assertNotAsked(one, "POST", `/connections/${id}/register-webhook`, { url: "https://hooks.example.com" })
    })
  )
})
