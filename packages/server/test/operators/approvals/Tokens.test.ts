/** Tokens that operators make for others, and what approvals of them are worth. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { OperatorRole } from "@pix-payments/domain/Operator"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, reject, requested } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { makeOperator, sameOrigin, signIn, withToken } from "../../support/Operators.ts"
import { type Call, newKey, TestService } from "../../support/TestService.ts"

/** An admin, and a token of another operator that the admin asks for. */
const askedToken = Effect.fnUntraced(function* (role: OperatorRole = "operator") {
  const { operate } = yield* TestService
  const maker = yield* makeOperator("admin")
  const third = yield* makeOperator("admin")
  const owner = yield* makeOperator(role)
  const body = { name: newKey() }
  const ask = maker.call<Approval & { token: string }>("POST", `/operator/v1/operators/${owner.id}/tokens`, { body })
  const { body: asked, status } = yield* ask
  assert.strictEqual(status, 202)
  return { maker, third, owner, asked, ask, operate }
})

/** The same, with calls of the token that a third approved. */
const madeToken = Effect.fnUntraced(function* (role: OperatorRole = "operator") {
  const { ask, asked, maker, operate, owner, third } = yield* askedToken(role)
  yield* approve(third.call, asked.id)
  const { token } = (yield* ask).body
  return { maker, third, owner, token, made: withToken(operate, token), operate }
})

layer(TestService.layer(), { excludeTestServices: true })("Tokens for others", (it) => {
  it.effect("OPR-115: a token that was approved for a viewer is not created once the viewer is more", () =>
    Effect.gen(function* () {
      const { ask, asked, operate, owner, third } = yield* askedToken()
      assert.strictEqual((yield* approve(third.call, asked.id)).status, 200)
      const path = `/operator/v1/operators/${owner.id}`
      yield* operate("PATCH", path, { body: { role: "admin" } })
      const again = yield* ask
      assert.strictEqual(again.status, 202)
      assert.deepInclude<unknown>(again.body.summary.changes, { field: "role", after: "admin" })
      yield* operate("PATCH", path, { body: { role: "operator" } })
      assert.strictEqual((yield* ask).status, 201)
    })
  )

  it.effect(
    "OPR-43: a token that was approved before its owner's deactivation does not come out after the activation",
    () =>
      Effect.gen(function* () {
        const { ask, asked, operate, owner, third } = yield* askedToken()
        assert.strictEqual((yield* approve(third.call, asked.id)).status, 200)
        const path = `/operator/v1/operators/${owner.id}`
        for (const active of [false, true]) {
          assert.strictEqual((yield* operate("PATCH", path, { body: { active } })).status, 200)
        }
        const again = yield* ask
        assert.strictEqual(again.status, 202)
        assert.notStrictEqual(again.body.id, asked.id)
      })
  )

  it.effect("OPR-114: an approval of a token whose owner has changed since is refused, and the request expires", () =>
    Effect.gen(function* () {
      const { asked, operate, owner, third } = yield* askedToken()
      const before = { role: "operator", account_ids: null, active: true, operator_name: "operator" }
      assert.deepStrictEqual(asked.before, before)
      yield* operate("PATCH", `/operator/v1/operators/${owner.id}`, { body: { role: "viewer" } })
      assertRefused(yield* approve(third.call, asked.id), "INVALID_STATE")
      const { body } = yield* third.call<Approval>("GET", `/operator/v1/approvals/${asked.id}`)
      assert.deepStrictEqual([body.status, body.reason], ["expired", "It was changed since: role."])
    })
  )

  it.effect("OPR-203: a token for another, and what is made with it, never decides a request of its maker", () =>
    Effect.gen(function* () {
      const { made, maker, operate, owner, third, token } = yield* madeToken()
      const own = yield* made<{ token: string }>("POST", `/operator/v1/operators/${owner.id}/tokens`, {
        body: { name: "own" }
      })
      const link = yield* made<{ url: string }>("POST", "/operator/v1/session/link")
      const linkToken = link.body.url.split("#link=")[1] ?? ""
      const calls: ReadonlyArray<Call> = [
        made,
        withToken(operate, own.body.token),
        (yield* signIn(token)).call,
        (yield* signIn(linkToken)).call
      ]
      const { approval } = yield* requested("payout.create", maker.call)
      for (const call of calls) assertRefused(yield* approve(call, approval.id), "FORBIDDEN")
      // The owner's own token does, and the made one decides the requests of others.
      assert.strictEqual((yield* approve(owner.call, approval.id)).status, 200)
      const others = yield* requested("payout.create", third.call)
      assert.strictEqual((yield* approve(made, others.approval.id)).status, 200)
    })
  )

  it.effect(
    "OPR-203: what is asked with a token for another is not decided by its maker, whichever token it uses",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { made, maker, operate, owner, third } = yield* madeToken()
        const { approval, done } = yield* requested("payout.create", made)
        assert.deepStrictEqual([approval.requested_by.id, approval.token_made_by?.id], [owner.id, maker.id])
        // A token of the maker for somebody else.
        const body = { name: newKey() }
        const askOther = maker.call<Approval & { token: string }>("POST", `/operator/v1/operators/${third.id}/tokens`, {
          body
        })
        yield* approve(owner.call, (yield* askOther).body.id)
        const other = withToken(operate, (yield* askOther).body.token)
        for (const call of [maker.call, made, other, owner.call, (yield* signIn(maker.token)).call]) {
          assertRefused(yield* approve(call, approval.id), "FORBIDDEN")
          assertRefused(yield* reject(call, approval.id), "FORBIDDEN")
        }
        const decided = yield* Effect.exit(sql`UPDATE approvals SET status = 'approved', decided_at = now(),
        decided_by = ${maker.id}::uuid WHERE id = ${approval.id}::uuid`)
        assert.strictEqual(decided._tag, "Failure")
        assert.strictEqual(yield* done, 0)
        assert.strictEqual((yield* approve(third.call, approval.id)).status, 200)
        assert.strictEqual(yield* done, 1)
      })
  )

  it.effect("OPR-203: a token for another makes no token for a third, behind which its owner would be unseen", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { made } = yield* madeToken("admin")
      const stranger = yield* makeOperator("operator")
      const ask = made("POST", `/operator/v1/operators/${stranger.id}/tokens`, { body: { name: newKey() } })
      // The owner may hold the made token too, and would approve with the stranger's what it asks itself.
      assertRefused(yield* ask, "FORBIDDEN")
      assert.lengthOf(
        yield* sql`SELECT FROM operator_tokens WHERE operator_id = ${stranger.id}::uuid AND made_by IS NOT NULL`,
        0
      )
    })
  )

  it.effect("OPR-116, OPR-203: a token for another does not decide a request about its maker", () =>
    Effect.gen(function* () {
      const { made, maker, owner, third } = yield* madeToken()
      const path = `/operator/v1/operators/${maker.id}`
      const { body } = yield* third.call<Approval>("PATCH", path, { body: { role: "operator" } })
      assertRefused(yield* approve(made, body.id), "FORBIDDEN")
      assert.strictEqual((yield* approve(owner.call, body.id)).status, 200)
    })
  )

  it.effect("OPR-115, OPR-203: the maker of a token does not get the secret that its owner asked for", () =>
    Effect.gen(function* () {
      const { made, maker, owner } = yield* madeToken("admin")
      const { approval, ask, done } = yield* requested("key.create", owner.call)
      assert.strictEqual((yield* approve(maker.call, approval.id)).status, 200)
      const taken = yield* ask(made)
      assert.strictEqual(taken.status, 202)
      assert.notStrictEqual(taken.body.id, approval.id)
      assertRefused(yield* approve(maker.call, taken.body.id), "FORBIDDEN")
      assert.strictEqual(yield* done, 0)
      assert.strictEqual((yield* ask(owner.call)).status, 201)
      assert.strictEqual(yield* done, 1)
    })
  )

  it.effect("OPR-157: deactivating an operator revokes its tokens for good", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { call, id } = yield* makeOperator("viewer")
      for (const active of [false, true]) {
        yield* operate("PATCH", `/operator/v1/operators/${id}`, { body: { active } })
        assertRefused(yield* call("GET", "/operator/v1/session"), "UNAUTHORIZED")
      }
    })
  )

  it.effect("OPR-204: a link does not prolong the session that made it, and one of the installation makes none", () =>
    Effect.gen(function* () {
      const { operate, operatorToken } = yield* TestService
      const { token } = yield* makeOperator("operator")
      const first = yield* signIn(token)
      const expiry = (call: Call) =>
        Effect.map(call<{ expires_at: string }>("GET", "/operator/v1/session"), ({ body }) => body.expires_at)
      const link = yield* first.call<{ url: string }>("POST", "/operator/v1/session/link")
      const second = yield* signIn(link.body.url.split("#link=")[1] ?? "")
      assert.strictEqual(yield* expiry(second.call), yield* expiry(first.call))
      const installations = yield* signIn(operatorToken)
      assertRefused(yield* installations.call("POST", "/operator/v1/session/link"), "FORBIDDEN")
      assert.strictEqual((yield* operate("POST", "/operator/v1/session/link", { headers: sameOrigin })).status, 201)
    })
  )

  it.effect("OPR-40: each request of a session of the installation's token counts as its use", () =>
    Effect.gen(function* () {
      const { operate, operatorToken } = yield* TestService
      const uses = Effect.map(operate("GET", "/metrics"), ({ text }) =>
        Number(/installation_token_uses_total\S* (\d+)/.exec(text)?.[1] ?? Number.NaN)
      )
      const { call } = yield* signIn(operatorToken)
      const before = yield* uses
      yield* call("GET", "/operator/v1/refunds")
      yield* call("GET", "/operator/v1/refunds")
      assert.strictEqual(yield* uses, before + 2)
      const { body } = yield* operate<{ data: ReadonlyArray<{ via: string; after: { route: string } }> }>(
        "GET",
        "/operator/v1/audit?action=installation.use&limit=100"
      )
      assert.isTrue(body.data.some(({ after, via }) => via === "session" && after.route === "GET /operator/v1/refunds"))
    })
  )
})
