/** Refunds of a part of a charge, in progress and refused, and the returns that a provider makes by itself. */
import { assert, layer } from "@effect/vitest"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import type { Refund } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import { assertRefused, retrieve } from "../../support/ChargeRequests.ts"
import { med, disputeOf, disputesOf, paidEvents, statusOf } from "../../support/Disputes.ts"
import {
  assertLedgerHolds,
  entriesOf,
  eventsOf,
  eventStatusesOf,
  holding,
  ledgerBalancesOf,
  operated,
  paidCharge,
  paidOut,
  simulated
} from "../../support/Money.ts"
import { type Fields, TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const refund = (id: string, body: Fields = {}) => operated<OperatorCharge>("POST", `/charges/${id}/refund`, body)
const chargeOf = (id: string) => operated<OperatorCharge>("GET", `/charges/${id}`)
const refundsOf = (id: string, query = "") =>
  Effect.map(operated<{ data: ReadonlyArray<Refund> }>("GET", `/refunds?charge_id=${id}${query}`), ({ data }) => data)

/** `refunded_amount` in each event of a charge. */
const refundedInEventsOf = (id: string) =>
  Effect.map(eventsOf(id), (events) => events.map(({ data }) => data["refunded_amount"]))

/** `origin status amount`, oldest first. */
const shown = ({ refunds }: OperatorCharge) =>
  refunds.map(({ amount, origin, status }) => `${origin} ${status} ${amount}`)

const onHold = { description: "hold@simulator.test" }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Refunds of parts", (it) => {
  it.effect(
    "BAL-9, BAL-10, CHG-26, OPR-70, OPR-71: part by part, until nothing is left and the charge is `refunded`",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000)
        const first = yield* refund(id, { amount: 300, description: "one item" })
        assert.strictEqual(first.status, "paid")
        assert.strictEqual(first.refunded_amount, 300)
        assert.deepStrictEqual(first.refunds, [
          {
            id: first.refunds[0]!.id,
            object: "refund",
            charge_id: id,
            account_id: accountId,
            origin: "operator",
            status: "completed",
            amount: 300 as never,
            currency: "BRL",
            description: "one item",
            nature: null,
            failure_reason: null,
            provider_outcome: null,
            created_at: first.refunds[0]!.created_at,
            completed_at: first.refunds[0]!.completed_at
          }
        ])
        assert.isNotNull(first.refunds[0]!.completed_at)
        const shownToShop = (yield* retrieve(key, id)).body
        assert.deepStrictEqual([shownToShop.status, shownToShop.refunded_amount], ["paid", 300])
        assertRefused(
          yield* operate("POST", `/operator/v1/charges/${id}/refund`, { body: { amount: 701 } }),
          "INVALID_STATE"
        )
        yield* refund(id, { amount: 200 })
        assert.deepStrictEqual(yield* eventStatusesOf(id), paidEvents, "no event before nothing is left")
        const rest = yield* refund(id)
        assert.deepStrictEqual([rest.status, rest.refunded_amount], ["refunded", 1000])
        assert.deepStrictEqual(shown(rest), [
          "operator completed 300",
          "operator completed 200",
          "operator completed 500"
        ])
        assert.deepStrictEqual(yield* eventStatusesOf(id), [...paidEvents, "charge.pix.refunded refunded"])
        assert.deepStrictEqual(yield* refundedInEventsOf(id), [0, 0, 0, 1000])
        assert.deepStrictEqual(yield* entriesOf(id), [
          "charge.paid acquirer>available 1000",
          ...[300, 200, 500].flatMap((amount) => [
            `charge.refund_ordered available>returns_in_transit ${amount}`,
            `charge.refunded returns_in_transit>acquirer ${amount}`
          ])
        ])
        assertRefused(yield* operate("POST", `/operator/v1/charges/${id}/refund`), "INVALID_STATE")
        assert.deepStrictEqual(yield* refundsOf(id), rest.refunds.toReversed())
        assert.deepStrictEqual(yield* refundsOf(id, "&status=failed"), [])
        assert.deepStrictEqual(yield* operated<Refund>("GET", `/refunds/${rest.refunds[1]!.id}`), rest.refunds[1])
        assertRefused(yield* operate("GET", "/operator/v1/refunds/x"), "NOT_FOUND")
        assert.deepStrictEqual((yield* chargeOf(id)).refunds, rest.refunds)
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-71: bad amounts and descriptions; BAL-5: a part must be covered", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const ask = (body: unknown) => operate("POST", `/operator/v1/charges/${id}/refund`, { body })
      assertRefused(yield* ask({ amount: 0 }), "AMOUNT_BELOW_MINIMUM", ["amount"])
      assertRefused(yield* ask({ amount: 1.5 }), "VALIDATION_ERROR", ["amount"])
      assertRefused(yield* ask({ amount: 1, description: "x".repeat(141) }), "VALIDATION_ERROR", ["description"])
      yield* paidOut(key, { amount: 600, ...holding })
      assertRefused(yield* ask({ amount: 401 }), "INSUFFICIENT_BALANCE")
      assert.deepStrictEqual(yield* refundsOf(id), [])
      yield* refund(id, { amount: 400 })
    })
  )

  it.effect(
    "OPR-70, OPR-290: the list of returns has those of a charge, a state, an account and amounts, in any combination",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const [one, other] = [yield* paidCharge(key, 1000), yield* paidCharge(key, 1000)]
        yield* refund(one.id, { amount: 300 })
        const { refunds } = yield* refund(one.id, { amount: 200, ...onHold })
        yield* simulated(`/refunds/${refunds.find(({ status }) => status === "processing")!.id}/fail`, { reason: "x" })
        yield* refund(one.id, { amount: 100, ...onHold })
        yield* refund(other.id, { amount: 50 })
        const amountsOf = (query: string) =>
          Effect.map(operated<{ data: ReadonlyArray<Refund> }>("GET", `/refunds?${query}`), ({ data }) =>
            data.map(({ amount }) => Number(amount)).toReversed()
          )
        const [charge, account] = [`charge_id=${one.id}`, `account_id=${accountId}`]
        for (const [query, amounts] of [
          [charge, [300, 200, 100]],
          [`${charge}&status=completed`, [300]],
          [`${charge}&status=failed`, [200]],
          [`${charge}&status=processing&amount_min=100`, [100]],
          [`${charge}&amount_min=150&amount_max=250`, [200]],
          [`${charge}&amount_max=250`, [200, 100]],
          [account, [300, 200, 100, 50]],
          [`${account}&status=completed`, [300, 50]],
          [`${account}&status=completed&amount_max=100`, [50]],
          [`${account}&amount_min=100`, [300, 200, 100]]
        ] as const) {
          assert.deepStrictEqual(yield* amountsOf(query), [...amounts] as Array<number>, query)
        }
        const { data } = yield* operated<{ data: ReadonlyArray<Refund> }>("GET", "/refunds?status=failed&limit=100")
        assert.isNotEmpty(data)
        for (const { completed_at, status } of data) assert.deepStrictEqual([status, completed_at], ["failed", null])
      })
  )

  it.effect("BAL-6: a part takes what is not released first, and the release keeps the rest", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { release_delay: 60 } })
      const { id } = yield* paidCharge(key, 1000)
      const { refunds } = yield* refund(id, { amount: 400, ...onHold })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { pending: 600, available: 0, returns_in_transit: 400 })
      yield* simulated(`/refunds/${refunds[0]!.id}/fail`, { reason: "account closed" })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { pending: 1000, available: 0, returns_in_transit: 0 })
      yield* refund(id)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { pending: 0, available: 0, returns_in_transit: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-9, OPR-72: accepted: `processing` until the provider reports the outcome, which counts once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const asked = yield* refund(id, { amount: 1000, ...onHold })
      assert.deepStrictEqual(
        [asked.status, asked.refunded_amount, ...shown(asked)],
        ["paid", 0, "operator processing 1000"]
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, returns_in_transit: 1000 })
      assertRefused(yield* operate("POST", `/operator/v1/charges/${id}/refund`), "INVALID_STATE")
      const path = `/operator/v1/simulator/refunds/${asked.refunds[0]!.id}`
      assert.strictEqual((yield* operate<Refund>("POST", `${path}/complete`)).body.status, "completed")
      assertRefused(yield* operate("POST", `${path}/complete`), "INVALID_STATE")
      assert.strictEqual(yield* statusOf(key, id), "refunded")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, returns_in_transit: 0 })
    })
  )

  it.effect(
    "CHG-26, OPR-72: refused: 422 with the provider's reason; the money is back, and nothing else changed",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000)
        const body = { amount: 400, description: "fail@simulator.test" }
        const refused = yield* operate<{ message: string }>("POST", `/operator/v1/charges/${id}/refund`, { body })
        assertRefused(refused, "ACQUIRER_REJECTED")
        assert.strictEqual(refused.body.message, "simulated failure")
        const charge = yield* chargeOf(id)
        assert.deepStrictEqual(
          [charge.status, charge.refunded_amount, ...shown(charge)],
          ["paid", 0, "operator failed 400"]
        )
        assert.deepInclude(charge.refunds[0]!, { failure_reason: "simulated failure", completed_at: null })
        assert.deepStrictEqual(yield* eventStatusesOf(id), paidEvents)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, returns_in_transit: 0 })
        // A return that the provider had refused, and made all the same, is money that left.
        yield* simulated(`/refunds/${charge.refunds[0]!.id}/complete`)
        assert.deepStrictEqual(shown(yield* chargeOf(id)), ["operator failed 400", "provider completed 400"])
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 600 })
        yield* assertLedgerHolds
      })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Returns and MEDs of a part", (it) => {
  it.effect("DSP-1, DSP-3, DSP-4: a MED blocks its amount, won gives just that back, lost takes just that", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      yield* refund(id, { amount: 100 })
      const won = yield* med(id, { amount: 400 })
      assert.strictEqual(won.amount, 400)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 500, blocked: 400 })
      yield* simulated(`/disputes/${won.id}/win`)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 900, blocked: 0 })
      const lost = yield* med(id, { amount: 5000 })
      assert.strictEqual(lost.amount, 900, "no more than is left")
      yield* simulated(`/disputes/${lost.id}/win`)
      const last = yield* med(id, { amount: 300 })
      yield* simulated(`/disputes/${last.id}/lose`)
      const charge = yield* chargeOf(id)
      assert.deepStrictEqual([charge.status, charge.refunded_amount], ["charged_back", 400])
      assert.deepStrictEqual(shown(charge), ["operator completed 100", "provider completed 300"])
      assert.strictEqual(charge.refunds[1]!.nature, "dispute")
      // A refund of a part, three MEDs of which two are won and one is lost.
      assert.deepStrictEqual(yield* refundedInEventsOf(id), [0, 0, 0, 100, 100, 100, 400])
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 600, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "DSP-7: a return by the provider takes from `blocked` first; the dispute is lost once nothing is left",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000)
        const { id: disputeId } = yield* med(id, { amount: 600 })
        const returned = yield* simulated<OperatorCharge>(`/charges/${id}/refund`, { amount: 200 })
        assert.deepStrictEqual([returned.status, returned.refunded_amount], ["infraction", 200])
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 400, blocked: 400 })
        assert.strictEqual((yield* disputeOf(disputeId)).status, "open")
        yield* simulated(`/charges/${id}/refund`, { amount: 800 })
        assert.strictEqual(yield* statusOf(key, id), "refunded")
        assert.strictEqual((yield* disputeOf(disputeId)).status, "lost")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
        yield* assertLedgerHolds
      })
  )

  it.effect.each([
    { first: "lose", other: "return" },
    { first: "return", other: "lose" }
  ])("DSP-4, DSP-7: the return of a MED and its loss are one money ($first, then $other)", ({ first }) =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const { id: disputeId } = yield* med(id, { amount: 600 })
      const lose = operate("POST", `/operator/v1/simulator/disputes/${disputeId}/lose`)
      const giveBack = operate("POST", `/operator/v1/simulator/charges/${id}/return`, {
        body: { as: "charged_back", amount: 600, external_id: `D-${id}` }
      })
      const [one, other] = first === "lose" ? [lose, giveBack] : [giveBack, lose]
      assert.strictEqual((yield* one).status, 200)
      // The other one is still told: a return decides no MED, and a loss has not the bank's id of its return.
      assert.strictEqual((yield* other).status, 200)
      assertRefused(yield* giveBack, "INVALID_STATE")
      assert.strictEqual((yield* disputesOf(id)).length, 1)
      assert.strictEqual((yield* disputeOf(disputeId)).status, "lost")
      const charge = yield* chargeOf(id)
      assert.deepStrictEqual([charge.status, charge.refunded_amount], ["charged_back", 600])
      assert.deepStrictEqual(shown(charge), ["provider completed 600"])
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 400, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect.each([
    { reported: 450, available: 550 },
    { reported: 700, available: 300 }
  ])(
    "DSP-7: where the return of a lost MED is of $reported and not of 600, the difference moves",
    ({ available, reported }) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000)
        const { id: disputeId } = yield* med(id, { amount: 600 })
        yield* simulated(`/disputes/${disputeId}/lose`)
        yield* simulated(`/charges/${id}/return`, { as: "charged_back", amount: reported })
        const charge = yield* chargeOf(id)
        assert.deepStrictEqual([charge.refunded_amount, ...shown(charge)], [reported, `provider completed ${reported}`])
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available, blocked: 0 })
        yield* assertLedgerHolds
      })
  )

  it.effect.each([
    { ends: "win", fails: { available: 1000, blocked: 0 } },
    { ends: "lose", fails: { available: 200, blocked: 0 } },
    { ends: undefined, fails: { available: 200, blocked: 800 } }
  ])("OPR-73: a MED claims what a failed refund gives back, as far as it contests it ($ends)", ({ ends, fails }) =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const { refunds } = yield* refund(id, { amount: 500, ...onHold })
      const dispute = yield* med(id, { amount: 800 })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 500, returns_in_transit: 500 })
      if (ends !== undefined) yield* simulated(`/disputes/${dispute.id}/${ends}`)
      yield* simulated(`/refunds/${refunds[0]!.id}/fail`, { reason: "account closed" })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { ...fails, returns_in_transit: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-5, BAL-10: a return without notice of a part: the dispute has its amount", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const part = yield* simulated<OperatorCharge>(`/charges/${id}/return`, { as: "refunded", amount: 300 })
      assert.deepStrictEqual([part.status, part.refunded_amount], ["paid", 300])
      const [dispute] = yield* disputesOf(id)
      assert.deepInclude(dispute!, { status: "lost", amount: 300, arrived_resolved: true })
      const lost = yield* simulated<OperatorCharge>(`/charges/${id}/return`, { as: "charged_back", amount: 300 })
      assert.deepStrictEqual([lost.status, lost.refunded_amount], ["charged_back", 600])
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 400, blocked: 0 })
      yield* assertLedgerHolds
    })
  )
})
