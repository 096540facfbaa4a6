/** What payees' banks send back of completed payouts. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { AcquirerNotification } from "../../../src/providers/AcquirerNotification.ts"
import { approve, makeApprovers } from "../../support/Approvals.ts"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { type Exception, newPix, notified, resolved, unallocated } from "../../support/Exceptions.ts"
import {
  assertLedgerHolds,
  balanceOf,
  funded,
  holding,
  ledgerBalancesOf,
  operated,
  paidOut,
  retrievePayout,
  simulated,
  submittedPayout
} from "../../support/Money.ts"
import { newKey, TestService } from "../../support/TestService.ts"

/** A payout of 1000 and a fee of 25 that is completed. */
const completed = Effect.gen(function* () {
  const { accountId, key } = yield* funded(5000, { payout_fee: { fixed: 25, basis_points: 0 } })
  const { id } = yield* paidOut(key, { amount: 1000, ...holding })
  yield* submittedPayout(key, id)
  yield* simulated(`/payouts/${id}/complete`)
  return { accountId, key, id }
})

const returnOf = (payoutId: string, amount: number, externalId = newPix()) =>
  ({ _tag: "payout.returned", payoutId, amount, externalId }) as const

const permutations = <A>(of: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  of.length === 0
    ? [[]]
    : of.flatMap((first, index) => permutations(of.toSpliced(index, 1)).map((rest) => [first, ...rest]))

const raisedOf = (payoutId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ id: string }>`
      SELECT id FROM acquirer_exceptions WHERE payout_id = ${payoutId}::uuid ORDER BY id`
    return yield* Effect.forEach(rows, ({ id }) => operated<Exception>("GET", `/exceptions/${id}`))
  })

layer(TestService.layer({ settings: { acquirerTimeoutMs: 5000, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("A payout that came back", (it) => {
  it.effect("BAL-17: is one exception for each return, never more than its amount; accept credits the account", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const { accountId, id, key } = yield* completed
      const first = returnOf(id, 700)
      assert.strictEqual(yield* notified(first), "exception")
      assert.strictEqual(yield* notified(first), "ignored")
      assert.strictEqual(yield* notified(returnOf(id, 700)), "exception")
      assert.strictEqual(yield* notified(returnOf(id, 1)), "ignored")
      assert.strictEqual(yield* unallocated(), before + 1000)
      const all = yield* raisedOf(id)
      assert.deepStrictEqual(
        all.map(({ account_id, amount, kind, payout_id, status }) => ({ account_id, amount, kind, payout_id, status })),
        [700, 300].map((amount) => ({
          account_id: accountId,
          amount,
          kind: "returned_payout",
          payout_id: id,
          status: "open"
        }))
      )
      const { operate } = yield* TestService
      const path = `/operator/v1/exceptions/${all[0]!.id}/resolve`
      assertRefused(yield* operate("POST", path, { body: { action: "return" } }), "INVALID_STATE")
      for (const each of all) {
        assert.deepInclude(yield* resolved(each.id, { action: "accept" }), { status: "resolved", unallocated: 0 })
      }
      assert.strictEqual((yield* balanceOf(key)).available, 4975)
      assert.strictEqual((yield* retrievePayout(key, id)).body.status, "completed")
      assert.strictEqual(yield* unallocated(), before)
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-17: several at the same moment are in all no more than its amount", () =>
    Effect.gen(function* () {
      const { id } = yield* completed
      const outcomes = yield* Effect.all(
        Array.from({ length: 6 }, () => notified(returnOf(id, 400))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        outcomes.filter((outcome) => outcome === "exception"),
        3
      )
      assert.strictEqual(
        (yield* raisedOf(id)).reduce((sum, { amount }) => sum + amount, 0),
        1000
      )
      yield* assertLedgerHolds
    })
  )

  it.effect.each([["returned", "failed"] as const, ["failed", "returned"] as const])(
    "BAL-16, BAL-17: %s, then %s: a bank that reports both gave the amount back once",
    ([first]) =>
      Effect.gen(function* () {
        const before = yield* unallocated()
        const { accountId, id } = yield* completed
        const returned = returnOf(id, 700)
        const failed = { _tag: "payout.failed", payoutId: id, reason: "account closed" } as const
        const both = first === "returned" ? [returned, failed] : [failed, returned]
        for (const each of both) yield* notified(each)
        assert.strictEqual(yield* unallocated(), before + 1000)
        // Copies change nothing.
        for (const each of both) yield* notified(each)
        assert.strictEqual(yield* unallocated(), before + 1000)
        for (const each of yield* raisedOf(id)) yield* resolved(each.id, { action: "accept" })
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 4975 })

        yield* notified({ _tag: "payout.completed", payoutId: id })
        yield* notified(returned)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: first === "returned" ? 4675 : 3975 })
        assert.strictEqual(yield* unallocated(), first === "returned" ? before : before + 700)
        yield* assertLedgerHolds
      })
  )

  it.effect.each(permutations(["completed", "returned", "failed"] as const))(
    "BAL-16, BAL-17: of a payout that has failed here, %s, %s and %s: the bank has all of it again, and the books no more",
    (facts) =>
      Effect.gen(function* () {
        const { key } = yield* funded(5000)
        for (const parts of [[1000], [400], [400, 600]]) {
          const before = yield* unallocated()
          const { id } = yield* paidOut(key, { amount: 1000, ...holding })
          yield* submittedPayout(key, id)
          yield* simulated(`/payouts/${id}/fail`, { reason: "account closed" })
          const available = (yield* balanceOf(key)).available
          const notifications: Record<(typeof facts)[number], ReadonlyArray<AcquirerNotification>> = {
            completed: [{ _tag: "payout.completed", payoutId: id }],
            failed: [{ _tag: "payout.failed", payoutId: id, reason: "account closed" }],
            returned: parts.map((amount) => returnOf(id, amount))
          }
          const say = (each: ReadonlyArray<AcquirerNotification>) => Effect.forEach(each, (one) => notified(one))
          yield* say(facts.flatMap((fact) => notifications[fact]))
          if (facts.indexOf("failed") > facts.indexOf("completed")) assert.strictEqual(yield* unallocated(), before)
          // A bank's list says each again.
          yield* say(facts.flatMap((fact) => notifications[fact]))
          yield* say(notifications.failed)
          assert.strictEqual(yield* unallocated(), before, parts.join())
          yield* say([...notifications.completed, ...notifications.returned])
          const sent = 1000 - parts.reduce((sum, part) => sum + part, 0)
          assert.strictEqual(yield* unallocated(), before - sent, parts.join())
          assert.strictEqual((yield* balanceOf(key)).available, available)
          yield* say(notifications.failed)
          assert.strictEqual(yield* unallocated(), before, parts.join())
        }
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-17: of a payout that is not completed, or of nobody, nothing is", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(5000)
      const { id } = yield* paidOut(key, { amount: 1000, ...holding })
      yield* submittedPayout(key, id)
      const early = returnOf(id, 400)
      assert.strictEqual(yield* notified(early), "ignored")
      assert.strictEqual(yield* notified(returnOf(SIMULATOR_CONNECTION, 400)), "unknown")
      yield* simulated(`/payouts/${id}/complete`)
      assert.strictEqual(yield* notified(early), "exception")
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-86: the rule `accept` accepts it; `return` and `hold` leave it to operators", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, id } = yield* completed
      for (const rule of ["return", "accept"]) {
        yield* sql`UPDATE acquirer_connections SET exception_rule = ${rule} WHERE id = ${SIMULATOR_CONNECTION}::uuid`
        yield* notified(returnOf(id, 100))
      }
      yield* sql`UPDATE acquirer_connections SET exception_rule = 'hold' WHERE id = ${SIMULATOR_CONNECTION}::uuid`
      assert.deepStrictEqual(
        (yield* raisedOf(id)).map(({ action, resolved_by, status }) => [status, action, resolved_by]),
        [
          ["open", null, null],
          ["resolved", "accept", "rule"]
        ]
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 4075 })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-82, OPR-112: another account than the payout's needs a second operator", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { one, other } = yield* makeApprovers
      const { id } = yield* completed
      const another = yield* makeCaller()
      yield* notified(returnOf(id, 400))
      const [exception] = yield* raisedOf(id)
      const asked = yield* one.call<{ id: string }>("POST", `/operator/v1/exceptions/${exception!.id}/resolve`, {
        idempotencyKey: newKey(),
        body: { action: "accept", account_id: another.accountId }
      })
      assert.strictEqual(asked.status, 202, asked.text)
      assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      assert.deepInclude(yield* ledgerBalancesOf(another.accountId), { available: 400 })
      yield* assertLedgerHolds
    })
  )
})
