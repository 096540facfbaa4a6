/** Money that returns to the payer: refunds, returns and further disputes of a charge. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created, instant, retrieve } from "../../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  balanceOf,
  entriesOf,
  eventsOf,
  ledgerBalancesOf,
  operated,
  paidCharge,
  payOut,
  paidOut,
  holding,
  simulated,
  eventStatusesOf
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { type Fields, TestService } from "../../support/TestService.ts"
import { med, statusOf, disputesOf, disputeOf, refusesAll, shown, paidEvents } from "../../support/Disputes.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Returns", (it) => {
  it.effect.each([{ as: "refunded" }, { as: "charged_back" }])(
    "DSP-5: (none) → `lost`: only `dispute.pix.lost` arrives, with `arrived_resolved: true`; the charge gets `charge.pix.$as`",
    ({ as }) =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000, { reference: "r" })
        const refused = yield* operate("POST", `/operator/v1/simulator/charges/${id}/return`, { body: { as: "lost" } })
        assertRefused(refused, "VALIDATION_ERROR", ["as"])
        const { status } = yield* simulated<Charge>(`/charges/${id}/return`, { as })
        assert.strictEqual(status, as)
        assert.strictEqual(yield* statusOf(key, id), as)
        assert.deepStrictEqual(yield* eventStatusesOf(id), [...paidEvents, `charge.pix.${as} ${as}`])
        const [dispute, ...others] = yield* disputesOf(id)
        assert.deepStrictEqual(others, [])
        assert.deepInclude(dispute!, {
          status: "lost",
          amount: 1000,
          reference: "r",
          arrived_resolved: true,
          defense_deadline_at: null
        })
        assert.match(String(dispute!.resolved_at), instant)
        const [event, ...more] = yield* eventsOf(dispute!.id)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(event?.event, "dispute.pix.lost")
        assert.deepStrictEqual<unknown>(event?.data, shown(dispute!))
        assert.strictEqual(yield* availableOf(key), 0)
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
        yield* refusesAll(dispute!.id, ["win", "lose", "defense", "messages"])
      })
  )

  it.effect("DSP-7: a refund by the acquirer in `infraction` takes from `blocked` and ends the dispute as `lost`", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      yield* paidCharge(key, 130)
      const { id } = yield* med(chargeId)
      // Nothing is left that is not blocked.
      assertRefused(yield* operate("POST", `/operator/v1/charges/${chargeId}/refund`), "INVALID_STATE")
      assert.strictEqual((yield* simulated<Charge>(`/charges/${chargeId}/refund`)).status, "refunded")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 130, blocked: 0 })
      assert.deepInclude(yield* disputeOf(id), { status: "lost", arrived_resolved: false })
      assert.deepStrictEqual(yield* eventStatusesOf(id), ["dispute.pix.opened open", "dispute.pix.lost lost"])
      assert.deepStrictEqual(yield* eventStatusesOf(chargeId), [
        ...paidEvents,
        "charge.pix.infraction infraction",
        "charge.pix.refunded refunded"
      ])
      assert.strictEqual((yield* disputesOf(chargeId)).length, 1)
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-7: a return of a charge in `infraction` ends its dispute, and makes no second one", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId)
      yield* operated("POST", `/disputes/${id}/defense`, { text: "x" })
      yield* simulated(`/charges/${chargeId}/return`, { as: "charged_back" })
      assert.deepStrictEqual(
        (yield* disputesOf(chargeId)).map(({ arrived_resolved, status }) => ({ arrived_resolved, status })),
        [{ arrived_resolved: false, status: "lost" }]
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
    })
  )

  it.effect("DSP-7: A second MED on a charge is a new dispute", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const first = yield* med(chargeId)
      yield* simulated(`/disputes/${first.id}/win`)
      const second = yield* med(chargeId, { reason: "again" })
      assert.notStrictEqual(second.id, first.id)
      assert.deepStrictEqual(
        (yield* disputesOf(chargeId)).map(({ id, status }) => ({ id, status })),
        [
          { id: second.id, status: "open" },
          { id: first.id, status: "won" }
        ]
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1000 })
      // The first is lost late, while the second is open: the money goes back once, and both end.
      yield* simulated(`/disputes/${first.id}/lose`)
      assert.deepStrictEqual(
        (yield* disputesOf(chargeId)).map(({ status }) => status),
        ["lost", "lost"]
      )
      yield* refusesAll(second.id, ["win", "lose"])
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
      assert.deepStrictEqual(yield* eventStatusesOf(second.id), ["dispute.pix.opened open", "dispute.pix.lost lost"])
      assert.deepStrictEqual(yield* entriesOf(chargeId), [
        "charge.paid acquirer>available 1000",
        "charge.infraction available>blocked 1000",
        "charge.dispute_won blocked>available 1000",
        "charge.infraction available>blocked 1000",
        "charge.charged_back blocked>acquirer 1000"
      ])
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-5: `available` may go below zero; payouts are then refused until it recovers", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 5000)
      yield* paidOut(key, { amount: 4000, ...holding })
      const { id } = yield* med(chargeId)
      assert.deepStrictEqual<unknown>(yield* balanceOf(key), {
        object: "balance",
        currency: "BRL",
        available: -4000,
        pending: 0,
        total: -4000
      })
      const account = yield* operated<{ balance: Fields }>("GET", `/accounts/${accountId}`)
      assert.deepInclude(account.balance, { available: -4000 })
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
      yield* paidCharge(key, 4499)
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
      yield* paidCharge(key, 100)
      assertRefused(yield* payOut(key, { amount: 600 }), "INSUFFICIENT_BALANCE")
      yield* paidOut(key, { amount: 599, ...holding })
      assert.strictEqual(yield* availableOf(key), 0)
      yield* simulated(`/disputes/${id}/lose`)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0, payouts_in_transit: 4599 })
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-7: Any other notification changes no charge: ignored, or an exception where money arrived", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const failed = yield* created(key)
      yield* simulated(`/charges/${failed.id}/fail`)
      const canceled = yield* created(key)
      yield* operated("POST", `/charges/${canceled.id}/cancel`)
      const refunded = yield* paidCharge(key)
      yield* simulated(`/charges/${refunded.id}/refund`)
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        [failed.id, ["fail", "refund", "infraction", "return"]],
        [canceled.id, ["fail", "refund", "infraction", "return"]],
        [refunded.id, ["fail", "refund", "return"]]
      ]
      const bodies: Readonly<Record<string, Fields>> = { infraction: { reason: "x" }, return: { as: "refunded" } }
      for (const [id, actions] of cases) {
        const before = yield* retrieve(key, id)
        for (const action of actions) {
          const path = `/operator/v1/simulator/charges/${id}/${action}`
          assertRefused(yield* operate("POST", path, { body: bodies[action] }), "INVALID_STATE")
        }
        yield* simulated(`/charges/${id}/pay`, {}, 202)
        assert.deepStrictEqual((yield* retrieve(key, id)).body, before.body)
        const ignored = yield* sql`SELECT id FROM notifications
          WHERE subject = ${id.replaceAll("-", "")} AND outcome = 'ignored'`
        assert.lengthOf(ignored, 1)
        assert.deepStrictEqual(yield* disputesOf(id), [])
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
    })
  )
})
