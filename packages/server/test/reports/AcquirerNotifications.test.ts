/** Notifications of the acquirer: duplicates, and those that come before the payment. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { orderIdOf } from "../../src/payments/payouts/PayoutTable.ts"
import { assertRefused, created, retrieve } from "../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  balanceOf,
  eventsOf,
  funded,
  submittedPayout,
  holding,
  ledgerBalancesOf,
  operated,
  paidCharge,
  paidOut,
  simulated,
  eventStatusesOf
} from "../support/Money.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

interface Dispute {
  readonly id: string
  readonly status: string
  readonly messages: ReadonlyArray<{ readonly text: string }>
}

const paidEvents = ["charge.pix.created pending", "charge.pix.emitted pending", "charge.pix.paid paid"]

/** Sends one notification this often at once, with one id: one is applied, the others change nothing. */
const heardOnce = (path: string, body: Fields = {}) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    const external_id = newKey()
    const ask = operate("POST", `/operator/v1/simulator${path}`, { body: { ...body, external_id } })
    const answers = yield* Effect.all(
      Array.from({ length: 6 }, () => ask),
      { concurrency: "unbounded" }
    )
    assert.lengthOf(
      answers.filter(({ status }) => status < 300),
      1
    )
    for (const answer of [...answers.filter(({ status }) => status >= 300), yield* ask]) {
      assertRefused(answer, "INVALID_STATE")
    }
  })

layer(TestService.layer({ settings }), { excludeTestServices: true })("A copy of a report changes nothing", (it) => {
  it.effect("DSP-10, OPR-32: of a MED, after it was won too: the money is blocked once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const med = { reason: "x", external_id: "med-1" }
      const { id: disputeId } = yield* simulated<Dispute>(`/charges/${id}/infraction`, med, 201)
      yield* heardOnce(`/disputes/${disputeId}/message`, { text: "?" })
      assert.lengthOf((yield* operated<Dispute>("GET", `/disputes/${disputeId}`)).messages, 1)
      assert.lengthOf(
        (yield* eventsOf(disputeId)).filter(({ event }) => event === "dispute.pix.message"),
        1
      )
      yield* heardOnce(`/disputes/${disputeId}/win`)
      assertRefused(
        yield* operate("POST", `/operator/v1/simulator/charges/${id}/infraction`, { body: med }),
        "INVALID_STATE"
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
      // Another MED is another notification.
      yield* heardOnce(`/charges/${id}/infraction`, { reason: "again" })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1000 })
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-8, DSP-10, OPR-32: of a payment, a failure, a return and a payout's outcome", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* funded(10_000)
      const { id } = yield* created(key, { amount: 1000 })
      yield* heardOnce(`/charges/${id}/pay`)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 11_000 })
      yield* heardOnce(`/charges/${id}/return`, { as: "refunded" })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 10_000 })
      yield* heardOnce(`/charges/${(yield* created(key)).id}/fail`)
      const payout = yield* paidOut(key, { amount: 1000, ...holding })
      const sql = yield* SqlClient
      yield* Effect.repeat(
        Effect.delay(
          sql`SELECT 1 FROM simulator_payouts s
          JOIN payouts p ON s.order_id = ${sql.literal(orderIdOf("p"))} WHERE p.id = ${payout.id}::uuid`,
          "20 millis"
        ),
        { until: ({ length }) => length > 0 }
      )
      yield* heardOnce(`/payouts/${payout.id}/fail`, { reason: "x" })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 10_000, payouts_in_transit: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("of another payout's outcome, by its id: refused, and no outcome at the institution either", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const payouts = [yield* paidOut(key, holding), yield* paidOut(key, { ...holding, amount: 600 })] as const
      for (const { id } of payouts) yield* submittedPayout(key, id)
      const report = { external_id: newKey() }
      yield* simulated(`/payouts/${payouts[0].id}/complete`, report)
      const path = `/operator/v1/simulator/payouts/${payouts[1].id}/complete`
      assertRefused(yield* operate("POST", path, { body: report }), "INVALID_STATE")
      const settled = yield* sql<{
        payout_id: string
      }>`SELECT p.id AS payout_id FROM simulator_payouts s JOIN payouts p ON s.order_id = ${sql.literal(orderIdOf("p"))}
        WHERE s.due_at <= now()`
      assert.notInclude(
        settled.map(({ payout_id }) => payout_id),
        payouts[1].id
      )
    })
  )

  it.effect("BAL-4: a report, its key and its effect are one commit", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000)
      const sql = yield* SqlClient
      const { id } = yield* paidCharge(key, 1000)
      const payout = yield* paidOut(key, holding)
      yield* simulated(`/payouts/${payout.id}/fail`, { reason: "x", external_id: newKey() })
      const contested = yield* paidCharge(key, 1000)
      yield* simulated(`/charges/${contested.id}/infraction`, { reason: "x" }, 201)
      const commits = yield* sql<{ resource: string; report: string; key: string }>`
        SELECT m.xmin::text AS resource, r.xmin::text AS report, coalesce(n.xmin, s.xmin)::text AS key
        FROM (
          SELECT replace(id::text, '-', '') AS subject, xmin FROM charges
          UNION ALL SELECT id::text, xmin FROM payouts
        ) m
        JOIN notifications r ON r.subject = m.subject
        LEFT JOIN notification_keys n ON n.notification_id = r.id
        LEFT JOIN charge_settlements s ON s.end_to_end_id = r.report ->> 'endToEndId' AND r.report ->> '_tag' = 'charge.paid'
        WHERE m.subject IN ${sql.in([id.replaceAll("-", ""), payout.id])}
          OR (m.subject = ${contested.id.replaceAll("-", "")} AND n.key LIKE 'med:%')`
      assert.lengthOf(commits, 3)
      for (const { key: taken, report, resource } of commits) {
        assert.deepStrictEqual([report, taken], [resource, resource])
      }
    })
  )

  it.effect("CHG-9: one id is one payment, of whichever charge it is said", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const [one, other] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 2000 })]
      const body = { external_id: newKey() }
      yield* simulated(`/charges/${one.id}/pay`, body)
      assertRefused(yield* operate("POST", `/operator/v1/simulator/charges/${other.id}/pay`, { body }), "INVALID_STATE")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
      // A notification without effect is recorded, too.
      const sql = yield* SqlClient
      const outcomes = yield* sql<{ outcome: string }>`SELECT outcome FROM notifications
        WHERE subject IN ${sql.in([one.id, other.id].map((id) => id.replaceAll("-", "")))} ORDER BY id`
      assert.deepStrictEqual(outcomes, [{ outcome: "applied" }, { outcome: "ignored" }])
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A report that overtakes the payment", (it) => {
  it.effect.each([{ release_delay: 0 }, { release_delay: 60 }])(
    "DSP-10, OPR-33: a return is kept, and applied when the payment arrives (release delay $release_delay)",
    ({ release_delay }) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { release_delay } })
        const { id } = yield* created(key, { amount: 1000 })
        const waiting = yield* simulated<Charge>(`/charges/${id}/return`, { as: "charged_back" }, 202)
        assert.strictEqual(waiting.status, "pending")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0 })
        const paid = yield* simulated<Charge>(`/charges/${id}/pay`)
        assert.strictEqual(paid.status, "charged_back")
        assert.deepInclude(yield* balanceOf(key), { available: 0, pending: 0 })
        assert.deepStrictEqual(yield* eventStatusesOf(id), [...paidEvents, "charge.pix.charged_back charged_back"])
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-10: a MED, and copies of it: one dispute, and the money is blocked once", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* created(key, { amount: 1000 })
      yield* heardOnce(`/charges/${id}/infraction`, { reason: "x" })
      yield* simulated(`/charges/${id}/pay`)
      assert.strictEqual((yield* retrieve(key, id)).body.status, "infraction")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 1000 })
      const { data } = yield* operated<{ data: ReadonlyArray<Dispute> }>("GET", `/disputes?charge_id=${id}`)
      assert.deepStrictEqual(
        data.map(({ status }) => status),
        ["open"]
      )
      yield* assertLedgerHolds
    })
  )

  it.effect("return and payment at the same moment end in one place", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const made = yield* Effect.forEach(Array.from({ length: 15 }), () => created(key, { amount: 1000 }), {
        concurrency: 15
      })
      // Repeated until it is acknowledged.
      const notify = (path: string, body: Fields) =>
        Effect.repeat(operate("POST", `/operator/v1/simulator/charges/${path}`, { body }), {
          until: ({ status }) => status !== 503
        })
      yield* Effect.forEach(
        made,
        ({ id }) =>
          Effect.all(
            [
              notify(`${id}/pay`, { external_id: `pay ${id}` }),
              notify(`${id}/return`, { as: "refunded", external_id: `return ${id}` })
            ],
            { concurrency: 2 }
          ),
        { concurrency: "unbounded" }
      )
      for (const { id } of made) assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, pending: 0, blocked: 0 })
      yield* assertLedgerHolds
    })
  )
})
