/** Which requests for approval repeat another one, or a payout: the summary says so, and no request is taken for another. */
import { assert, describe, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { selectionOf } from "@pix-payments/api/operator/ApprovalSelection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers, someCredentials } from "../../support/Approvals.ts"
import { availableOf, funded, holding, operated, paidOut, someAccount, somePayout } from "../../support/Money.ts"
import { newKey, TestService } from "../../support/TestService.ts"

layer(TestService.layer(), { excludeTestServices: true })("Requests that repeat another one", (it) => {
  describe("OPR-240: a payout repeats another one, however its recipient is written", () => {
    const ted = { method: "ted", ...someAccount, recipient_name: "Ana", recipient_document: "52998224725" }
    const cases = {
      "by Pix, with a document": [somePayout, { ...somePayout, recipient_document: "52998224725" }],
      "by TED, without the hyphen and zeros": [ted, { ...ted, account: "0123456", branch: "1" }],
      "by TED, as savings": [ted, { ...ted, account_type: "savings", recipient_name: "Another" }]
    }
    it.effect.each(Object.keys(cases))("%s", (name) =>
      Effect.gen(function* () {
        const { one } = yield* makeApprovers
        const { accountId } = yield* funded(100_000)
        const [first, second] = yield* Effect.forEach(cases[name as keyof typeof cases], (body) =>
          Effect.map(
            one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
              body: { ...body, amount: 2000 }
            }),
            (answer) => answer.body
          )
        )
        assert.deepStrictEqual(second!.summary.duplicates, [{ object: "approval", id: first!.id }])
        assert.strictEqual(selectionOf([first!, second!]).repeated.size, 2)
      })
    )
  })

  it.effect("OPR-240: a payout that was made since the request is a duplicate, and one that failed is none", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { accountId, key } = yield* funded(100_000)
      const body = { ...somePayout, ...holding, amount: 2000 }
      const asked = yield* one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, { body })
      assert.strictEqual(asked.status, 202, asked.text)
      yield* paidOut(key, { ...holding, amount: 2001 })
      const { id } = yield* paidOut(key, { ...holding, amount: 2000 })
      const shown = Effect.map(
        operated<Approval>("GET", `/approvals/${asked.body.id}`),
        ({ summary }) => summary.duplicates
      )
      assert.deepStrictEqual(yield* shown, [{ object: "payout", id }])
      const sql = yield* SqlClient
      yield* sql`UPDATE payouts SET status = 'failed', due_at = NULL, processed_at = now() WHERE id = ${id}::uuid`
      assert.deepStrictEqual(yield* shown, [])
    })
  )

  it.effect("OPR-111, OPR-202: each adjustment is one of its own, also where all fields are equal", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId, key } = yield* funded(1000)
      const available = yield* availableOf(key)
      const body = { account_id: accountId, amount: -100, reason: "a fee" }
      const ask = (by: typeof one, idempotencyKey?: string) =>
        Effect.map(
          by.call<Approval>("POST", "/operator/v1/adjustments", {
            body,
            ...(idempotencyKey !== undefined && { idempotencyKey })
          }),
          (answer) => answer.body
        )
      const known = newKey()
      const all = [yield* ask(one, known), yield* ask(one, newKey()), yield* ask(one)]
      assert.strictEqual(new Set(all.map(({ id }) => id)).size, 3)
      assert.strictEqual((yield* ask(one, known)).id, all[0]!.id)
      for (const { id } of all) assert.strictEqual((yield* approve(other.call, id)).status, 200)
      assert.strictEqual(yield* availableOf(key), available - 300)
    })
  )

  it.effect("OPR-111, OPR-112: requests with credentials are never equal, and show the client at the provider", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const credentials = yield* someCredentials
      const ask = (by: typeof one, client_id: string) =>
        Effect.map(
          by.call<Approval>("POST", "/operator/v1/connections", {
            body: {
              name: "Banco",
              kind: "api-pix",
              profile: "efi",
              pix_key: "receber@example.com",
              credentials: { ...credentials, client_id }
            }
          }),
          (answer) => {
            assert.strictEqual(answer.status, 202, answer.text)
            return answer.body
          }
        )
      const [mallorys, companys] = [yield* ask(one, "client-of-mallory"), yield* ask(other, "client-of-the-company")]
      assert.notStrictEqual(companys.id, mallorys.id)
      assert.deepInclude<unknown>(mallorys.summary.changes, { field: "client_id", after: "client-of-mallory" })
    })
  )

  it.effect("OPR-240: an adjustment that repeats another one says so, alone and in a selection", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { accountId } = yield* funded(1000)
      const ask = (amount: number, reason: string) =>
        Effect.map(
          one.call<Approval>("POST", "/operator/v1/adjustments", { body: { account_id: accountId, amount, reason } }),
          ({ body }) => body
        )
      const [first, other] = [yield* ask(-300, "a fee twice"), yield* ask(300, "a fee twice")]
      const again = yield* ask(-300, "a fee was charged twice")
      assert.deepStrictEqual(again.summary.duplicates, [{ object: "approval", id: first.id }])
      assert.deepStrictEqual(other.summary.duplicates, [])
      assert.deepStrictEqual(selectionOf([first, other, again]).repeated, new Set([first.id, again.id]))
    })
  )
})
