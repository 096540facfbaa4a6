/** Money of exceptions that accounts accepted: contested, returned and refunded where it is. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, retrieve } from "../../support/ChargeRequests.ts"
import { type Dispute, disputeOf } from "../../support/Disputes.ts"
import {
  type Exception,
  exceptionOf,
  exceptionsOf,
  newPix,
  notified,
  paymentOf,
  resolved,
  unallocated
} from "../../support/Exceptions.ts"
import { assertLedgerHolds, eventStatusesOf, ledgerBalancesOf, operated, paidCharge } from "../../support/Money.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

/** A second payment of a paid charge of 1000, accepted for its charge or for another account. */
const accepted = (fields: { readonly amount?: number; readonly accountId?: string } = {}) =>
  Effect.gen(function* () {
    const { accountId, key } = yield* caller
    const { id: chargeId } = yield* paidCharge(key, 1000)
    const payment = paymentOf(chargeId, { amount: fields.amount ?? 1000 })
    yield* notified(payment)
    const { id } = yield* exceptionOf(payment.endToEndId)
    const body = fields.accountId === undefined ? {} : { account_id: fields.accountId }
    yield* resolved(id, { action: "accept", ...body })
    return { id, accountId, key, chargeId, endToEndId: payment.endToEndId! }
  })

const medOf = (endToEndId: string, fields: { readonly amount?: number; readonly externalId?: string } = {}) =>
  ({ _tag: "med.opened", txid: "", endToEndId, externalId: newPix(), reason: "fraud", ...fields }) as const

const returnOf = (endToEndId: string, amount: number, tag: "charge.returned" | "charge.refunded" = "charge.returned") =>
  ({
    _tag: tag,
    txid: "",
    endToEndId,
    externalId: newPix(),
    amount,
    ...(tag === "charge.returned" && { as: "charged_back" as const })
  }) as Parameters<typeof notified>[0]

const lossOf = ({ externalId }: { readonly externalId: string }) =>
  ({ _tag: "med.lost", disputeId: "", externalId }) as const

const disputesOf = (exceptionId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ id: string }>`
      SELECT id FROM disputes WHERE exception_id = ${exceptionId}::uuid ORDER BY id`
    return yield* Effect.forEach(rows, ({ id }) => disputeOf(id))
  })

const refund = (id: string, body: Fields = {}, idempotencyKey = newKey()) =>
  Effect.flatMap(TestService, ({ operate }) =>
    operate<Exception>("POST", `/operator/v1/exceptions/${id}/refund`, { body, idempotencyKey })
  )

/** A refund of accepted money, as the provider's unclear answer leaves it. */
const orderedRefund = Effect.fnUntraced(function* (accountId: string, id: string, cents: number) {
  const sql = yield* SqlClient
  const [order] = yield* sql<{ id: string }>`
    INSERT INTO acquirer_orders (id, kind, exception_id, account_id, end_to_end_id, connection_id, amount, pending, state,
      attempts, due_at, created_at)
    SELECT uuidv7(), 'return', id, account_id, end_to_end_id, connection_id, ${cents}::bigint, 0, 'ordered', 1,
      now() + interval '1 hour', now() FROM acquirer_exceptions WHERE id = ${id}::uuid RETURNING id`
  yield* sql`
    WITH moved AS (
      INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at,
        position, day)
      VALUES (uuidv7(), ${accountId}::uuid, 'available', 'returns_in_transit', ${cents}::bigint, ${id}::uuid, 'exception.refund_ordered', now(),
        1000, now())
    )
    UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'available' THEN -${cents}::bigint ELSE ${cents}::bigint END,
      position = position + CASE kind WHEN 'available' THEN 1 ELSE 0 END
    WHERE owner_id = ${accountId}::uuid AND kind IN ('available', 'returns_in_transit')`
  return order
})

const decided = (dispute: Dispute, as: "med.won" | "med.lost") => notified({ _tag: as, disputeId: dispute.id })

layer(TestService.layer({ settings: { acquirerTimeoutMs: 5000, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("Accepted money", (it) => {
  it.effect("BAL-14, DSP-12, OPR-230: a MED of it blocks the account that has it, and a loss debits it", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const { accountId, chargeId, endToEndId, id, key } = yield* accepted()
      const events = yield* eventStatusesOf(chargeId)
      const med = medOf(endToEndId, { amount: 1000 })
      assert.strictEqual(yield* notified(med), "applied")
      assert.strictEqual(yield* notified(med), "ignored")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 1000 })
      const [dispute] = yield* disputesOf(id)
      assert.deepInclude(dispute, {
        charge_id: null,
        exception_id: id,
        account_id: accountId,
        status: "open",
        amount: 1000
      })
      assert.strictEqual(yield* decided(dispute!, "med.lost"), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
      assert.strictEqual((yield* disputeOf(dispute!.id)).status, "lost")
      // The list of returns reports the same money.
      assert.strictEqual(yield* notified(returnOf(endToEndId, 1000)), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
      assert.strictEqual(yield* unallocated(), before)
      assert.strictEqual((yield* retrieve(key, chargeId)).body.status, "paid")
      assert.deepStrictEqual(yield* eventStatusesOf(chargeId), events)
      assert.deepStrictEqual(yield* eventStatusesOf(dispute!.id), [])
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-14, DSP-5, DSP-12: the opening of a MED whose return came first takes nothing more", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      assert.strictEqual(yield* notified(returnOf(endToEndId, 300)), "applied")
      const med = { ...medOf(endToEndId, { amount: 300 }), isLost: true }
      assert.strictEqual(yield* notified(med), "applied")
      assert.strictEqual(yield* notified(lossOf(med)), "ignored")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1700, blocked: 0 })
      assert.lengthOf(yield* disputesOf(id), 1)
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-14, DSP-7: what a smaller return of a lost MED gives back is blocked for the MEDs that are open", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      yield* orderedRefund(accountId, id, 500)
      const [one, other] = [medOf(endToEndId, { amount: 600 }), medOf(endToEndId, { amount: 400 })]
      for (const each of [one, other, lossOf(one)]) assert.strictEqual(yield* notified(each), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
      assert.strictEqual(yield* notified(returnOf(endToEndId, 450)), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 50 })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-14, DSP-4, DSP-7: a return moves its money; which MED is over, the decision says", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId } = yield* accepted()
      const [one, other] = [medOf(endToEndId, { amount: 300 }), medOf(endToEndId, { amount: 500 })]
      for (const each of [one, other]) yield* notified(each)
      assert.strictEqual(yield* notified(returnOf(endToEndId, 500)), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1200, blocked: 300 })
      assert.strictEqual(yield* notified(lossOf(one)), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 500 })
      assert.strictEqual(yield* notified({ ...lossOf(other), _tag: "med.won" }), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1500, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect.each([{ isLost: true }, { isLost: false }])(
    "BAL-14, DSP-7: a MED's return that leaves nothing ends every MED (one was lost before: $isLost)",
    ({ isLost }) =>
      Effect.gen(function* () {
        const { accountId, endToEndId, id } = yield* accepted()
        const [one, other] = [medOf(endToEndId, { amount: 600 }), medOf(endToEndId, { amount: 400 })]
        for (const each of [one, other, ...(isLost ? [lossOf(one)] : [])])
          assert.strictEqual(yield* notified(each), "applied")
        assert.strictEqual(yield* notified(returnOf(endToEndId, 1000)), "applied")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
        assert.deepStrictEqual(
          (yield* disputesOf(id)).map(({ status }) => status),
          ["lost", "lost"]
        )
        yield* assertLedgerHolds
      })
  )

  it.effect.each([{ isFirst: true }, { isFirst: false }])(
    "BAL-14, DSP-10: of a payment of which a MED's return took a part, and whose rest is accepted, it takes nothing more (MED first: $isFirst)",
    ({ isFirst }) =>
      Effect.gen(function* () {
        const before = yield* unallocated()
        const { accountId } = yield* caller
        const payment = paymentOf("", { amount: 900 })
        yield* notified(payment)
        const endToEndId = payment.endToEndId!
        const [{ id }] = (yield* exceptionsOf(endToEndId)) as [Exception]
        const [med, back] = [medOf(endToEndId, { amount: 300 }), returnOf(endToEndId, 300)]
        for (const each of isFirst ? [med, back] : [back, med]) yield* notified(each)
        yield* resolved(id, { action: "accept", account_id: accountId })
        assert.strictEqual(yield* notified(lossOf(med)), "applied")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 600, blocked: 0 })
        assert.strictEqual(yield* unallocated(), before)
        assert.deepStrictEqual(
          (yield* exceptionsOf(endToEndId)).map(({ kind, status }) => `${kind} ${status}`),
          ["unidentified_payment resolved", "unmatched_dispute resolved"]
        )
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-14, DSP-12: a MED that is won gives the money back; two block at most what is left", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      yield* notified(medOf(endToEndId, { amount: 600 }))
      yield* notified(medOf(endToEndId, { amount: 600 }))
      assert.strictEqual(yield* notified(medOf(endToEndId)), "exception")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 1000 })
      const all = yield* disputesOf(id)
      assert.deepStrictEqual(
        all.map(({ amount }) => amount),
        [600, 400]
      )
      yield* decided(all[0]!, "med.won")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1600, blocked: 400 })
      yield* decided(all[1]!, "med.lost")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1600, blocked: 0 })
      assert.deepInclude((yield* exceptionsOf(endToEndId)).at(-1), { kind: "unmatched_dispute", status: "open" })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-14: a return that the provider reports debits it there; what is beyond is an exception", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const { accountId, endToEndId } = yield* accepted()
      assert.strictEqual(yield* notified(returnOf(endToEndId, 400, "charge.refunded")), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1600 })
      assert.strictEqual(yield* notified(returnOf(endToEndId, 700)), "exception")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0 })
      assert.strictEqual(yield* unallocated(), before - 100)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-82, BAL-14: for an account; a MED that waited blocks the money there", () =>
    Effect.gen(function* () {
      const other = yield* caller
      const payment = paymentOf("", { amount: 900 })
      yield* notified(payment)
      assert.strictEqual(yield* notified(medOf(payment.endToEndId!)), "exception")
      const { id } = (yield* exceptionsOf(payment.endToEndId))[0]!
      assert.deepInclude(yield* resolved(id, { action: "accept", account_id: other.accountId }), {
        status: "resolved",
        action: "accept",
        account_id: other.accountId,
        charge_id: null,
        unallocated: 0
      })
      assert.deepInclude(yield* ledgerBalancesOf(other.accountId), { available: 0, blocked: 900 })
      assert.deepStrictEqual(
        (yield* exceptionsOf(payment.endToEndId)).map(({ kind, status }) => `${kind} ${status}`),
        ["unidentified_payment resolved", "unmatched_dispute resolved"]
      )
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-82: an account that is unknown, or beside a charge, is refused", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* caller
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const payment = paymentOf("", { amount: 900 })
      yield* notified(payment)
      const { id } = yield* exceptionOf(payment.endToEndId)
      // A connection has ledger accounts, too.
      const connection = { account_id: SIMULATOR_CONNECTION }
      for (const body of [{ account_id: chargeId }, connection, { account_id: accountId, charge_id: chargeId }]) {
        const answer = yield* operate("POST", `/operator/v1/exceptions/${id}/resolve`, {
          body: { action: "accept", ...body }
        })
        assertRefused(answer, "VALIDATION_ERROR", ["account_id"])
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
    })
  )

  it.effect("OPR-231: a refund returns it from the account, once for a key, and at most what is not blocked", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      yield* notified(medOf(endToEndId, { amount: 300 }))
      assertRefused(yield* refund(id, { amount: 701 }), "INVALID_STATE")
      assertRefused(yield* refund(id, { amount: 0 }), "AMOUNT_BELOW_MINIMUM", ["amount"])
      const key = newKey()
      for (let times = 0; times < 2; times++) {
        const answer = yield* refund(id, { amount: 500 }, key)
        assert.deepInclude(answer.body, { status: "resolved", action: "accept", failure_reason: null })
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), {
        available: 1200,
        blocked: 300,
        returns_in_transit: 0
      })
      assertRefused(yield* refund(id, { amount: 100 }, key), "IDEMPOTENCY_KEY_REUSED")
      assert.strictEqual((yield* refund(id)).status, 200)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 300 })
      assertRefused(yield* refund(id), "INVALID_STATE")
      assert.strictEqual((yield* exceptionsOf(endToEndId)).length, 1)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-231: a refund that fails gives the money back, first to the MED that contests it", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      const order = yield* orderedRefund(accountId, id, 1000)
      assertRefused(yield* refund(id), "INVALID_STATE")
      assert.strictEqual(yield* notified(medOf(endToEndId, { amount: 300 })), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0, returns_in_transit: 1000 })
      assert.strictEqual(
        yield* notified({ _tag: "return.failed", orderId: order!.id, reason: "account closed" }),
        "applied"
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1700, blocked: 300, returns_in_transit: 0 })
      assert.deepInclude(yield* exceptionOf(endToEndId), { status: "resolved", failure_reason: "account closed" })
      yield* assertLedgerHolds
    })
  )

  it.effect.each([{ tag: "charge.refunded" }, { tag: "charge.returned" }] as const)(
    "BAL-14, OPR-231: a return that leaves the bank nothing for a refund makes it fail ($tag)",
    ({ tag }) =>
      Effect.gen(function* () {
        const before = yield* unallocated()
        const { accountId, endToEndId, id } = yield* accepted()
        const order = yield* orderedRefund(accountId, id, 700)
        assert.strictEqual(yield* notified(returnOf(endToEndId, 1000, tag)), "applied")
        const found = yield* operated<Exception>("GET", `/exceptions/${id}`)
        assert.strictEqual(found.failure_reason, "the provider returned the money otherwise")
        assert.strictEqual(
          yield* notified({ _tag: "return.failed", orderId: order!.id, reason: "no money" }),
          "ignored"
        )
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, returns_in_transit: 0 })
        assert.strictEqual(yield* unallocated(), before)
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-12, OPR-231: a MED that was lost while its money was in a refund takes it when that fails", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      const order = yield* orderedRefund(accountId, id, 700)
      const med = medOf(endToEndId, { amount: 900 })
      for (const each of [med, lossOf(med)]) assert.strictEqual(yield* notified(each), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, returns_in_transit: 700 })
      const failed = { _tag: "return.failed", orderId: order!.id, reason: "no money" } as const
      assert.strictEqual(yield* notified(failed), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1100, returns_in_transit: 0 })
      // The list of returns reports the same money.
      assert.strictEqual(yield* notified(returnOf(endToEndId, 900)), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1100, returns_in_transit: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-7, OPR-231: the return of a MED that was lost meanwhile makes a refund of its money fail", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const { accountId, endToEndId, id } = yield* accepted()
      yield* orderedRefund(accountId, id, 1000)
      const med = medOf(endToEndId, { amount: 1000 })
      for (const each of [med, lossOf(med), returnOf(endToEndId, 1000)])
        assert.strictEqual(yield* notified(each), "applied")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, returns_in_transit: 0 })
      assert.strictEqual(yield* unallocated(), before)
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-7, OPR-231: a refund of all that is left ends the MEDs that are open", () =>
    Effect.gen(function* () {
      const { accountId, endToEndId, id } = yield* accepted()
      const order = yield* orderedRefund(accountId, id, 1000)
      assert.strictEqual(yield* notified(medOf(endToEndId, { amount: 1000 })), "applied")
      assert.strictEqual(yield* notified({ _tag: "return.completed", orderId: order!.id }), "applied")
      assert.deepStrictEqual(
        (yield* disputesOf(id)).map(({ status }) => status),
        ["lost"]
      )
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000, blocked: 0, returns_in_transit: 0 })
    })
  )

  it.effect("OPR-231: of what pays a charge, or was not accepted, there is none", () =>
    Effect.gen(function* () {
      const payment = paymentOf("", { amount: 900 })
      yield* notified(payment)
      const { id } = yield* exceptionOf(payment.endToEndId)
      assertRefused(yield* refund(id), "INVALID_STATE")
      assertRefused(yield* refund(newKey()), "NOT_FOUND")
      yield* operated("GET", `/exceptions/${id}`)
    })
  )
})
