/** Several MEDs of one charge, and refunds of what they leave. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { disputeOf, disputesOf, med, statusOf } from "../../support/Disputes.ts"
import { exceptionsOf, newPix, notified, txidOf } from "../../support/Exceptions.ts"
import {
  assertLedgerHolds,
  eventStatusesOf,
  ledgerBalancesOf,
  operated,
  paidCharge,
  simulated
} from "../../support/Money.ts"
import { TestService } from "../../support/TestService.ts"

const charged = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const { accountId, key } = yield* makeCaller()
  const charge = yield* paidCharge(key, 1000)
  return { accountId, key, id: charge.id, endToEndId: charge.pix.end_to_end_id ?? "" }
})

/** A MED that the provider opened before anything of here. */
const opening = (endToEndId: string, amount: number) =>
  ({
    _tag: "med.opened",
    txid: "",
    endToEndId,
    externalId: newPix(),
    amount,
    reason: "x",
    atMs: Date.UTC(2026, 10, 1)
  }) as const

const lossOf = ({ externalId }: { readonly externalId: string }) =>
  ({ _tag: "med.lost", disputeId: "", externalId }) as const

const returnOf = (endToEndId: string, amount: number) =>
  ({ _tag: "charge.returned", txid: "", endToEndId, externalId: newPix(), amount, as: "charged_back" }) as const

const amountsOf = (chargeId: string) =>
  Effect.map(disputesOf(chargeId), (all) => all.map(({ amount, status }) => `${status} ${amount}`).toReversed())

layer(TestService.layer({ settings: { acquirerTimeoutMs: 5000, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Several MEDs of a charge", (it) => {
  it.effect("DSP-7: each blocks its amount up to what is left; one of which nothing is left is an exception", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id, key } = yield* charged
      yield* med(id, { amount: 300 })
      yield* med(id, { amount: 500 })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 200, blocked: 800 })
      yield* med(id, { amount: 500 })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1000 })
      assert.deepStrictEqual(yield* amountsOf(id), ["open 300", "open 500", "open 200"])
      const events = yield* eventStatusesOf(id)
      assert.deepStrictEqual(
        events.filter((event) => event.startsWith("charge.pix.infraction")),
        ["charge.pix.infraction infraction"]
      )
      const more = { _tag: "med.opened", txid: "", endToEndId, externalId: newPix(), amount: 100, reason: "x" } as const
      assert.strictEqual(yield* notified(more), "exception")
      assert.strictEqual(yield* notified(more), "ignored")
      assert.deepStrictEqual(
        (yield* exceptionsOf(endToEndId)).map(({ amount, charge_id, kind, status }) => ({
          amount,
          charge_id,
          kind,
          status
        })),
        [{ amount: 100, charge_id: id, kind: "unmatched_dispute", status: "open" }]
      )
      assert.lengthOf(yield* disputesOf(id), 3)
      assert.strictEqual(yield* statusOf(key, id), "infraction")
      yield* assertLedgerHolds
    })
  )

  it.effect.each([{ amount: undefined }, { amount: 0 }, { amount: -5 }])(
    "DSP-7: without a positive amount ($amount) it is of what no other contests",
    ({ amount }) =>
      Effect.gen(function* () {
        const { accountId, endToEndId, id } = yield* charged
        yield* med(id, { amount: 300 })
        const without = { _tag: "med.opened", txid: txidOf(id), endToEndId, externalId: newPix(), reason: "x" } as const
        assert.strictEqual(yield* notified(amount === undefined ? without : { ...without, amount }), "applied")
        assert.deepStrictEqual(yield* amountsOf(id), ["open 300", "open 700"])
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1000 })
      })
  )

  it.effect("DSP-3: the charge is `paid` again with the last one that is won", () =>
    Effect.gen(function* () {
      const { accountId, id, key } = yield* charged
      const [one, other] = [yield* med(id, { amount: 300 }), yield* med(id, { amount: 500 })]
      yield* simulated(`/disputes/${other.id}/win`)
      assert.strictEqual(yield* statusOf(key, id), "infraction")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 700, blocked: 300 })
      yield* simulated(`/disputes/${one.id}/win`)
      assert.strictEqual(yield* statusOf(key, id), "paid")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-3, DSP-4: once one is lost the charge is `charged_back`, and the other is decided for itself", () =>
    Effect.gen(function* () {
      for (const outcome of ["win", "lose"] as const) {
        const { accountId, id, key } = yield* charged
        const [one, other] = [yield* med(id, { amount: 300 }), yield* med(id, { amount: 500 })]
        yield* simulated(`/disputes/${one.id}/lose`)
        assert.strictEqual(yield* statusOf(key, id), "charged_back")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 200, blocked: 500 })
        assert.strictEqual((yield* disputeOf(other.id)).status, "open")
        yield* simulated(`/disputes/${other.id}/${outcome}`)
        assert.strictEqual(yield* statusOf(key, id), "charged_back")
        const available = outcome === "win" ? 700 : 200
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available, blocked: 0 })
        const events = yield* eventStatusesOf(id)
        assert.lengthOf(
          events.filter((event) => event.startsWith("charge.pix.charged_back")),
          1
        )
      }
      yield* assertLedgerHolds
    })
  )

  it.effect.each([
    { lost: "its", amount: 500, available: 200, blocked: 300 },
    { lost: "the other", amount: 300, available: 0, blocked: 500 }
  ])(
    "DSP-4, DSP-7: a return moves its money; which MED is over, the decision says: $lost",
    ({ amount, available, blocked }) =>
      Effect.gen(function* () {
        const { accountId, id } = yield* charged
        const [one, other] = [yield* med(id, { amount: 300 }), yield* med(id, { amount: 500 })]
        yield* simulated(`/charges/${id}/return`, { as: "charged_back", amount: 500 })
        assert.deepStrictEqual(yield* amountsOf(id), ["open 300", "open 500"])
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 200, blocked: 300 })
        yield* simulated(`/disputes/${(amount === 500 ? other : one).id}/lose`)
        // Its money has gone back. What the other one contests is blocked, as far as there is money.
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available, blocked })
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-5, DSP-7: of two MEDs of one amount, the one that is lost has the return that came before both", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* charged
      yield* notified(returnOf(endToEndId, 300))
      const [lost, open] = [opening(endToEndId, 300), opening(endToEndId, 300)]
      assert.strictEqual(yield* notified(open), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 400, blocked: 300 })
      assert.strictEqual(yield* notified({ ...lost, isLost: true }), "applied")
      assert.strictEqual(yield* notified(lossOf(lost)), "ignored")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 400, blocked: 300 })
      assert.strictEqual(yield* notified({ ...lossOf(open), _tag: "med.won" }), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 700, blocked: 0 })
      assert.deepStrictEqual(yield* amountsOf(id), ["lost 300", "won 300"])
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-5, DSP-7: a MED that was read while it was open takes the return that came before it", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId } = yield* charged
      yield* notified(returnOf(endToEndId, 300))
      const stale = opening(endToEndId, 300)
      assert.strictEqual(yield* notified(stale), "applied")
      assert.strictEqual(yield* notified(lossOf(stale)), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 700, blocked: 0 })
      // One that was opened after that return has its own.
      const later = { ...opening(endToEndId, 200), atMs: Date.UTC(2100, 0, 1) }
      for (const each of [{ ...later, isLost: true }, lossOf(later)])
        assert.strictEqual(yield* notified(each), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 500, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "DSP-5, DSP-7: a return that nothing announced, beside a loss without a return: each cent goes back once",
    () =>
      Effect.gen(function* () {
        const { accountId, endToEndId } = yield* charged
        const [one, other] = [opening(endToEndId, 300), opening(endToEndId, 200)]
        for (const each of [one, lossOf(one)]) assert.strictEqual(yield* notified(each), "applied")
        // The other one's, which the service has not heard of.
        yield* notified(returnOf(endToEndId, 200))
        for (const each of [{ ...other, isLost: true }, lossOf(other)]) yield* notified(each)
        yield* notified(returnOf(endToEndId, 300))
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 500, blocked: 0 })
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-5, DSP-7: the opening of a MED whose return came first blocks nothing more", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* charged
      yield* simulated(`/charges/${id}/return`, { as: "charged_back", amount: 300 })
      const opened = { ...opening(endToEndId, 300), isLost: true }
      assert.strictEqual(yield* notified(opened), "applied")
      assert.strictEqual(yield* notified(lossOf(opened)), "ignored")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 700, blocked: 0 })
      assert.deepStrictEqual(yield* amountsOf(id), ["lost 300"])
      const sql = yield* SqlClient
      assert.lengthOf(yield* sql`SELECT id FROM disputes WHERE external_id = ${opened.externalId}`, 1)
    })
  )

  it.effect("DSP-5, DSP-7: so does that of a second one, of a charge that is charged back", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* charged
      for (const amount of [300, 200]) yield* simulated(`/charges/${id}/return`, { as: "charged_back", amount })
      assert.deepStrictEqual(yield* amountsOf(id), ["lost 300", "lost 200"])
      for (const amount of [300, 200]) {
        const opened = { ...opening(endToEndId, amount), isLost: true }
        assert.strictEqual(yield* notified(opened), "applied")
        assert.strictEqual(yield* notified(lossOf(opened)), "ignored")
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 500, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-20, OPR-71: an operator refunds at most what is not blocked, also while a part is contested", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, id, key } = yield* charged
      const { id: disputeId } = yield* med(id, { amount: 300 })
      const path = `/operator/v1/charges/${id}/refund`
      assertRefused(yield* operate("POST", path, { body: { amount: 701 } }), "INVALID_STATE")
      yield* operated("POST", `/charges/${id}/refund`, { amount: 200 })
      yield* operated("POST", `/charges/${id}/refund`)
      assertRefused(yield* operate("POST", path), "INVALID_STATE")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 300, returns_in_transit: 0 })
      assert.strictEqual(yield* statusOf(key, id), "infraction")
      assert.strictEqual((yield* disputeOf(disputeId)).status, "open")
      yield* simulated(`/disputes/${disputeId}/win`)
      assert.strictEqual(yield* statusOf(key, id), "paid")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 300, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-8, DSP-7: the return of a lost MED takes its money once, also if the bank names it later", () =>
    Effect.gen(function* () {
      for (const later of [{ externalId: newPix() }, {}, { amount: 250 }]) {
        const { accountId, endToEndId, id } = yield* charged
        const lost = opening(endToEndId, 300)
        for (const each of [lost, lossOf(lost)]) assert.strictEqual(yield* notified(each), "applied")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 700, blocked: 0 })
        const { externalId: _, ...unnamed } = returnOf(endToEndId, 300)
        const report = { ...unnamed, externalId: `${endToEndId}/${id}`, requestId: `${endToEndId}/${id}` }
        assert.strictEqual(yield* notified(report), "applied")
        assert.strictEqual(yield* notified({ ...report, ...later }), "ignored")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 700, blocked: 0 })
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-7: what a smaller return of a lost MED gives back is blocked for the MEDs that are open", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* charged
      yield* operated("POST", `/charges/${id}/refund`, { amount: 500, description: "hold@simulator.test" })
      const [one, other] = [opening(endToEndId, 600), opening(endToEndId, 400)]
      for (const each of [one, other, lossOf(one)]) assert.strictEqual(yield* notified(each), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
      yield* notified(returnOf(endToEndId, 450))
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 50 })
      yield* assertLedgerHolds
    })
  )
})
