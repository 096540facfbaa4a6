/** Idempotency keys of the requests of operators that order money. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers, reject } from "../support/Approvals.ts"
import { assertRefused, someCharge } from "../support/ChargeRequests.ts"
import { exceptionOf, notified, paymentOf } from "../support/Exceptions.ts"
import { funded, holding, paidCharge, somePayout } from "../support/Money.ts"
import { makeOperator, withoutFourEyes } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
import { type Call, type Fields, newKey, TestService, whenFree } from "../support/TestService.ts"

const refund = (call: Call, id: string, idempotencyKey: string, body: Fields = { amount: 100 }) =>
  call<OperatorCharge>("POST", `/operator/v1/charges/${id}/refund`, { idempotencyKey, body })

const settings = { simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Orders of operators", (it) => {
  it.effect("OPR-202: a hundred equal refunds at once, and one after the answer was lost, are one", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const idempotencyKey = newKey()
      const answered = whenFree(refund(operate, id, idempotencyKey))
      const answers = yield* Effect.forEach(Array.from({ length: 100 }), () => answered, { concurrency: "unbounded" })
      for (const { body, status, text } of [...answers, yield* refund(operate, id, idempotencyKey)]) {
        assert.strictEqual(status, 200, text)
        assert.deepStrictEqual(
          body.refunds.map(({ amount }) => Number(amount)),
          [100]
        )
      }
      // On a busy machine the provider's answer to the first comes later, and until then no other is ordered.
      const otherKey = newKey()
      const { body } = yield* eventually(refund(operate, id, otherKey), ({ status }) => status === 200)
      assert.strictEqual(body.refunded_amount, 200)
    })
  )

  it.effect("OPR-202: another body or another operator is refused; a refused request leaves its key free", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const other = yield* makeOperator("operator")
      const idempotencyKey = newKey()
      assertRefused(yield* refund(operate, id, idempotencyKey, { amount: 1001 }), "INVALID_STATE")
      assert.strictEqual((yield* refund(operate, id, idempotencyKey)).status, 200)
      assertRefused(yield* refund(operate, id, idempotencyKey, { amount: 101 }), "IDEMPOTENCY_KEY_REUSED")
      assertRefused(yield* refund(other.call, id, idempotencyKey), "IDEMPOTENCY_KEY_REUSED")
      assert.strictEqual((yield* refund(operate, id, idempotencyKey)).body.refunded_amount, 100)
    })
  )

  it.effect("OPR-202: a refund that the provider refused is refused again, and not ordered again", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const idempotencyKey = newKey()
      const body = { amount: 100, description: "fail@simulator.test" }
      const first = yield* refund(operate, id, idempotencyKey, body)
      assertRefused(first, "ACQUIRER_REJECTED")
      assert.deepStrictEqual((yield* refund(operate, id, idempotencyKey, body)).body, first.body)
      const { refunds } = (yield* operate<OperatorCharge>("GET", `/operator/v1/charges/${id}`)).body
      assert.lengthOf(refunds, 1)
    })
  )

  it.effect("OPR-202: a decision about an exception is done once", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const payment = paymentOf("", {
        txid: newKey()
          .slice(0, 30)
          .replaceAll(/[^a-z0-9]/gi, "x"),
        amount: 4590
      })
      yield* notified(payment)
      const { id } = yield* exceptionOf(payment.endToEndId)
      const idempotencyKey = newKey()
      const decide = (body: Fields) =>
        operate("POST", `/operator/v1/exceptions/${id}/resolve`, { idempotencyKey, body })
      const answers = yield* Effect.forEach(Array.from({ length: 10 }), () => decide({ action: "return" }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      assertRefused(yield* decide({ action: "dismiss", reason: "none" }), "IDEMPOTENCY_KEY_REUSED")
      const sql = yield* SqlClient
      const returns =
        yield* sql`SELECT 1 FROM audit WHERE resource_id = ${id}::uuid AND action = 'exceptionActions.resolve'`
      assert.lengthOf(returns, 1)
    })
  )

  it.effect("OPR-202: a checkout charge with the key of another body is refused", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { applicationId } = yield* makeCaller()
      const idempotencyKey = newKey()
      const ask = (body: Fields) =>
        operate<{ id: string }>("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
          idempotencyKey,
          body
        })
      const answers = yield* Effect.forEach(Array.from({ length: 10 }), () => ask(someCharge), {
        concurrency: "unbounded"
      })
      assert.strictEqual(new Set(answers.map(({ body }) => body.id)).size, 1)
      assertRefused(yield* ask({ ...someCharge, amount: 9999 }), "IDEMPOTENCY_KEY_REUSED")
    })
  )

  it.effect("OPR-111, OPR-202: a payout that waits for approval is one, of who asked for it", () =>
    Effect.gen(function* () {
      const { one, other } = yield* makeApprovers
      const { accountId } = yield* funded(100_000)
      const ask = (call: Call, idempotencyKey: string, amount = 1000) =>
        call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          idempotencyKey,
          body: { ...somePayout, ...holding, amount }
        })
      const idempotencyKey = newKey()
      const asked = yield* ask(one.call, idempotencyKey)
      assert.strictEqual(asked.status, 202, asked.text)
      assert.strictEqual((yield* ask(one.call, idempotencyKey)).body.id, asked.body.id)
      assertRefused(yield* ask(one.call, idempotencyKey, 2000), "IDEMPOTENCY_KEY_REUSED")
      assertRefused(yield* ask(other.call, idempotencyKey), "IDEMPOTENCY_KEY_REUSED")
      assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      const done = yield* one.call<OperatorPayout>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
        idempotencyKey,
        body: { ...somePayout, ...holding, amount: 1000 }
      })
      assert.deepStrictEqual([done.status, done.headers["idempotent-replayed"]], [201, "true"])
      const rejected = yield* ask(one.call, newKey())
      assert.notStrictEqual(rejected.body.id, asked.body.id)
      const again = newKey()
      const refusable = yield* ask(one.call, again)
      yield* reject(other.call, refusable.body.id)
      const answer = yield* ask(one.call, again)
      assert.deepStrictEqual([answer.status, answer.body.id, answer.body.status], [202, refusable.body.id, "rejected"])
      yield* withoutFourEyes
    })
  )
})
