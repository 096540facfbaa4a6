/** Attempts to get past four eyes, over HTTP and in the database, for every action. */
import { ApprovalAction, isRepeated } from "@pix-payments/domain/Approval"
import { OperatorRole } from "@pix-payments/domain/Operator"
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, inCell, makeApprovers, payoutAboveLimit, reject, requested } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { unknownId } from "../../support/Declared.ts"
import { operated } from "../../support/Money.ts"
import { makeOperator, signIn } from "../../support/Operators.ts"
import { TestService } from "../../support/TestService.ts"

const expire = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE approvals SET expires_at = now() - interval '1 second' WHERE id = ${id}::uuid`
  )

layer(TestService.layer({ settings: inCell }), { excludeTestServices: true })("Bypass of four eyes", (it) => {
  describe("OPR-111, OPR-116, OPR-117: fails", () => {
    it.effect.each(ApprovalAction.literals)("%s", (action) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { one, other } = yield* makeApprovers
        const { approval, ask, concerned, done } = yield* requested(action, one.call)
        const { id } = approval
        // The direct call again, and in a session.
        const again = yield* ask(one.call)
        assert.strictEqual(again.status, 202)
        const session = yield* signIn(one.token)
        assert.strictEqual((yield* ask(session.call)).status, 202)
        // One's own request, also in a session.
        for (const call of [one.call, session.call]) {
          assertRefused(yield* approve(call, id), "FORBIDDEN")
          assertRefused(yield* reject(call, id), "FORBIDDEN")
        }
        // Whom it concerns.
        if (concerned !== undefined) {
          assertRefused(yield* approve(concerned.call, id), "FORBIDDEN")
          assertRefused(yield* reject(concerned.call, id), "FORBIDDEN")
        }
        for (const role of OperatorRole.literals) {
          if (role === "viewer" || role === "developer") {
            assertRefused(yield* approve((yield* makeOperator(role)).call, id), "FORBIDDEN")
          }
        }
        // An operator of another account.
        const { accountId } = yield* makeCaller()
        const limited = yield* makeOperator("operator", [accountId])
        assertRefused(yield* approve(limited.call, id), "NOT_FOUND")
        assertRefused(yield* limited.call("GET", `/operator/v1/approvals/${id}`), "NOT_FOUND")
        // An approver who was deactivated.
        const gone = yield* makeOperator("admin")
        yield* operated("PATCH", `/operators/${gone.id}`, { active: false })
        assertRefused(yield* approve(gone.call, id), "UNAUTHORIZED")
        assertRefused(yield* approve(other.call, unknownId), "NOT_FOUND")
        assert.strictEqual(yield* done, 0)
        // An expired request.
        yield* expire(id)
        assertRefused(yield* approve(other.call, id), "INVALID_STATE")
        assertRefused(yield* reject(other.call, id), "INVALID_STATE")
        assert.strictEqual(yield* done, 0)
        // A new request, approved and used: neither a second approval nor the call again does it a second time.
        const renewed = yield* ask(one.call)
        assert.strictEqual(renewed.status, 202)
        assert.notStrictEqual(renewed.body.id, id)
        assert.strictEqual((yield* approve(other.call, renewed.body.id)).status, 200)
        if (isRepeated(action)) assert.include([200, 201], (yield* ask(one.call)).status)
        assertRefused(yield* approve(other.call, renewed.body.id), "INVALID_STATE")
        assertRefused(yield* reject(other.call, renewed.body.id), "INVALID_STATE")
        assert.strictEqual(yield* done, 1)
        if (action === "installation.update") yield* operated("PATCH", "/installation", { four_eyes: "on" })
        yield* ask(one.call)
        assert.strictEqual(yield* done, action === "installation.update" ? 0 : 1)
      })
    )
  })

  describe("OPR-115: what was approved and not repeated in time is not done", () => {
    it.effect.each(ApprovalAction.literals.filter(isRepeated))("%s", (action) =>
      Effect.gen(function* () {
        const { one, other } = yield* makeApprovers
        const { approval, ask, done } = yield* requested(action, one.call)
        assert.strictEqual((yield* approve(other.call, approval.id)).status, 200)
        yield* expire(approval.id)
        assert.strictEqual((yield* ask(one.call)).status, 202)
        assert.strictEqual(yield* done, 0)
        const { status } = yield* operated<{ status: string }>("GET", `/approvals/${approval.id}`)
        assert.strictEqual(status, "expired")
      })
    )
  })

  it.effect("OPR-114: what cannot be done any more is refused, and expires with the reason", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const outdated = Effect.fnUntraced(function* (
        action: ApprovalAction,
        change: (id: string) => Effect.Effect<unknown, unknown, never>
      ) {
        const { approval, done } = yield* requested(action, one.call)
        yield* Effect.orDie(change(approval.resource!.id))
        assertRefused(yield* approve(other.call, approval.id), "INVALID_STATE")
        assert.strictEqual(yield* done, 0)
        return yield* operated<{ status: string; reason: string }>("GET", `/approvals/${approval.id}`)
      })
      const service = yield* TestService
      const patch = (path: string, body: object) => service.operate("PATCH", `/operator/v1${path}`, { body })
      const found = [
        yield* outdated("payout.approve", (id) => service.operate("POST", `/operator/v1/payouts/${id}/cancel`)),
        yield* outdated("account.update", (id) => patch(`/accounts/${id}`, { approval_limit: 7 })),
        yield* outdated("operator.update", (id) => patch(`/operators/${id}`, { role: "viewer" })),
        yield* outdated("connection.update", (id) => patch(`/connections/${id}`, { name: "Other" }))
      ]
      assert.deepStrictEqual(
        found.map(({ reason, status }) => [status, reason]),
        [
          ["expired", "It was changed since: status."],
          ["expired", "It was changed since: approval_limit."],
          ["expired", "It was changed since: role."],
          ["expired", "It was changed since: name."]
        ]
      )
      const { approval } = yield* requested("payout.approve", one.call)
      yield* operated("PATCH", `/operators/${one.id}`, { role: "viewer" })
      assertRefused(yield* approve(other.call, approval.id), "INVALID_STATE")
      const { reason } = yield* operated<{ reason: string }>("GET", `/approvals/${approval.id}`)
      assert.strictEqual(reason, "The operator who requested it may not request it any more.")
    })
  )

  it.effect("OPR-114: a payout that the balance does not cover waits until it does", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId, payout } = yield* payoutAboveLimit()
      const body = { amount: 60_000, pix_key_type: "email", pix_key: "hold@simulator.test" }
      const ask = one.call<{ id: string }>("POST", `/operator/v1/accounts/${accountId}/payouts`, { body })
      const first = yield* ask
      const second = yield* ask
      assert.strictEqual((yield* approve(other.call, first.body.id)).status, 200)
      assertRefused(yield* approve(other.call, second.body.id), "INSUFFICIENT_BALANCE")
      const { status } = yield* operated<{ status: string }>("GET", `/approvals/${second.body.id}`)
      assert.strictEqual(status, "pending")
      yield* operated("POST", `/payouts/${payout.id}/cancel`)
    })
  )

  it.effect(
    "OPR-119: the database refuses a decision by the requester or by whom it concerns, and a change of what was decided",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one, other } = yield* makeApprovers
        const { approval, concerned } = yield* requested("operator.update", one.call)
        const decideBy = (id: string) =>
          Effect.exit(
            sql`UPDATE approvals SET status = 'approved', decided_at = now(), decided_by = ${id}::uuid
            WHERE id = ${approval.id}::uuid`
          )
        for (const id of [one.id, concerned!.id]) assert.strictEqual((yield* decideBy(id))._tag, "Failure")
        const assertKept = Effect.fnUntraced(function* (id: string, changes: ReadonlyArray<string>) {
          for (const change of changes) {
            const changed = yield* Effect.exit(sql.unsafe(`UPDATE approvals SET ${change} WHERE id = $1::uuid`, [id]))
            assert.strictEqual(changed._tag, "Failure", change)
          }
        })
        // What is shown of a request is what was asked, also before it is decided.
        const asked = ["request = '{}'", "before = '{}'", "payout = '{}'", "intent = 'x'", "fingerprint = 'x'"]
        const later = "expires_at = now() + interval '1 year'"
        yield* assertKept((yield* requested("payout.create", one.call)).approval.id, [...asked, later])
        const rejected = (yield* requested("payout.create", one.call)).approval.id
        yield* reject(other.call, rejected)
        yield* assertKept(rejected, ["reason = 'x'", "result_id = id"])
        assert.strictEqual((yield* approve(other.call, approval.id)).status, 200)
        yield* assertKept(approval.id, [
          "used_at = NULL",
          "reason = 'x'",
          "status = 'pending', decided_at = NULL, decided_by = NULL",
          ...asked,
          later
        ])
      })
  )
})
