/** The status of a dispute and the money that it blocks. */
import { assert, layer } from "@effect/vitest"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import { assertRefused, instant, retrieve, uuid7 } from "../../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  eventsOf,
  ledgerBalancesOf,
  operated,
  paidCharge,
  simulated,
  eventStatusesOf
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { type Fields, TestService } from "../../support/TestService.ts"
import {
  DAY_MS,
  type Dispute,
  med,
  statusOf,
  disputeOf,
  refusesAll,
  shown,
  paidEvents,
  withoutOperatorFields
} from "../../support/Disputes.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Dispute `status`", (it) => {
  it.effect("DSP-1, DSP-6, DSP-11: (none) → `open`: `dispute.pix.opened`; value is blocked awaiting defense", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const charge = yield* paidCharge(key, 1990, { reference: "pedido-1" })
      const dispute = yield* med(charge.id, { reason: "golpe" })
      assert.match(dispute.id, uuid7)
      assert.deepStrictEqual<unknown>(dispute, {
        object: "dispute",
        id: dispute.id,
        charge_id: charge.id,
        exception_id: null,
        account_id: accountId,
        status: "open",
        amount: 1990,
        currency: "BRL",
        reason: "golpe",
        reference: "pedido-1",
        opened_at: dispute.opened_at,
        defense_deadline_at: dispute.defense_deadline_at,
        resolved_at: null,
        arrived_resolved: false,
        sequence: 1,
        messages: [],
        defense_in_progress: false
      })
      assert.match(dispute.opened_at, instant)
      // 7 days after opening, where the acquirer says nothing.
      assert.strictEqual(dispute.defense_deadline_at, formatInstant(Date.parse(dispute.opened_at) + 7 * DAY_MS))
      assert.strictEqual(yield* statusOf(key, charge.id), "infraction")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1990 })
      assert.deepStrictEqual(yield* eventStatusesOf(charge.id), [...paidEvents, "charge.pix.infraction infraction"])
      const [opened, ...others] = yield* eventsOf(dispute.id)
      assert.deepStrictEqual(others, [])
      assert.strictEqual(opened?.event, "dispute.pix.opened")
      assert.deepStrictEqual<unknown>(opened?.data, shown(dispute))
    })
  )

  it.effect("DSP-6: `defense_deadline_at` is what the acquirer says", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key)
      const path = `/operator/v1/simulator/charges/${id}/infraction`
      const refusals: ReadonlyArray<readonly [Fields, ReadonlyArray<string>]> = [
        [{}, ["reason"]],
        [{ reason: "" }, ["reason"]],
        [{ reason: "x", defense_deadline_at: "tomorrow" }, ["defense_deadline_at"]]
      ]
      for (const [body, details] of refusals) {
        assertRefused(yield* operate("POST", path, { body }), "VALIDATION_ERROR", details)
      }
      const { defense_deadline_at } = yield* med(id, { defense_deadline_at: "2030-01-02T03:04:05-03:00" })
      assert.strictEqual(defense_deadline_at, "2030-01-02T06:04:05.000Z")
    })
  )

  it.effect("DSP-2, OPR-26: `open→under_review` when an operator files the defense", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId)
      const path = `/operator/v1/disputes/${id}/defense`
      for (const body of [{}, { text: "" }, { text: 5 }, { text: "x".repeat(4001) }]) {
        assertRefused(yield* operate("POST", path, { body }), "VALIDATION_ERROR", ["text"])
      }
      assert.strictEqual((yield* disputeOf(id)).status, "open")
      const { messages, ...defended } = yield* operated<Dispute>("POST", `/disputes/${id}/defense`, {
        text: "entregue"
      })
      assert.deepInclude(defended, { status: "under_review", resolved_at: null, sequence: 2 })
      assert.deepStrictEqual(
        messages.map(({ author, text }) => `${author}: ${text}`),
        ["operator: entregue"]
      )
      assert.deepStrictEqual(yield* eventStatusesOf(id), ["dispute.pix.opened open"])
      assert.strictEqual(yield* statusOf(key, chargeId), "infraction")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1000 })
      yield* refusesAll(id, ["defense"])
      assert.strictEqual((yield* disputeOf(id)).messages.length, 1)
    })
  )

  it.effect.each([{ defended: false }, { defended: true }])(
    "DSP-2, DSP-3: → `won`: blocked value returns to balance, the charge to `paid`, and `charge.pix.paid` is not sent again (defended: $defended)",
    ({ defended }) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const charge = yield* paidCharge(key, 1000)
        const { id } = yield* med(charge.id)
        if (defended) yield* operated("POST", `/disputes/${id}/defense`, { text: "x" })
        const won = yield* simulated<Dispute>(`/disputes/${id}/win`)
        assert.deepInclude(won, { status: "won", arrived_resolved: false, sequence: defended ? 3 : 2 })
        assert.match(String(won.resolved_at), instant)
        const { body } = yield* retrieve(key, charge.id)
        assert.deepStrictEqual(body, { ...withoutOperatorFields(charge), status: "paid", sequence: 5 })
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
        assert.deepStrictEqual(yield* eventStatusesOf(charge.id), [...paidEvents, "charge.pix.infraction infraction"])
        const [, event] = yield* eventsOf(id)
        assert.strictEqual(event?.event, "dispute.pix.won")
        assert.deepStrictEqual<unknown>(event?.data, shown(won))
        yield* refusesAll(id, ["win", "defense", "messages"])
      })
  )

  it.effect.each([{ defended: false }, { defended: true }])(
    "DSP-2, DSP-4: → `lost`: value goes back to the payer, the charge is `charged_back` (defended: $defended)",
    ({ defended }) =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id: chargeId } = yield* paidCharge(key, 1000)
        const { id } = yield* med(chargeId)
        if (defended) yield* operated("POST", `/disputes/${id}/defense`, { text: "x" })
        const lost = yield* simulated<Dispute>(`/disputes/${id}/lose`)
        assert.deepInclude(lost, { status: "lost", arrived_resolved: false })
        assert.match(String(lost.resolved_at), instant)
        assert.strictEqual(yield* statusOf(key, chargeId), "charged_back")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
        assert.deepStrictEqual(yield* eventStatusesOf(chargeId), [
          ...paidEvents,
          "charge.pix.infraction infraction",
          "charge.pix.charged_back charged_back"
        ])
        assert.deepStrictEqual(yield* eventStatusesOf(id), ["dispute.pix.opened open", "dispute.pix.lost lost"])
        const [, event] = yield* eventsOf(id)
        assert.deepStrictEqual<unknown>(event?.data, shown(lost))
        // `lost` is final.
        yield* refusesAll(id, ["win", "lose", "defense", "messages"])
        for (const [action, body] of [
          ["fail", undefined],
          ["refund", undefined],
          ["return", { as: "refunded" }]
        ] as const) {
          const refused = yield* operate("POST", `/operator/v1/simulator/charges/${chargeId}/${action}`, { body })
          assertRefused(refused, "INVALID_STATE")
        }
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
      })
  )

  it.effect("DSP-2, DSP-4: `won` → `lost`: late return; `lost` is final even after a `won`", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      yield* paidCharge(key, 150)
      const { id } = yield* med(chargeId)
      const won = yield* simulated<Dispute>(`/disputes/${id}/win`)
      const lost = yield* simulated<Dispute>(`/disputes/${id}/lose`)
      assert.strictEqual(lost.status, "lost")
      assert.isTrue(lost.resolved_at! >= won.resolved_at!)
      assert.strictEqual(yield* statusOf(key, chargeId), "charged_back")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 150, blocked: 0 })
      assert.deepStrictEqual(yield* eventStatusesOf(id), [
        "dispute.pix.opened open",
        "dispute.pix.won won",
        "dispute.pix.lost lost"
      ])
      yield* refusesAll(id, ["win", "lose"])
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10: a late outcome of a charge whose money went back already changes nothing", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId)
      yield* simulated(`/disputes/${id}/win`)
      yield* operated("POST", `/charges/${chargeId}/refund`)
      yield* refusesAll(id, ["lose", "win"])
      assert.strictEqual(yield* statusOf(key, chargeId), "refunded")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
    })
  )

  it.effect("DSP-2: concurrent won and lost end in one state, and the money moves once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      for (let round = 0; round < 5; round++) {
        const { id: chargeId } = yield* paidCharge(key, 1000)
        const { id } = yield* med(chargeId)
        const actions = ["win", "lose", "win", "lose", "lose", "win"]
        yield* Effect.forEach(actions, (action) => operate("POST", `/operator/v1/simulator/disputes/${id}/${action}`), {
          concurrency: "unbounded"
        })
        // lost follows won, and nothing follows lost.
        assert.strictEqual((yield* disputeOf(id)).status, "lost")
        assert.strictEqual(yield* statusOf(key, chargeId), "charged_back")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
        const lost = (yield* eventStatusesOf(id)).filter((event) => event === "dispute.pix.lost lost")
        assert.strictEqual(lost.length, 1)
      }
      yield* assertLedgerHolds
    })
  )
})
