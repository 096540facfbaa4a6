/** Money of an exception for another charge or account than its payment names. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import * as Effect from "effect/Effect"
import { approve, makeApprovers } from "../../support/Approvals.ts"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { type Exception, exceptionOf, notified, paymentOf } from "../../support/Exceptions.ts"
import { assertLedgerHolds, ledgerBalancesOf } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { type Call, newKey, TestService } from "../../support/TestService.ts"

/** An exception, or the request that waits. */
type Answer = Pick<Exception, "id" | "status" | "account_id"> & Pick<Approval, "summary">

layer(TestService.layer(), { excludeTestServices: true })("Exceptions for another charge", (it) => {
  it.effect("OPR-82, OPR-112: need a second operator, whichever account they are of", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { one, other } = yield* makeApprovers
      const [named, another] = [yield* makeCaller(), yield* makeCaller()]
      const charges = [yield* created(named.key, { amount: 1000 }), yield* created(another.key, { amount: 1000 })]
      const raised = (chargeId: string) =>
        Effect.gen(function* () {
          const payment = paymentOf(chargeId, { amount: 700 })
          yield* notified(payment)
          return (yield* exceptionOf(payment.endToEndId)).id
        })
      const accept = (call: Call, id: string, chargeId: string, idempotencyKey = newKey()) =>
        call<Answer>("POST", `/operator/v1/exceptions/${id}/resolve`, {
          idempotencyKey,
          body: { action: "accept", charge_id: chargeId }
        })
      const first = yield* raised(charges[0]!.id)
      const key = newKey()
      const asked = yield* accept(one.call, first, charges[1]!.id, key)
      assert.strictEqual(asked.status, 202, asked.text)
      assert.deepInclude<unknown>(asked.body, { action: "exception.accept", account_id: null })
      assert.strictEqual(asked.body.summary.account?.id, another.accountId)
      assert.strictEqual((yield* accept(one.call, first, charges[1]!.id, key)).body.id, asked.body.id)
      assert.deepInclude(yield* ledgerBalancesOf(another.accountId), { available: 0 })
      assertRefused(yield* approve(one.call, asked.body.id), "FORBIDDEN")
      assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      assert.deepInclude(yield* ledgerBalancesOf(another.accountId), { available: 700 })
      const again = yield* accept(one.call, first, charges[1]!.id, key)
      assert.deepStrictEqual([again.status, again.body.status], [200, "resolved"])
      // The charge that the payment names needs none; a payment that names none counts as another.
      assert.strictEqual((yield* accept(one.call, yield* raised(charges[0]!.id), charges[0]!.id)).status, 200)
      const nameless = yield* accept(one.call, yield* raised(""), charges[0]!.id)
      assert.strictEqual(nameless.status, 202)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-82, OPR-112: another account needs a second operator; that of the named charge does not", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { one, other } = yield* makeApprovers
      const [named, another] = [yield* makeCaller(), yield* makeCaller()]
      const charge = yield* created(named.key, { amount: 1000 })
      const accepted = (chargeId: string, accountId: string) =>
        Effect.gen(function* () {
          const payment = paymentOf(chargeId, { amount: 700 })
          yield* notified(payment)
          const { id } = yield* exceptionOf(payment.endToEndId)
          return yield* one.call<Answer>("POST", `/operator/v1/exceptions/${id}/resolve`, {
            idempotencyKey: newKey(),
            body: { action: "accept", account_id: accountId }
          })
        })
      assert.strictEqual((yield* accepted(charge.id, named.accountId)).status, 200)
      for (const chargeId of [charge.id, ""]) {
        const asked = yield* accepted(chargeId, another.accountId)
        assert.strictEqual(asked.status, 202, asked.text)
        // It concerns the account that the payment names, too: an operator of one of them neither sees nor decides it.
        const { account_id: of, summary } = asked.body
        assert.deepStrictEqual(
          [of, summary.account?.id],
          [chargeId === "" ? another.accountId : null, another.accountId]
        )
        const limited = yield* makeOperator("operator", [another.accountId])
        const seen = yield* limited.call("GET", `/operator/v1/approvals/${asked.body.id}`)
        assert.strictEqual(seen.status, chargeId === "" ? 200 : 404)
        if (chargeId !== "") assertRefused(yield* approve(limited.call, asked.body.id), "NOT_FOUND")
        assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      }
      assert.deepInclude(yield* ledgerBalancesOf(named.accountId), { available: 700 })
      assert.deepInclude(yield* ledgerBalancesOf(another.accountId), { available: 1400 })
      yield* assertLedgerHolds
    })
  )
})
