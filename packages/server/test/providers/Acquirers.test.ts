/** The whole service over HTTP, with each acquirer alike. */
import { assert, layer } from "@effect/vitest"
import type { OperatorCharge } from "@pix-payments/api/operator/Charges"
import * as Effect from "effect/Effect"
import { acquirers } from "../support/Acquirers.ts"
import { create, created, retrieve } from "../support/ChargeRequests.ts"
import { connectedServiceLayer } from "../support/ConnectedBank.ts"
import { disputeOf, paidEvents } from "../support/Disputes.ts"
import { exceptionOf, unallocated } from "../support/Exceptions.ts"
import {
  assertLedgerHolds,
  eventStatusesOf,
  ledgerBalancesOf,
  operated,
  paidOut,
  payoutReaching,
  submittedPayout
} from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { newKey } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

type Acquirer = Effect.Success<(typeof acquirers)[number]["make"]>

const settings = { acquirerTimeoutMs: 10_000, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

const chargeOf = (id: string) => operated<OperatorCharge>("GET", `/charges/${id}`)

const chargeReaching = (id: string, status: string) => eventually(chargeOf(id), (charge) => charge.status === status)

/** A charge of `amount` that its payer has paid. */
const paid = Effect.fnUntraced(function* ({ key, pay, reported }: Acquirer, amount: number) {
  const { id } = yield* created(key, { amount })
  const payment = yield* pay(id, amount)
  yield* reported
  yield* chargeReaching(id, "paid")
  return { id, payment }
})

/** The ledger is consistent, and the acquirer has the money that the ledger says it has. */
const assertMoneyAgrees = Effect.fnUntraced(function* (
  { accountId, balance, breaches, connectionId }: Acquirer,
  expected: Readonly<Record<string, number>>,
  unallocatedBefore: number
) {
  yield* assertLedgerHolds
  const balances = yield* ledgerBalancesOf(accountId)
  const arrived = (yield* unallocated(connectionId)) - unallocatedBefore
  const nothing = { available: 0, pending: 0, blocked: 0, returns_in_transit: 0, unallocated: 0 }
  assert.deepInclude({ ...nothing, ...balances, unallocated: arrived }, { ...nothing, ...expected })
  const ours = Object.values(balances).reduce((sum, each) => sum + each, arrived)
  const theirs = balance()
  if (theirs !== undefined) assert.strictEqual(ours, theirs)
  assert.deepStrictEqual(breaches(), [])
})

layer(connectedServiceLayer(settings), { excludeTestServices: true })("The service", (it) => {
  it.effect.each(acquirers)(
    "CHG-9, IDEM-4, OPR-95: creates, repeats, retrieves and settles a charge, and delivers its event ($name)",
    ({ make }) =>
      Effect.gen(function* () {
        const acquirer = yield* make
        const { connectionId, key, pay, reported } = acquirer
        const before = yield* unallocated(connectionId)
        const hook = yield* receiver()
        yield* registered(key, { url: hook.url, events: ["charge.pix.paid"] })
        const idempotencyKey = newKey()
        const first = yield* create(key, {}, idempotencyKey)
        assert.strictEqual(first.status, 201, first.text)
        assert.strictEqual(first.body.status, "pending")
        assert.match(first.body.pix.br_code ?? "", /^000201.*6304[0-9A-F]{4}$/)
        const { id } = first.body
        const replay = yield* create(key, {}, idempotencyKey)
        assert.deepStrictEqual([replay.status, replay.body], [201, first.body])
        assert.deepStrictEqual((yield* retrieve(key, id)).body, first.body)

        const payment = yield* pay(id, 1000)
        yield* reported
        yield* chargeReaching(id, "paid")
        const { body } = yield* retrieve(key, id)
        assert.deepInclude(body, { status: "paid", paid_at: payment.paidAt })
        assert.strictEqual(body.pix.end_to_end_id, payment.endToEndId)
        yield* eventually(
          Effect.sync(() => hook.received),
          ({ length }) => length > 0
        )
        const delivered = hook.received.map(({ body: { data, event } }) => [event, data.id, data.status])
        assert.deepStrictEqual(delivered, [["charge.pix.paid", id, "paid"]])
        yield* assertMoneyAgrees(acquirer, { available: 1000 }, before)
      })
  )

  it.effect.each(acquirers)(
    "BAL-11, CHG-9: a second payment and another amount are exceptions, and a canceled charge is withdrawn ($name)",
    ({ make }) =>
      Effect.gen(function* () {
        const acquirer = yield* make
        const { connectionId, isWithdrawn, key, pay, reported } = acquirer
        const before = yield* unallocated(connectionId)
        const twice = yield* paid(acquirer, 1000)
        const again = yield* pay(twice.id, 1000)
        yield* reported
        assert.deepInclude(yield* exceptionOf(again.endToEndId), {
          kind: "second_payment",
          amount: 1000,
          charge_id: twice.id
        })

        const other = yield* created(key)
        const wrong = yield* pay(other.id, 700)
        yield* reported
        assert.deepInclude(yield* exceptionOf(wrong.endToEndId), {
          kind: "wrong_amount",
          amount: 700,
          expected_amount: 1000
        })
        assert.strictEqual((yield* retrieve(key, other.id)).body.status, "pending")

        const canceled = yield* created(key)
        yield* operated("POST", `/charges/${canceled.id}/cancel`)
        assert.strictEqual((yield* retrieve(key, canceled.id)).body.status, "canceled")
        assert.isTrue(isWithdrawn(canceled.id))
        yield* assertMoneyAgrees(acquirer, { available: 1000, unallocated: 1700 }, before)
      })
  )

  it.effect.each(acquirers)(
    "BAL-9, BAL-10, OPR-70: refunds a charge in parts, and a charge whole; the event comes with the last part ($name)",
    ({ make }) =>
      Effect.gen(function* () {
        const acquirer = yield* make
        const before = yield* unallocated(acquirer.connectionId)
        const refunded = (id: string, amount: number | undefined, total: number) =>
          Effect.gen(function* () {
            yield* operated("POST", `/charges/${id}/refund`, amount === undefined ? {} : { amount })
            yield* acquirer.reported
            return yield* eventually(chargeOf(id), ({ refunded_amount }) => refunded_amount === total)
          })
        const parts = yield* paid(acquirer, 1000)
        assert.strictEqual((yield* refunded(parts.id, 300, 300)).status, "paid")
        assert.deepStrictEqual(yield* eventStatusesOf(parts.id), paidEvents)
        const rest = yield* refunded(parts.id, undefined, 1000)
        assert.strictEqual(rest.status, "refunded")
        assert.deepStrictEqual(
          rest.refunds.map(({ amount, origin, status }) => [origin, status, amount]),
          [
            ["operator", "completed", 300],
            ["operator", "completed", 700]
          ]
        )
        const whole = yield* paid(acquirer, 500)
        assert.strictEqual((yield* refunded(whole.id, undefined, 500)).status, "refunded")
        for (const { id } of [parts, whole]) {
          assert.deepStrictEqual(yield* eventStatusesOf(id), [...paidEvents, "charge.pix.refunded refunded"])
        }
        yield* assertMoneyAgrees(acquirer, { available: 0 }, before)
      })
  )

  it.effect.each(acquirers)(
    "PAY-4, OPR-95: completes a payout, and gives back the money of one that failed ($name)",
    ({ make }) =>
      Effect.gen(function* () {
        const acquirer = yield* make
        const { completePayout, connectionId, failPayout, key, recipient, reported } = acquirer
        const before = yield* unallocated(connectionId)
        yield* paid(acquirer, 2000)
        const sent = yield* paidOut(key, { amount: 600, pix_key: recipient })
        const refused = yield* paidOut(key, { amount: 500, pix_key: recipient })
        yield* submittedPayout(key, sent.id)
        yield* submittedPayout(key, refused.id)
        yield* completePayout(sent.id)
        yield* failPayout(refused.id)
        yield* reported
        assert.isNotNull((yield* payoutReaching(key, sent.id, "completed")).end_to_end_id)
        yield* payoutReaching(key, refused.id, "failed")
        yield* assertMoneyAgrees(acquirer, { available: 1400 }, before)
      })
  )

  it.effect.each(acquirers)(
    "DSP-1, DSP-3, DSP-4: blocks a dispute's amount, defends it, and gives it back or loses it ($name)",
    ({ make }) =>
      Effect.gen(function* () {
        const acquirer = yield* make
        const { accountId, connectionId, defended, lose, openDispute, win } = acquirer
        const before = yield* unallocated(connectionId)
        const disputed = Effect.gen(function* () {
          const { id, payment } = yield* paid(acquirer, 1000)
          const dispute = yield* openDispute(id, 600, payment)
          assert.strictEqual((yield* chargeOf(id)).status, "infraction")
          assert.strictEqual((yield* ledgerBalancesOf(accountId))["blocked"], 600)
          yield* operated("POST", `/disputes/${dispute.id}/defense`, { text: "The order was delivered." })
          yield* defended(dispute)
          return { chargeId: id, dispute }
        })
        const won = yield* disputed
        yield* win(won.dispute)
        yield* eventually(disputeOf(won.dispute.id), ({ status }) => status === "won")
        yield* chargeReaching(won.chargeId, "paid")
        const lost = yield* disputed
        yield* lose(lost.dispute)
        yield* eventually(disputeOf(lost.dispute.id), ({ status }) => status === "lost")
        const charge = yield* chargeReaching(lost.chargeId, "charged_back")
        assert.strictEqual(charge.refunded_amount, 600)
        yield* assertMoneyAgrees(acquirer, { available: 1400 }, before)
      })
  )

  it.effect.each(acquirers)(
    "DSP-5, BAL-10: takes a return that the acquirer made by itself, without a dispute before it ($name)",
    ({ make }) =>
      Effect.gen(function* () {
        const acquirer = yield* make
        const { connectionId, giveBack, reported } = acquirer
        const before = yield* unallocated(connectionId)
        const { id, payment } = yield* paid(acquirer, 1000)
        yield* giveBack(id, payment, 300)
        yield* reported
        const charge = yield* chargeReaching(id, "charged_back")
        assert.deepStrictEqual(
          charge.refunds.map(({ amount, origin, status }) => [origin, status, amount]),
          [["provider", "completed", 300]]
        )
        yield* assertMoneyAgrees(acquirer, { available: 700 }, before)
      })
  )
})
