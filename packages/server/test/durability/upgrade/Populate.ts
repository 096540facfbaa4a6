/** Creates resources of every kind in every state through the service, and records its answers. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import { created } from "../../support/ChargeRequests.ts"
import { failing, holding, operated, paidCharge, paidOut, payoutReaching, simulated } from "../../support/Money.ts"
import { eventually, receiver } from "../../support/Receiver.ts"
import { type Fields, TestService } from "../../support/TestService.ts"

export const SECRET = "a-secret-of-the-earlier-release"

/** After every run of the tests. */
const FAR = "2999-01-01T00:00:00Z"

export const populate = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { call, makeApplication, makeCaller, makeKey, operate } = yield* TestService
  const good = yield* receiver()
  const bad = yield* receiver((_, response) => {
    response.statusCode = 500
    response.end()
  })
  const { accountId, applicationId, key } = yield* makeCaller({
    account: { payout_fee: { fixed: 10, basis_points: 100 } }
  })
  const revoked = yield* makeKey(applicationId)
  yield* operated("POST", `/keys/${revoked.keyId}/revoke`)
  const expired = yield* makeKey(applicationId, { expires_at: FAR })
  yield* sql`UPDATE api_keys SET expires_at = now() - interval '1 hour' WHERE id = ${expired.keyId}::uuid`
  const inactive = yield* makeApplication(accountId)
  const inactiveKey = yield* makeKey(inactive)
  yield* operated("PATCH", `/applications/${inactive}`, { active: false })

  const register = (url: string, fields: Fields = {}) =>
    Effect.map(
      call("POST", "/v1/webhooks", {
        key,
        body: { url, events: ["charge.pix.paid", "dispute.pix.opened"], ...fields }
      }),
      ({ body, status, text }) => {
        assert.strictEqual(status, 201, text)
        return String(body["id"])
      }
    )
  yield* register(good.url, { secret: SECRET, description: "all is well" })
  yield* register(bad.url)
  const paused = yield* register(`${good.url}/paused`)
  yield* call("PATCH", `/v1/webhooks/${paused}`, { key, body: { active: false } })
  const deleted = yield* register(`${good.url}/deleted`)

  const own = { webhook_url: `${good.url}/own`, webhook_secret: SECRET, reference: "order" }
  const paid = yield* paidCharge(key, 100_000, own)
  yield* paidCharge(key, 2000, { webhook_url: bad.url })
  yield* call("DELETE", `/v1/webhooks/${deleted}`, { key })
  yield* created(key, own)
  const toExpire = yield* created(key)
  const canceled = yield* created(key)
  yield* operated("POST", `/charges/${canceled.id}/cancel`)
  const failed = yield* created(key)
  yield* simulated(`/charges/${failed.id}/fail`)
  yield* call("POST", "/v1/charges", {
    key,
    idempotencyKey: "a-key-that-was-refused",
    body: { amount: 100, customer: { name: "R", email: "refuse@simulator.test", document: "52998224725" } }
  })
  const processing = yield* created(key, {
    ...own,
    customer: { name: "Slow", email: "timeout@simulator.test", document: "52998224725" }
  })
  assert.strictEqual(processing.status, "processing")
  yield* sql`UPDATE charges SET recover_at = ${FAR}::timestamptz WHERE id = ${processing.id}::uuid`
  const refunded = yield* paidCharge(key)
  yield* simulated(`/charges/${refunded.id}/refund`)
  const dispute = (charge: { readonly id: string }) =>
    Effect.map(simulated<{ id: string }>(`/charges/${charge.id}/infraction`, { reason: "fraud" }, 201), ({ id }) => id)
  yield* dispute(yield* paidCharge(key))
  const reviewed = yield* dispute(yield* paidCharge(key))
  yield* operated("POST", `/disputes/${reviewed}/defense`, { text: "It was delivered." })
  yield* simulated(`/disputes/${reviewed}/message`, { text: "Show us." })
  const won = yield* dispute(yield* paidCharge(key))
  yield* simulated(`/disputes/${won}/win`)
  const lost = yield* dispute(yield* paidCharge(key))
  yield* simulated(`/disputes/${lost}/lose`)
  const returned = yield* paidCharge(key)
  yield* simulated(`/charges/${returned.id}/return`, { as: "charged_back" })
  yield* operated(
    "POST",
    `/applications/${applicationId}/checkout-charges`,
    { amount: 500, method: "boleto", customer: { name: "C", email: "c@example.com", document: "52998224725" } },
    201
  )

  const completed = yield* paidOut(key, { reference: "payout", webhook_url: `${good.url}/payout` })
  yield* payoutReaching(key, completed.id, "completed")
  const refused = yield* paidOut(key, failing)
  yield* payoutReaching(key, refused.id, "failed")
  const open = yield* paidOut(key, { ...holding, ...own })
  yield* eventually(
    sql`SELECT 1 FROM payouts WHERE id = ${open.id}::uuid AND processed_at IS NOT NULL`,
    ({ length }) => length === 1
  )
  yield* sql`UPDATE payouts SET hand_over_at = ${FAR}::timestamptz WHERE id = ${open.id}::uuid`
  yield* operated("PATCH", `/accounts/${accountId}`, { auto_payout_enabled: false })
  const waiting = yield* paidOut(key)
  const rejected = yield* paidOut(key)
  yield* operated("POST", `/payouts/${rejected.id}/cancel`)

  // An account of which one of two payments is released.
  const other = yield* makeCaller({ account: { release_delay: 86_400 } })
  yield* paidCharge(other.key, 3000)
  yield* paidCharge(other.key, 4000)
  yield* sql`UPDATE releases SET due_at = CASE WHEN amount = 3000 THEN now() ELSE ${FAR}::timestamptz END`
  yield* eventually(sql`SELECT 1 FROM releases WHERE released_at IS NOT NULL`, ({ length }) => length === 1)

  // All deliveries finish; then one is left in each unfinished state.
  yield* eventually(
    sql`SELECT 1 FROM deliveries WHERE status IN ('scheduled', 'delivering') AND held_due_at IS NULL
      UNION ALL SELECT 1 FROM outbox`,
    ({ length }) => length === 0
  )
  yield* sql`UPDATE charges SET expires_at = ${FAR}::timestamptz WHERE status IN ('pending', 'processing')`
  yield* sql`UPDATE charges SET expires_at = now() - interval '1 hour' WHERE id = ${toExpire.id}::uuid`
  const some = yield* sql<{ id: string }>`SELECT id FROM deliveries WHERE resource_id = ${paid.id}::uuid ORDER BY id`
  yield* sql`UPDATE deliveries SET status = 'scheduled', due_at = ${FAR}::timestamptz WHERE id = ${some[0]!.id}::uuid`
  yield* sql`UPDATE deliveries SET status = 'delivering', due_at = ${FAR}::timestamptz WHERE id = ${some[1]!.id}::uuid`

  const paths = [
    "/v1/account",
    "/v1/balance",
    "/v1/webhooks",
    "/v1/charges?limit=100",
    "/v1/payouts?limit=100",
    ...[processing, paid, refunded, canceled, failed, toExpire].map(({ id }) => `/v1/charges/${id}`),
    ...[completed, open, waiting].map(({ id }) => `/v1/payouts/${id}`)
  ]
  const operatorPaths = [
    ...["accounts", "charges", "payouts", "disputes", "deliveries", "ledger/entries"].map(
      (list) => `/operator/v1/${list}?limit=100`
    ),
    `/operator/v1/disputes/${reviewed}`,
    `/operator/v1/charges/${paid.id}`,
    `/operator/v1/applications/${applicationId}/webhooks`
  ]
  const read = (ask: typeof call, all: ReadonlyArray<string>) =>
    Effect.forEach(all, (path) =>
      Effect.map(ask("GET", path, { key }), ({ body, status, text }) => {
        assert.strictEqual(status, 200, text)
        return { path, body }
      })
    )
  return {
    key,
    refusedKeys: [revoked.key, expired.key, inactiveKey.key],
    processingId: processing.id,
    paidId: paid.id,
    openId: open.id,
    waitingId: waiting.id,
    answers: yield* read(call, paths),
    operatorAnswers: yield* read(operate, operatorPaths)
  }
})

export type Populated = Effect.Success<typeof populate>
