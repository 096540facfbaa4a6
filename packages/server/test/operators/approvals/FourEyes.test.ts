/** Four eyes: actions wait for a second operator, who does them by approving, over HTTP. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import { ApprovalAction, approvalActions, isRepeated } from "@pix-payments/domain/Approval"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, inCell, makeApprovers, payoutAboveLimit, reject, requested } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { availableOf, operated, paidOut, payoutReaching, somePayout } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const settings = { ...inCell, simulatorSettleMs: 0 }

const audited = (resourceId: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<{ action: string; operator_id: string; before: Fields | null; after: Fields | null }>`
      SELECT action, operator_id, before, after FROM audit WHERE resource_id = ${resourceId}::uuid ORDER BY id`
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Four eyes", (it) => {
  describe("OPR-111, OPR-113, OPR-118: waits, and is done by the approval", () => {
    it.effect.each(ApprovalAction.literals.filter((action) => approvalActions[action].doneWith === "approval"))(
      "%s",
      (action) =>
        Effect.gen(function* () {
          const { one, other } = yield* makeApprovers
          const { approval, done } = yield* requested(action, one.call)
          assert.strictEqual(approval.requested_by.id, one.id)
          assert.isNull(approval.decided_by)
          assert.strictEqual(yield* done, 0)
          const approved = yield* approve(other.call, approval.id)
          assert.strictEqual(approved.status, 200, approved.text)
          assert.strictEqual(approved.body.status, "approved")
          assert.deepInclude(approved.body.decided_by, { id: other.id, name: "admin" })
          assert.isNotNull(approved.body.done_at)
          assert.strictEqual(yield* done, 1)
          const entries = yield* audited(approval.id)
          assert.deepStrictEqual(
            entries.map((entry) => [entry.action, entry.operator_id]),
            [
              ["approvals.request", one.id],
              ["approvals.approve", other.id]
            ]
          )
          if (action === "installation.update") yield* operated("PATCH", "/installation", { four_eyes: "auto" })
          // The others are about no resource.
          else if (!["installation.confirm_outward", "payer.anonymise"].includes(action))
            assert.isNotNull(approved.body.result_id)
        })
    )
  })

  describe("OPR-115: an action that shows a secret, or calls a provider, is repeated by its requester", () => {
    it.effect.each(ApprovalAction.literals.filter(isRepeated))("%s", (action) =>
      Effect.gen(function* () {
        const { one, other } = yield* makeApprovers
        const { approval, ask, done } = yield* requested(action, one.call)
        const approved = yield* approve(other.call, approval.id)
        assert.deepInclude(approved.body, { status: "approved", done_at: null }, approved.text)
        assert.strictEqual(yield* done, 0)
        // The approver's own request is another one.
        const foreign = yield* ask(other.call)
        assert.strictEqual(foreign.status, 202)
        assert.notStrictEqual(foreign.body.id, approval.id)
        const created = yield* ask(one.call)
        const isSecret = action !== "connection.register_webhook"
        assert.strictEqual(created.status, isSecret ? 201 : 200, created.text)
        const secret =
          (created.body as { key?: string; token?: string }).key ?? (created.body as { token?: string }).token
        assert.strictEqual(secret !== undefined, isSecret)
        assert.strictEqual(yield* done, 1)
        const sql = yield* SqlClient
        const [row] = yield* sql<{
          text: string
        }>`SELECT a::text AS text FROM approvals a WHERE id = ${approval.id}::uuid`
        if (isSecret) assert.notInclude(row!.text, secret!)
        const again = yield* ask(one.call)
        assert.strictEqual(again.status, 202)
        assert.notStrictEqual(again.body.id, approval.id)
        assert.strictEqual(yield* done, 1)
      })
    )
  })

  it.effect("OPR-66, OPR-112: a webhook needs a second operator, and its entry in the audit log has URL and mtls", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { approval, ask } = yield* requested("connection.register_webhook", one.call)
      const request = { url: "https://hooks.example.com", mtls: false }
      assert.deepStrictEqual<unknown>(approval.request, request)
      assert.strictEqual((yield* approve(other.call, approval.id)).status, 200)
      // Another URL is another request.
      const path = `/operator/v1/connections/${approval.resource!.id}/register-webhook`
      const elsewhere = yield* one.call("POST", path, { body: { ...request, url: "https://other.example.com" } })
      assert.strictEqual(elsewhere.status, 202)
      assert.strictEqual((yield* ask(one.call)).status, 200)
      const entries = yield* audited(approval.resource!.id)
      assert.deepStrictEqual(
        entries.map(({ action, after, operator_id }) => [action, operator_id, after]),
        [["connectionActions.registerWebhook", one.id, request]]
      )
    })
  )

  it.effect("OPR-112: a release up to the limit, and a payout of an account without one, need one operator", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { key } = yield* payoutAboveLimit()
      const small = yield* paidOut(key, { amount: 999 })
      const released = yield* one.call("POST", `/operator/v1/payouts/${small.id}/approve`)
      assert.strictEqual(released.status, 200, released.text)
      yield* payoutReaching(key, small.id, "completed")
      const automatic = yield* payoutAboveLimit()
      yield* operated("PATCH", `/accounts/${automatic.accountId}`, { auto_payout_enabled: true })
      const paid = yield* paidOut(automatic.key, { amount: 5000 })
      yield* payoutReaching(automatic.key, paid.id, "completed")
    })
  )

  it.effect("OPR-112: a payout that requires an approval needs one whoever asks, also while four eyes is off", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { one, other } = yield* makeApprovers
      const { accountId, key } = yield* payoutAboveLimit()
      yield* operated("PATCH", "/installation", { four_eyes: "off" })
      const path = `/operator/v1/accounts/${accountId}/payouts`
      const body = { ...somePayout, amount: 1500, require_approval: true }
      assertRefused(yield* operate("POST", path, { body }), "FORBIDDEN")
      const idempotencyKey = newKey()
      const ask = one.call<Approval>("POST", path, { body, idempotencyKey })
      const available = yield* availableOf(key)
      const [asked, repeated] = [yield* ask, yield* ask]
      assert.deepStrictEqual([asked.status, repeated.status], [202, 202])
      assert.strictEqual(repeated.body.id, asked.body.id)
      assert.notProperty(asked.body.request, "require_approval")
      assertRefused(yield* approve(one.call, asked.body.id), "FORBIDDEN")
      assert.strictEqual(yield* availableOf(key), available)
      const approved = yield* approve(other.call, asked.body.id)
      yield* payoutReaching(key, approved.body.result_id!, "completed")
      assert.strictEqual(yield* availableOf(key), available - 1500)
      // The key is that of the payout, which needs nothing again.
      const replayed = yield* ask
      assert.deepStrictEqual<unknown>([replayed.status, replayed.body.id], [201, approved.body.result_id])
      assert.strictEqual(yield* availableOf(key), available - 1500)
      yield* operated("PATCH", "/installation", { four_eyes: "auto" })
    })
  )

  it.effect("OPR-113: an approved payout is created and sent once, with its balance before and after", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId, key } = yield* payoutAboveLimit({ payout_fee: { fixed: 100, basis_points: 0 } })
      const available = yield* availableOf(key)
      const body = { ...somePayout, amount: 20_000, recipient_name: "Ana", webhook_secret: "a-secret-of-a-webhook" }
      const ask = (idempotencyKey?: string) =>
        one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          body,
          ...(idempotencyKey !== undefined && { idempotencyKey })
        })
      const idempotencyKey = newKey()
      const first = yield* ask(idempotencyKey)
      assert.strictEqual((yield* ask(idempotencyKey)).body.id, first.body.id)
      assert.notStrictEqual((yield* ask()).body.id, first.body.id)
      assert.notInclude(first.text, body.webhook_secret)
      assert.deepInclude<unknown>(first.body.summary, {
        amount: 20_000,
        fee: 100,
        balance_before: available,
        balance_after: available - 20_100
      })
      assert.strictEqual(yield* availableOf(key), available)
      const { body: approved } = yield* approve(other.call, first.body.id)
      assert.isString(approved.result_id)
      assert.strictEqual(yield* availableOf(key), available - 20_100)
      yield* payoutReaching(key, approved.result_id!, "completed")
      const replayed = yield* ask(idempotencyKey)
      assert.deepStrictEqual<unknown>([replayed.status, replayed.body.id], [201, approved.result_id])
      const repeated = yield* ask()
      assert.strictEqual(repeated.body.summary.duplicates[0]?.id, approved.result_id)
    })
  )

  it.effect("OPR-111: what the action would refuse is refused at once", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const { accountId } = yield* payoutAboveLimit()
      const create = (fields: Fields) =>
        one.call("POST", `/operator/v1/accounts/${accountId}/payouts`, { body: { ...somePayout, ...fields } })
      assertRefused(yield* create({ amount: 10_000_000 }), "INSUFFICIENT_BALANCE")
      assertRefused(yield* create({ pix_key: "x" }), "VALIDATION_ERROR", ["pix_key"])
      const taken = { name: "A", email: `${newKey()}@example.com`, role: "viewer" }
      yield* operated("POST", "/operators", taken, 201)
      assertRefused(yield* one.call("POST", "/operator/v1/operators", { body: taken }), "VALIDATION_ERROR", ["email"])
      const admin = { name: "A", email: `${newKey()}@example.com`, role: "admin", account_ids: [accountId] }
      assertRefused(yield* one.call("POST", "/operator/v1/operators", { body: admin }), "VALIDATION_ERROR", [
        "account_ids"
      ])
    })
  )

  it.effect(
    "OPR-112, OPR-159: brakes of a connection, deactivating and renaming an operator, and one's own token need nobody else",
    () =>
      Effect.gen(function* () {
        const { one } = yield* makeApprovers
        const sql = yield* SqlClient
        const [connection] = yield* sql<{ id: string }>`
        INSERT INTO acquirer_connections (id, name, kind, profile, pix_key, created_at)
        VALUES (uuidv7(), 'Banco', 'api-pix', 'efi', 'a@example.com', now()) RETURNING id`
        const target = yield* makeOperator("operator")
        const statuses = [
          yield* one.call("PATCH", `/operator/v1/connections/${connection!.id}`, { body: { paused: true } }),
          yield* one.call("PATCH", `/operator/v1/connections/${connection!.id}`, {
            body: { payouts_paused: true, charges_paused: true, paused: false }
          }),
          yield* one.call("PATCH", `/operator/v1/connections/${connection!.id}`, {
            body: { payouts_paused: false, name: "Another" }
          }),
          yield* one.call("PATCH", `/operator/v1/operators/${target.id}`, { body: { name: "B", active: false } }),
          yield* one.call("POST", `/operator/v1/operators/${one.id}/tokens`, { body: { name: "mine" } }),
          yield* one.call("PATCH", `/operator/v1/operators/${target.id}`, { body: { active: true } })
        ].map(({ status }) => status)
        assert.deepStrictEqual(statuses, [200, 200, 202, 200, 201, 202])
      })
  )

  it.effect("OPR-116, OPR-117: a rejection needs a reason and ends the request", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { approval, ask, done } = yield* requested("payout.approve", one.call)
      const path = `/operator/v1/approvals/${approval.id}/reject`
      assertRefused(yield* other.call("POST", path, { body: {} }), "VALIDATION_ERROR", ["reason"])
      const rejected = yield* reject(other.call, approval.id, "Who is this?")
      assert.deepInclude(rejected.body, { status: "rejected", reason: "Who is this?", done_at: null })
      assertRefused(yield* approve(other.call, approval.id), "INVALID_STATE")
      assertRefused(yield* reject(other.call, approval.id), "INVALID_STATE")
      assert.strictEqual(yield* done, 0)
      const again = yield* ask(one.call)
      assert.strictEqual(again.status, 202)
      assert.notStrictEqual(again.body.id, approval.id)
      const entries = yield* audited(approval.id)
      assert.deepStrictEqual(entries.at(-1)?.after, {
        status: "rejected",
        action: "payout.approve",
        resource_id: approval.resource?.id,
        reason: "Who is this?"
      })
    })
  )
})

layer(TestService.layer(), { excludeTestServices: true })("Four eyes, when it is on", (it) => {
  it.effect(
    "OPR-110: on for good once two active operators could approve, and the installation's token is outside",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const isOn = Effect.map(
          operate<{ four_eyes_on: boolean }>("GET", "/operator/v1/installation"),
          ({ body }) => body.four_eyes_on
        )
        const one = yield* makeOperator("admin")
        const { makeCaller } = yield* TestService
        const { accountId } = yield* makeCaller()
        // Neither a viewer nor an operator of some accounts could approve what concerns the installation.
        yield* makeOperator("viewer")
        yield* makeOperator("operator", [accountId])
        assert.isFalse(yield* isOn)
        const add = (email: string) =>
          one.call<{ id: string }>("POST", "/operator/v1/operators", { body: { name: "B", email, role: "operator" } })
        const second = yield* add("b@example.com")
        assert.strictEqual(second.status, 201, second.text)
        assert.isTrue(yield* isOn)
        assert.strictEqual((yield* add("c@example.com")).status, 202)
        yield* operated("PATCH", `/operators/${second.body.id}`, { active: false })
        assert.isTrue(yield* isOn)
        assert.strictEqual((yield* add("d@example.com")).status, 202)
        assert.strictEqual(
          (yield* one.call("PATCH", "/operator/v1/installation", { body: { four_eyes: "off" } })).status,
          202
        )
        assert.strictEqual(
          (yield* one.call("PATCH", "/operator/v1/installation", { body: { four_eyes: "on" } })).status,
          200
        )
        yield* operated("PATCH", "/installation", { four_eyes: "off" })
        assert.isFalse(yield* isOn)
        assert.strictEqual((yield* add("e@example.com")).status, 201)
      })
  )
})
