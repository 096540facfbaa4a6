/** Decisions about one request at the same moment, over HTTP. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers, payoutAboveLimit, reject, requested } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { assertLedgerHolds, availableOf, entriesOf, operated, payoutReaching, somePayout } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually } from "../../support/Receiver.ts"
import { type Answer, TestService, whenFree } from "../../support/TestService.ts"
import { waitingFor } from "../../support/Waiting.ts"

/** Makes the calls while the request's row is locked, and unlocks it once `waiting` of their statements wait for it. */
const atOnce = Effect.fnUntraced(function* <A>(
  id: string,
  calls: ReadonlyArray<Effect.Effect<A>>,
  { before = Effect.void, waiting = calls.length }: { before?: Effect.Effect<unknown>; waiting?: number } = {}
) {
  const sql = yield* SqlClient
  const fibers = yield* Effect.gen(function* () {
    yield* sql`SELECT FROM approvals WHERE id = ${id}::uuid FOR UPDATE`
    const made = yield* Effect.forEach(calls, (each) => Effect.forkChild(each, { startImmediately: true }))
    yield* eventually(waitingFor("approvals"), (count) => count >= waiting)
    yield* before
    return made
  }).pipe(sql.withTransaction)
  return yield* Effect.forEach(fibers, Fiber.join)
})

/** The entries of the audit log about decisions of this request. */
const decisionsOf = (id: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{
        action: string
      }>`SELECT action FROM audit WHERE resource_id = ${id}::uuid AND action <> 'approvals.request'`,
      (rows) => rows.map(({ action }) => action)
    )
  )

const statusOf = (id: string) =>
  Effect.map(operated<{ status: string }>("GET", `/approvals/${id}`), ({ status }) => status)

/** One of the answers is 200, all others are `INVALID_STATE`. */
const onlyDone = <A>(answers: ReadonlyArray<Answer<A>>): Answer<A> => {
  const done = answers.filter(({ status }) => status === 200)
  assert.lengthOf(done, 1, answers.map(({ text }) => text).join("\n"))
  for (const answer of answers) if (answer !== done[0]) assertRefused(answer, "INVALID_STATE")
  return done[0]!
}

const atOneMoment = ["payout.approve", "payout.create", "operator.update"] as const

const settings = { simulatorSettleMs: 0 }

layer(TestService.layer({ settings: { ...settings, databaseConnections: 8 } }), { excludeTestServices: true })(
  "Decisions at the same moment",
  (it) => {
    describe("OPR-113, OPR-118: of two approvals one is made, with one effect and one entry", () => {
      it.effect.each(atOneMoment)("%s", (action) =>
        Effect.gen(function* () {
          const { one, other } = yield* makeApprovers
          const third = yield* makeOperator("operator")
          const { approval, done } = yield* requested(action, one.call)
          const { id } = approval
          onlyDone(yield* atOnce(id, [approve(other.call, id), approve(third.call, id)]))
          assert.strictEqual(yield* done, 1)
          assert.deepStrictEqual(yield* decisionsOf(id), ["approvals.approve"])
        })
      )
    })

    describe("OPR-113: of an approval and a rejection one is made", () => {
      it.effect.each(atOneMoment)("%s", (action) =>
        Effect.gen(function* () {
          const { one, other } = yield* makeApprovers
          const third = yield* makeOperator("operator")
          for (const isRejectionFirst of [false, true]) {
            const { approval, done } = yield* requested(action, one.call)
            const { id } = approval
            const calls = [approve(other.call, id), reject(third.call, id)]
            const { body } = onlyDone(yield* atOnce(id, isRejectionFirst ? calls.toReversed() : calls))
            const isApproved = body.status === "approved"
            assert.strictEqual(yield* done, isApproved ? 1 : 0)
            assert.deepStrictEqual(yield* decisionsOf(id), [isApproved ? "approvals.approve" : "approvals.reject"])
            assert.strictEqual(yield* statusOf(id), body.status)
          }
        })
      )
    })

    it.effect("OPR-117: an approval that waits while the request expires does nothing", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one, other } = yield* makeApprovers
        for (const action of atOneMoment) {
          const { approval, done } = yield* requested(action, one.call)
          const { id } = approval
          const expired = sql`UPDATE approvals SET expires_at = created_at WHERE id = ${id}::uuid`
          const [answer] = yield* atOnce(id, [approve(other.call, id)], { before: Effect.orDie(expired) })
          assertRefused(answer!, "INVALID_STATE")
          assert.strictEqual(yield* done, 0)
          assert.deepStrictEqual(yield* decisionsOf(id), [])
          assert.strictEqual(yield* statusOf(id), "expired")
        }
      })
    )

    describe("OPR-43, OPR-114, OPR-116: an approval that waits while an operator loses the right to it does nothing", () => {
      const losses = [
        ["the approver is deactivated", "approver", { active: false }, "FORBIDDEN"],
        ["the approver becomes a developer", "approver", { role: "developer" }, "FORBIDDEN"],
        ["the requester is deactivated", "requester", { active: false }, "INVALID_STATE"],
        ["the requester becomes a viewer", "requester", { role: "viewer" }, "INVALID_STATE"]
      ] as const
      it.effect.each(losses)("%s", ([, whose, change, refusal]) =>
        Effect.gen(function* () {
          const { operate } = yield* TestService
          const { one, other } = yield* makeApprovers
          const { approval, done } = yield* requested("payout.create", one.call)
          const { id } = approval
          const operator = { approver: other, requester: one }[whose]
          const lost = operate("PATCH", `/operator/v1/operators/${operator.id}`, { body: change })
          const [answer] = yield* atOnce(id, [approve(other.call, id)], { before: lost })
          assertRefused(answer!, refusal)
          assert.strictEqual(yield* done, 0)
          assert.deepStrictEqual(yield* decisionsOf(id), [])
        })
      )
    })

    it.effect("OPR-114, OPR-240: an approval that waits while the money of its exception changes does nothing", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one, other } = yield* makeApprovers
        const { approval, done } = yield* requested("exception.accept", one.call)
        const { id, resource } = approval
        const approving = yield* Effect.gen(function* () {
          yield* sql`SELECT FROM acquirer_exceptions WHERE id = ${resource!.id}::uuid FOR UPDATE`
          const fiber = yield* Effect.forkChild(approve(other.call, id), { startImmediately: true })
          yield* eventually(waitingFor("acquirer_exceptions"), (count) => count > 0)
          yield* sql`UPDATE acquirer_exceptions SET unallocated = unallocated - 1 WHERE id = ${resource!.id}::uuid`
          return fiber
        }).pipe(sql.withTransaction)
        assertRefused(yield* Fiber.join(approving), "INVALID_STATE")
        assert.strictEqual(yield* done, 0)
        assertRefused(yield* approve(other.call, id), "INVALID_STATE")
        const { reason } = yield* operated<{ reason: string }>("GET", `/approvals/${id}`)
        assert.strictEqual(reason, "It was changed since: unallocated.")
        yield* sql`UPDATE acquirer_exceptions SET unallocated = unallocated + 1 WHERE id = ${resource!.id}::uuid`
      })
    )

    it.effect("OPR-113: a payout that is approved fifty times at once is paid once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { one, other } = yield* makeApprovers
        const third = yield* makeOperator("operator")
        const { accountId, key } = yield* payoutAboveLimit()
        const available = yield* availableOf(key)
        const asked = yield* one.call<{ id: string }>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          body: { ...somePayout, amount: 20_000 }
        })
        const { id } = asked.body
        const calls = Array.from({ length: 50 }, (_, n) => whenFree(approve((n % 2 === 0 ? other : third).call, id)))
        const { body } = onlyDone(yield* atOnce(id, calls, { waiting: 4 }))
        yield* payoutReaching(key, body.result_id!, "completed")
        assert.strictEqual(yield* availableOf(key), available - 20_000)
        const paid = yield* sql<{ id: string }>`
        SELECT id FROM payouts WHERE account_id = ${accountId}::uuid AND amount = 20000`
        assert.deepStrictEqual(
          paid.map((row) => row.id),
          [body.result_id]
        )
        assert.deepStrictEqual(yield* entriesOf(body.result_id!), [
          "payout.created available>payouts_in_transit 20000",
          "payout.completed payouts_in_transit>acquirer 20000"
        ])
        assert.deepStrictEqual(yield* decisionsOf(id), ["approvals.approve"])
        yield* assertLedgerHolds
      })
    )
  }
)
