/** Payouts of accounts that are stopped, and the turns of accounts. */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../../src/payments/payouts/PayoutTable.ts"
import { Accounts } from "../../../src/accounts/Accounts.ts"
import { claimPayouts } from "../../../src/payments/payouts/PayoutClaims.ts"
import { PausedPayouts } from "../../../src/payments/payouts/PausedPayouts.ts"
import { PayoutSubmission } from "../../../src/payments/payouts/PayoutSubmission.ts"
import { assertRefused, create, created, someCharge } from "../../support/ChargeRequests.ts"
import {
  funded,
  submittedPayout,
  holding,
  ledgerBalancesOf,
  operated,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  retrievePayout,
  simulated
} from "../../support/Money.ts"
import { mostRows, payoutBacklog, type PlanNode } from "../../support/PayoutBacklog.ts"
import { eventually } from "../../support/Receiver.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"
import { unusedCapacity } from "../../support/DueCalls.ts"
import { newKey, TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const patched = (accountId: string, body: Readonly<Record<string, unknown>>) =>
  operated<Readonly<Record<string, unknown>>>("PATCH", `/accounts/${accountId}`, body)

/** A paused payout, which no round reads. */
const paused = (id: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    eventually(
      sql`SELECT 1 FROM payouts p WHERE id = ${id}::uuid AND status = 'processing' AND due_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM simulator_payouts WHERE order_id = ${sql.literal(orderIdOf("p"))})`,
      ({ length }) => length > 0
    )
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Pauses of an account", (it) => {
  it.effect("PAY-16, OPR-17: paused payouts are accepted and can be approved, and wait in `processing` unsent", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000)
      const shown = yield* patched(accountId, { payouts_paused: true })
      assert.deepInclude(shown, { payouts_paused: true, charges_paused: false, status: "active" })
      const sent = yield* paidOut(key)
      assert.strictEqual(sent.status, "processing")
      yield* paused(sent.id)
      assertRefused(yield* operate("POST", `/operator/v1/simulator/payouts/${sent.id}/complete`), "INVALID_STATE")
      yield* patched(accountId, { auto_payout_enabled: false })
      const pending = yield* paidOut(key, { amount: 600 })
      assert.strictEqual(
        (yield* operated<{ status: string }>("POST", `/payouts/${pending.id}/approve`)).status,
        "processing"
      )
      yield* paused(pending.id)
      yield* patched(accountId, { payouts_paused: false })
      for (const { id } of [sent, pending]) yield* payoutReaching(key, id, "completed")
    })
  )

  it.effect(
    "CHG-15, OPR-17: while charges are paused a creation is ACCOUNT_INACTIVE, and a known key is replayed",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, applicationId, key } = yield* makeCaller()
        const idempotencyKey = newKey()
        const known = yield* created(key, {}, idempotencyKey)
        assert.deepInclude(yield* patched(accountId, { charges_paused: true }), { charges_paused: true })
        assertRefused(yield* create(key, someCharge), "ACCOUNT_INACTIVE")
        const checkout = `/operator/v1/applications/${applicationId}/checkout-charges`
        assertRefused(yield* operate("POST", checkout, { body: someCharge }), "ACCOUNT_INACTIVE")
        assert.strictEqual((yield* created(key, {}, idempotencyKey)).id, known.id)
        // What was created before can be paid.
        yield* simulated(`/charges/${known.id}/pay`)
        yield* patched(accountId, { charges_paused: false })
        yield* created(key)
      })
  )

  it.effect(
    "PAY-16, PAY-22, OPR-18: an inactive account: nothing new goes out, what went is followed, and payers get refunds",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
        const charge = yield* paidCharge(key, 1000)
        const [pending, canceled, sent, waiting] = [
          yield* paidOut(key),
          yield* paidOut(key),
          yield* paidOut(key, holding),
          yield* paidOut(key)
        ]
        yield* operated("POST", `/payouts/${sent.id}/approve`)
        yield* submittedPayout(key, sent.id)
        yield* patched(accountId, { payouts_paused: true })
        yield* operated("POST", `/payouts/${waiting.id}/approve`)
        yield* paused(waiting.id)
        yield* patched(accountId, { status: "inactive", payouts_paused: false })

        assertRefused(yield* operate("POST", `/operator/v1/payouts/${pending.id}/approve`), "INVALID_STATE")
        assert.strictEqual((yield* retrievePayout(key, pending.id)).body.status, "pending")
        assertRefused(yield* payOut(key), "ACCOUNT_INACTIVE")
        yield* operated("POST", `/payouts/${canceled.id}/cancel`)
        yield* operated("POST", `/charges/${charge.id}/refund`)
        yield* simulated(`/payouts/${sent.id}/complete`)
        yield* payoutReaching(key, sent.id, "completed")
        assert.strictEqual((yield* retrievePayout(key, waiting.id)).body.processed_at, null)

        yield* patched(accountId, { status: "active" })
        yield* payoutReaching(key, waiting.id, "completed")
        yield* operated("POST", `/payouts/${pending.id}/approve`)
        yield* payoutReaching(key, pending.id, "completed")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 8500, payouts_in_transit: 0 })
      })
  )

  it.effect("PAY-22: approving while the account is made inactive: approved before it, or refused", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const made = yield* Effect.forEach(Array.from({ length: 10 }), () => paidOut(key), { concurrency: 10 })
      const [answers] = yield* Effect.all(
        [
          Effect.forEach(made, ({ id }) => operate("POST", `/operator/v1/payouts/${id}/approve`), {
            concurrency: "unbounded"
          }),
          patched(accountId, { status: "inactive" })
        ],
        { concurrency: 2 }
      )
      for (const [index, { status }] of answers.entries()) {
        const { body } = yield* retrievePayout(key, made[index]!.id)
        assert.strictEqual(status === 409, body.status === "pending", body.status)
      }
    })
  )
})

// No lease runs out in the time of a test unless the test says so.
layer(domainServicesLayer({ acquirerTimeoutMs: 3_600_000, simulatorSettleMs: 0, databaseConnections: 4 }), {
  excludeTestServices: true
})("A hand-over", (it) => {
  it.effect("PAY-16: that did not come to an answer is not repeated for an account that was stopped meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const submission = yield* PayoutSubmission
      const accounts = yield* Accounts
      for (const stop of [{ payouts_paused: true }, { status: "inactive" }] as const) {
        const accountId = yield* payoutBacklog(1, 1)
        // The process dies between its claim and the acquirer: it is unknown whether anything was sent.
        assert.lengthOf((yield* submission.claimDue(unusedCapacity(1))).due, 1)
        yield* accounts.update(accountId, stop)
        // The lease runs out.
        yield* sql`UPDATE payouts SET due_at = now() WHERE account_id = ${accountId}::uuid`
        const { due, paused: pausedNow } = yield* submission.claimDue(unusedCapacity(1))
        assert.deepStrictEqual([due.length, pausedNow], [1, 0], JSON.stringify(stop))
        yield* due[0]!.call
        const atAcquirer = sql`SELECT FROM simulator_payouts WHERE order_id IN (
          SELECT ${sql.literal(orderIdOf("p"))} FROM payouts p WHERE p.account_id = ${accountId}::uuid)`
        assert.lengthOf(yield* atAcquirer, 0)
        yield* accounts.update(accountId, { payouts_paused: false, status: "active" })
        yield* sql`UPDATE payouts SET due_at = now() WHERE account_id = ${accountId}::uuid`
        const again = yield* submission.claimDue(unusedCapacity(1))
        assert.lengthOf(again.due, 1)
        yield* again.due[0]!.call
        assert.lengthOf(yield* atAcquirer, 1)
        yield* sql`UPDATE payouts SET status = 'failed', due_at = NULL WHERE account_id = ${accountId}::uuid`
      }
    })
  )

  it.effect(
    "takes some of each account in turn, and parks payouts that may not go out: a backlog delays no other account",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const submission = yield* PayoutSubmission
        const { reschedule } = yield* PausedPayouts
        const paused = yield* payoutBacklog(20_000, 3000, true)
        const many = yield* payoutBacklog(20_000, 2000)
        const others = yield* Effect.forEach([1, 2, 3, 4, 5], () => payoutBacklog(1, 1))
        yield* sql`ANALYZE payouts`

        const claimedOf = (accountId: string) =>
          Effect.map(
            sql`SELECT 1 FROM payouts WHERE account_id = ${accountId}::uuid AND attempts > 0`,
            ({ length }) => length
          )
        // The first claim reaches every account, behind 40,000 payouts that are due before.
        const { due, paused: pausedAtOnce } = yield* submission.claimDue(unusedCapacity(200))
        assert.isAtMost(due.length + pausedAtOnce, 200)
        for (const other of others) assert.strictEqual(yield* claimedOf(other), 1)
        assert.isAbove(yield* claimedOf(many), 0)
        assert.strictEqual(yield* claimedOf(paused), 0)

        // The rows that a claim reads do not grow with the backlog.
        const [explained] = yield* sql.unsafe<Record<string, ReadonlyArray<{ Plan: PlanNode }>>>(
          `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${claimPayouts.simulator.text}`,
          claimPayouts.simulator({
            capacity: unusedCapacity(200),
            limit: 200,
            leaseMs: 60_000,
            afterAccount: NIL_UUID
          })[1]
        )
        const plan = Object.values(explained!)[0]![0]!.Plan
        assert.isAtMost(mostRows(plan), 1000, "rows that a step of the claim reads")

        // Each paused payout is claimed once, and then paused.
        let rounds = 0
        let found = { due: 0, paused: 1 }
        while (found.due + found.paused > 0) {
          const claim = yield* submission.claimDue(unusedCapacity(200))
          found = { due: claim.due.length, paused: claim.paused }
          rounds++
        }
        assert.isAtMost(rounds, 402)
        assert.strictEqual((yield* reschedule).rescheduled, 0)
        yield* Accounts.use((accounts) => accounts.update(paused, { payouts_paused: false }))
        assert.strictEqual((yield* reschedule).rescheduled, 1000)
        assert.isAbove((yield* submission.claimDue(unusedCapacity(200))).due.length, 0)
      })
  )
})
