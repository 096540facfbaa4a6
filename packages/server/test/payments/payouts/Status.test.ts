/** The status of a payout, its events, and what operators do to it. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../../src/payments/payouts/PayoutTable.ts"
import { assertRefused, instant } from "../../support/ChargeRequests.ts"
import {
  availableOf,
  deliveredOf,
  eventsOf,
  failing,
  funded,
  submittedPayout,
  holding,
  ledgerBalancesOf,
  listedPayouts,
  operated,
  type OperatorPayout,
  paidOut,
  payoutReaching,
  retrievePayout,
  simulated,
  eventStatusesOf
} from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { waitingFor } from "../../support/Waiting.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Payout `status`", (it) => {
  it.effect(
    "PAY-3, EVT-12: `auto_payout_enabled` true: `processing`; payment.pix.created and payment.pix.processing; completed is not dispatched",
    () =>
      Effect.gen(function* () {
        const { url } = yield* receiver()
        const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 100, basis_points: 0 } })
        const payout = yield* paidOut(key, { webhook_url: url, reference: "r-1", ...holding })
        assert.strictEqual(payout.status, "processing")
        assert.strictEqual(yield* availableOf(key), 9400)
        const events = yield* eventsOf(payout.id)
        assert.deepStrictEqual(
          events.map(({ event, sequence }) => `${event} ${sequence}`),
          ["payment.pix.created 1", "payment.pix.processing 1"]
        )
        for (const { created_at, data } of events) {
          assert.match(created_at, instant)
          // Everything else in `data` is as in GET.
          assert.deepStrictEqual<unknown>(data, { ...payout, object: "payment" })
        }
        yield* simulated(`/payouts/${payout.id}/complete`)
        const completed = yield* payoutReaching(key, payout.id, "completed")
        assert.strictEqual(completed.sequence, 2)
        assert.deepStrictEqual(yield* eventStatusesOf(payout.id), [
          "payment.pix.created processing",
          "payment.pix.processing processing",
          "payment.pix.completed completed"
        ])
        assert.deepStrictEqual(yield* deliveredOf(payout.id), [
          "payment.pix.created webhook_url",
          "payment.pix.processing webhook_url"
        ])
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 9400, payouts_in_transit: 0 })
      })
  )

  it.effect("PAY-3: `auto_payout_enabled` false: `pending`, until an operator approves it", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const { key } = yield* funded(10_000, { auto_payout_enabled: false, payout_fee: { fixed: 100, basis_points: 0 } })
      const payout = yield* paidOut(key, { webhook_url: url })
      assert.deepInclude(payout, { status: "pending", processed_at: null, sequence: 1 })
      // Amount plus fee leave the available balance when the payout is created, in both modes.
      assert.strictEqual(yield* availableOf(key), 9400)
      assert.deepStrictEqual(yield* eventStatusesOf(payout.id), ["payment.pix.created pending"])

      const approved = yield* operated<OperatorPayout>("POST", `/payouts/${payout.id}/approve`)
      assert.deepInclude(approved, { status: "processing", sequence: 2, origin: "api", duplicate_of: null })
      const completed = yield* payoutReaching(key, payout.id, "completed")
      assert.strictEqual(completed.sequence, 3)
      assert.deepStrictEqual(yield* eventStatusesOf(payout.id), [
        "payment.pix.created pending",
        "payment.pix.processing processing",
        "payment.pix.completed completed"
      ])
      assert.deepStrictEqual(yield* deliveredOf(payout.id), [
        "payment.pix.created webhook_url",
        "payment.pix.processing webhook_url"
      ])
      assert.strictEqual(yield* availableOf(key), 9400)
    })
  )

  it.effect("OPR-34: an outcome of a payout that was not submitted is 409 INVALID_STATE", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const { id } = yield* paidOut(key)
      for (const outcome of ["complete", "fail"]) {
        const answer = yield* operate("POST", `/operator/v1/simulator/payouts/${id}/${outcome}`, {
          body: { reason: "x" }
        })
        assertRefused(answer, "INVALID_STATE")
      }
      assert.strictEqual((yield* retrievePayout(key, id)).body.status, "pending")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 9500, payouts_in_transit: 500 })
    })
  )

  it.effect("PAY-3: a payout that is not approved is not submitted to the acquirer", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000, { auto_payout_enabled: false })
      const sql = yield* SqlClient
      const waiting = yield* paidOut(key)
      // Another one, created and submitted after it.
      const other = yield* paidOut(key)
      yield* operated("POST", `/payouts/${other.id}/approve`)
      yield* payoutReaching(key, other.id, "completed")
      assert.deepStrictEqual((yield* retrievePayout(key, waiting.id)).body, waiting)
      assert.deepStrictEqual(
        yield* sql`SELECT 1 FROM simulator_payouts s JOIN payouts p ON s.order_id = ${sql.literal(orderIdOf("p"))}
          WHERE p.id = ${waiting.id}::uuid`,
        []
      )
    })
  )

  it.effect(
    "PAY-5, PAY-7: `completed`: money delivered, `end_to_end_id` is filled, `processed_at` is when it left",
    () =>
      Effect.gen(function* () {
        const { key } = yield* funded(10_000)
        const byItself = yield* paidOut(key)
        const instructed = yield* paidOut(key, holding)
        const taken = yield* submittedPayout(key, instructed.id)
        assert.deepInclude(taken, { status: "processing", end_to_end_id: null, sequence: 1 })
        yield* simulated(`/payouts/${instructed.id}/complete`)
        for (const { created_at, id } of [byItself, instructed]) {
          const { end_to_end_id, failure_reason, processed_at } = yield* payoutReaching(key, id, "completed")
          assert.match(String(end_to_end_id), /^E00000000\d{12}[A-Za-z0-9]{11}$/)
          assert.match(String(processed_at), instant)
          assert.isTrue(processed_at! >= created_at)
          assert.isNull(failure_reason)
        }
        assert.strictEqual((yield* retrievePayout(key, instructed.id)).body.processed_at, taken.processed_at)
        const all = yield* listedPayouts(key)
        assert.strictEqual(new Set(all.data.map(({ end_to_end_id }) => end_to_end_id)).size, 2)
      })
  )

  it.effect("PAY-5: `failed`: amount and fee go back to the balance; `failure_reason` is filled", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 0, basis_points: 1000 } })
      const byItself = yield* paidOut(key, { amount: 3000, webhook_url: url, ...failing })
      const instructed = yield* paidOut(key, { amount: 2000, webhook_url: url, ...holding })
      const first = yield* payoutReaching(key, byItself.id, "failed")
      assert.strictEqual(yield* availableOf(key), 10_000 - 2200)
      const second = yield* simulated<OperatorPayout>(`/payouts/${instructed.id}/fail`, { reason: "conta encerrada" })
      assert.deepInclude(second, { status: "failed", failure_reason: "conta encerrada", end_to_end_id: null })
      assert.isString(first.failure_reason)
      assert.match(String(first.processed_at), instant)
      assert.match(String(second.processed_at), instant)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 10_000, payouts_in_transit: 0 })
      for (const { failure_reason, id } of [first, second]) {
        assert.deepStrictEqual(yield* eventStatusesOf(id), [
          "payment.pix.created processing",
          "payment.pix.processing processing",
          "payment.pix.failed failed"
        ])
        assert.deepStrictEqual(yield* deliveredOf(id), [
          "payment.pix.created webhook_url",
          "payment.pix.failed webhook_url",
          "payment.pix.processing webhook_url"
        ])
        const { body } = yield* retrievePayout(key, id)
        const [, , failed] = yield* eventsOf(id)
        assert.deepStrictEqual<unknown>(failed?.data, { ...body, object: "payment" })
        assert.strictEqual(body.failure_reason, failure_reason)
      }
    })
  )

  it.effect("PAY-5: `canceled` means canceled before sending; amount and fee return to the balance", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const account = { auto_payout_enabled: false, payout_fee: { fixed: 77, basis_points: 0 } }
      const { accountId, key } = yield* funded(10_000, account)
      const { id } = yield* paidOut(key, { webhook_url: url })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 9423, payouts_in_transit: 577 })
      const canceled = yield* operated<OperatorPayout>("POST", `/payouts/${id}/cancel`)
      assert.deepInclude(canceled, { status: "canceled", processed_at: null, failure_reason: null, sequence: 2 })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 10_000, payouts_in_transit: 0 })
      assert.deepStrictEqual(yield* eventStatusesOf(id), [
        "payment.pix.created pending",
        "payment.pix.canceled canceled"
      ])
      assert.deepStrictEqual(yield* deliveredOf(id), [
        "payment.pix.canceled webhook_url",
        "payment.pix.created webhook_url"
      ])
    })
  )

  it.effect("PAY-4, OPR-24: approve and cancel: `pending` only, else 409 INVALID_STATE; unknown: NOT_FOUND", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const act = (id: string, action: string) => operate("POST", `/operator/v1/payouts/${id}/${action}`)
      const canceled = yield* paidOut(key)
      const processing = yield* paidOut(key, holding)
      const failed = yield* paidOut(key, failing)
      const completed = yield* paidOut(key)
      yield* operated("POST", `/payouts/${canceled.id}/cancel`)
      for (const { id } of [processing, failed, completed]) yield* operated("POST", `/payouts/${id}/approve`)
      yield* payoutReaching(key, failed.id, "failed")
      yield* payoutReaching(key, completed.id, "completed")
      const before = yield* ledgerBalancesOf(accountId)
      for (const { id } of [canceled, processing, failed, completed]) {
        for (const action of ["approve", "cancel"]) assertRefused(yield* act(id, action), "INVALID_STATE")
      }
      for (const id of ["0198c0de-0000-7000-8000-000000000000", "no-id"]) {
        for (const action of ["approve", "cancel"]) assertRefused(yield* act(id, action), "NOT_FOUND")
      }
      assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), before)
    })
  )

  it.effect("OPR-12: an approval whose caller disconnects is in the audit log", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000, { auto_payout_enabled: false })
      const { id } = yield* paidOut(key)
      // Each use of the installation's token would wait for its own entry.
      const { call, token } = yield* makeOperator("operator")
      // It waits for its entry, with which it commits.
      yield* Effect.gen(function* () {
        yield* sql`LOCK TABLE audit IN SHARE MODE`
        const asked = yield* Effect.forkChild(
          Effect.promise((signal) =>
            fetch(`${operatorUrl}/operator/v1/payouts/${id}/approve`, {
              method: "POST",
              headers: { "x-operator-token": token },
              signal
            })
          )
        )
        yield* eventually(waitingFor("audit"), (waiting) => waiting > 0)
        yield* Fiber.interrupt(asked)
        // The server has seen it.
        for (let n = 0; n < 5; n++) {
          assert.strictEqual((yield* call("GET", `/operator/v1/payouts/${id}`)).status, 200)
        }
      }).pipe(sql.withTransaction)
      yield* eventually(
        sql`SELECT 1 FROM audit WHERE resource_id = ${id}::uuid AND action = 'payoutActions.approve'`,
        ({ length }) => length === 1
      )
      yield* payoutReaching(key, id, "completed")
    })
  )

  it.effect("OPR-24: concurrent approve and cancel: one wins, the other is 409 INVALID_STATE", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(20_000, { auto_payout_enabled: false })
      const made = yield* Effect.forEach(Array.from({ length: 20 }), () => paidOut(key, holding), { concurrency: 10 })
      const outcomes = yield* Effect.forEach(
        made,
        ({ id }) =>
          Effect.forEach(
            ["approve", "cancel", "cancel", "approve"],
            (action) => operate<OperatorPayout>("POST", `/operator/v1/payouts/${id}/${action}`),
            { concurrency: "unbounded" }
          ),
        // Few enough that none is answered 503 on a busy machine.
        { concurrency: 5 }
      )
      let canceled = 0
      for (const [index, answers] of outcomes.entries()) {
        const won = answers.filter(({ status }) => status === 200)
        assert.strictEqual(won.length, 1)
        for (const answer of answers) if (answer.status !== 200) assertRefused(answer, "INVALID_STATE")
        const { body } = yield* retrievePayout(key, made[index]!.id)
        assert.strictEqual(body.status, won[0]!.body.status)
        if (body.status === "canceled") canceled++
        assert.strictEqual((yield* eventStatusesOf(body.id)).length, 2)
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), {
        available: 20_000 - (20 - canceled) * 500,
        payouts_in_transit: (20 - canceled) * 500
      })
    })
  )
})
