/** MEDs that are reported, by end-to-end id, before the payment that they contest. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created, retrieve } from "../../support/ChargeRequests.ts"
import { exceptionsOf, newPix, notified, paymentOf, resolved, txidOf } from "../../support/Exceptions.ts"
import { assertLedgerHolds, ledgerBalancesOf, operated } from "../../support/Money.ts"
import { TestService } from "../../support/TestService.ts"

const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

const medOf = (endToEndId: string, amount = 1000) =>
  ({ _tag: "med.opened", txid: "", endToEndId, externalId: newPix(), amount, reason: "fraud" }) as const

const statesOf = (endToEndId: string) =>
  Effect.map(exceptionsOf(endToEndId), (all) => all.map(({ kind, status }) => `${kind} ${status}`))

const disputesOf = (chargeId: string) =>
  Effect.map(
    operated<{ data: ReadonlyArray<{ status: string; amount: number }> }>("GET", `/disputes?charge_id=${chargeId}`),
    ({ data }) => data.map(({ status }) => status)
  )

layer(TestService.layer({ settings: { acquirerTimeoutMs: 5000, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("A MED before its payment", (it) => {
  it.effect("DSP-10, BAL-11: when the payment arrives, its money is blocked in the same commit", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, key } = yield* caller
      const { id } = yield* created(key, { amount: 1000 })
      const payment = paymentOf(id)
      const med = medOf(payment.endToEndId!)
      assert.strictEqual(yield* notified(med), "exception")
      assert.deepStrictEqual(yield* statesOf(med.endToEndId), ["unmatched_dispute open"])
      assert.strictEqual(yield* notified(payment), "applied")
      assert.strictEqual(yield* notified(payment), "ignored")
      assert.strictEqual((yield* retrieve(key, id)).body.status, "infraction")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 1000 })
      assert.deepStrictEqual(yield* statesOf(med.endToEndId), ["unmatched_dispute resolved"])
      assert.deepStrictEqual(yield* disputesOf(id), ["open"])
      const commits = yield* sql`
        SELECT DISTINCT c.transaction_id::text FROM changes c JOIN disputes d ON d.id = c.resource_id OR d.charge_id = c.resource_id
        WHERE d.charge_id = ${id}::uuid AND c.status IN ('paid', 'infraction', 'open')`
      assert.lengthOf(commits, 1)
      assert.strictEqual(yield* notified(med), "ignored")
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10, BAL-11: with a return before it too, the rest is blocked", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const { id } = yield* created(key, { amount: 1000 })
      const payment = paymentOf(id)
      const endToEndId = payment.endToEndId!
      const back = { _tag: "charge.refunded", txid: "", endToEndId, externalId: newPix(), amount: 300 } as const
      assert.strictEqual(yield* notified(back), "exception")
      assert.strictEqual(yield* notified(medOf(endToEndId)), "exception")
      assert.strictEqual(yield* notified(payment), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 700 })
      assert.deepStrictEqual(yield* statesOf(endToEndId), ["unmatched_return resolved", "unmatched_dispute resolved"])
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10, BAL-11: of which nothing is left to block stays an open exception", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const { id } = yield* created(key, { amount: 1000 })
      const payment = paymentOf(id)
      const endToEndId = payment.endToEndId!
      const back = { _tag: "charge.refunded", txid: "", endToEndId, externalId: newPix(), amount: 1000 } as const
      for (const each of [back, medOf(endToEndId)]) assert.strictEqual(yield* notified(each), "exception")
      assert.strictEqual(yield* notified(payment), "applied")
      assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
      assert.deepStrictEqual(yield* statesOf(endToEndId), ["unmatched_return resolved", "unmatched_dispute open"])
      assert.deepStrictEqual(yield* disputesOf(id), [])
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-12: when the exception of the payment is accepted, its money is blocked in the same commit", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      // One before and one after the payment, which names no charge.
      for (const isBefore of [true, false]) {
        const { id } = yield* created(key, { amount: 1000 })
        const payment = { ...paymentOf(""), amount: 1000 }
        const med = medOf(payment.endToEndId!)
        for (const each of isBefore ? [med, payment] : [payment, med]) {
          assert.strictEqual(yield* notified(each), "exception")
        }
        const all = yield* exceptionsOf(med.endToEndId)
        const arrived = all.find(({ kind }) => kind === "unidentified_payment")!
        const before = yield* ledgerBalancesOf(accountId)
        yield* resolved(arrived.id, { action: "accept", charge_id: id })
        assert.strictEqual((yield* retrieve(key, id)).body.status, "infraction")
        const after = yield* ledgerBalancesOf(accountId)
        assert.deepStrictEqual(
          [after["available"], after["blocked"]],
          [before["available"], Number(before["blocked"]) + 1000]
        )
        assert.deepStrictEqual(
          new Set(yield* statesOf(med.endToEndId)),
          new Set(["unidentified_payment resolved", "unmatched_dispute resolved"])
        )
        assert.deepStrictEqual(yield* disputesOf(id), ["open"])
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-11: a MED and its payment that race: the money is blocked once", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      for (let round = 1; round <= 10; round += 1) {
        const { id } = yield* created(key, { amount: 1000 })
        const payment = paymentOf(id)
        const med = medOf(payment.endToEndId!)
        yield* Effect.all([notified(med), notified(payment), notified(med), notified(payment)], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(yield* disputesOf(id), ["open"], txidOf(id))
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: round * 1000 })
      }
      yield* assertLedgerHolds
    })
  )
})
