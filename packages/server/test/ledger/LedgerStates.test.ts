/** The verification of states: each kind of row that is changed by hand is reported. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { med } from "../support/Disputes.ts"
import { exceptionOf, notified, paymentOf, resolved, unallocated } from "../support/Exceptions.ts"
import {
  assertLedgerHolds,
  funded,
  holding,
  paidCharge,
  paidOut,
  simulated,
  submittedPayout,
  verification
} from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

/** Changes rows by hand: exactly this is reported, and nothing once they are changed back. */
const reports = (
  change: string,
  back: string,
  ownerId: string,
  name: string,
  [kept, computed]: readonly [number, number]
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* assertLedgerHolds
    assert.lengthOf(yield* sql.unsafe(`${change} RETURNING 1`), 1)
    const { consistent, differences, states } = yield* verification
    assert.deepStrictEqual(
      { consistent, differences, states },
      { consistent: false, differences: [], states: [{ account: { account_id: ownerId, name }, kept, computed }] }
    )
    yield* sql.unsafe(back)
    yield* assertLedgerHolds
  })

layer(TestService.layer({ settings }), { excludeTestServices: true })("The states of the ledger", (it) => {
  it.effect("BAL-15: a payout whose state is not where its money is", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* funded(5000, { payout_fee: { fixed: 25, basis_points: 0 } })
      const { id } = yield* paidOut(key, { amount: 1000, ...holding })
      yield* submittedPayout(key, id)
      const set = (status: string) => `UPDATE payouts SET status = '${status}' WHERE id = '${id}'`
      yield* reports(set("completed"), set("processing"), accountId, "payouts_in_transit", [1025, 0])
      const cents = (amount: number) => `UPDATE payouts SET amount = ${amount} WHERE id = '${id}'`
      yield* reports(cents(900), cents(1000), accountId, "payouts_in_transit", [1025, 925])
    })
  )

  it.effect("BAL-15: two payouts of one amount whose states are exchanged: the open one has no money", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* funded(5000)
      const open = yield* paidOut(key, { amount: 1000, ...holding })
      const done = yield* paidOut(key, { amount: 1000, ...holding })
      yield* submittedPayout(key, open.id)
      yield* simulated(`/payouts/${done.id}/complete`)
      const sql = yield* SqlClient
      yield* assertLedgerHolds
      yield* sql`
        UPDATE payouts SET status = CASE WHEN id = ${open.id}::uuid THEN 'completed' ELSE 'processing' END,
          -- The bank is not asked for the outcome meanwhile.
          due_at = now() + interval '1 hour'
        WHERE account_id = ${accountId}::uuid`
      assert.deepInclude(yield* verification, {
        consistent: false,
        differences: [],
        states: [{ account: { account_id: accountId, name: "payouts_in_transit" }, kept: 1000, computed: 0 }]
      })
      yield* sql`
        UPDATE payouts SET status = CASE WHEN id = ${open.id}::uuid THEN 'processing' ELSE 'completed' END
        WHERE account_id = ${accountId}::uuid`
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-15: a refund, or a return of accepted money, whose state is not where its money is", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId } = yield* funded(5000)
      // As an unclear answer of the provider leaves both.
      yield* sql`
        WITH moved AS (
          INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at,
            position, day)
          VALUES (uuidv7(), ${accountId}::uuid, 'available', 'returns_in_transit', 700, uuidv7(), 'charge.refund_ordered', now(),
            1000, now())
        ), refunded AS (
          INSERT INTO refunds (id, charge_id, account_id, origin, status, amount, created_at)
          VALUES (uuidv7(), uuidv7(), ${accountId}::uuid, 'operator', 'processing', 400, now())
        ), ordered AS (
          INSERT INTO acquirer_orders (id, kind, exception_id, account_id, amount, pending, state, created_at)
          VALUES (uuidv7(), 'return', uuidv7(), ${accountId}::uuid, 300, 0, 'ordered', now())
        )
        UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'available' THEN -700 ELSE 700 END,
          position = position + CASE kind WHEN 'available' THEN 1 ELSE 0 END
        WHERE owner_id = ${accountId}::uuid AND kind IN ('available', 'returns_in_transit')`
      const refund = (status: string) => `UPDATE refunds SET status = '${status}' WHERE account_id = '${accountId}'`
      yield* reports(refund("failed"), refund("processing"), accountId, "returns_in_transit", [700, 300])
      const order = (state: string) => `UPDATE acquirer_orders SET state = '${state}' WHERE account_id = '${accountId}'`
      yield* reports(order("done"), order("ordered"), accountId, "returns_in_transit", [700, 400])
    })
  )

  it.effect("BAL-15: a release whose amount is not in `pending`", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { release_delay: 3600 } })
      const { id } = yield* paidCharge(key, 1000)
      const set = (amount: number) => `UPDATE releases SET amount = ${amount} WHERE charge_id = '${id}'`
      yield* reports(set(600), set(1000), accountId, "pending", [1000, 600])
    })
  )

  it.effect("BAL-15: a dispute whose state is not where its money is: of a charge, and of accepted money", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId, { amount: 600 })
      const set = (dispute: string, status: string) =>
        `UPDATE disputes SET status = '${status}' WHERE id = '${dispute}'`
      yield* reports(set(id, "won"), set(id, "open"), accountId, "blocked", [600, 0])
      const more = (amount: number) => `UPDATE disputes SET amount = ${amount} WHERE id = '${id}'`
      yield* reports(more(900), more(600), accountId, "blocked", [600, 900])
      const payment = paymentOf(chargeId, { amount: 500 })
      yield* notified(payment)
      yield* resolved((yield* exceptionOf(payment.endToEndId)).id, { action: "accept" })
      const { endToEndId } = payment
      yield* notified({ _tag: "med.opened", txid: "", endToEndId: endToEndId!, externalId: endToEndId!, reason: "x" })
      const sql = yield* SqlClient
      const [other] = yield* sql<{ id: string }>`SELECT id FROM disputes WHERE external_id = ${endToEndId!}`
      yield* reports(set(other!.id, "lost"), set(other!.id, "open"), accountId, "blocked", [1100, 600])
    })
  )

  it.effect("BAL-15: an exception whose money is not in `unallocated`", () =>
    Effect.gen(function* () {
      const payment = paymentOf("", { amount: 900 })
      yield* notified(payment)
      const { connection_id, id } = yield* exceptionOf(payment.endToEndId)
      const held = yield* unallocated()
      const set = (cents: number) => `UPDATE acquirer_exceptions SET unallocated = ${cents} WHERE id = '${id}'`
      yield* reports(set(0), set(900), connection_id, "unallocated", [held, held - 900])
    })
  )
})
