/** Orders that the provider gave no definite answer to, 25 hours after their first request. */
import type { Refund } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { AcceptedMoney } from "../../src/payments/exceptions/AcceptedMoney.ts"
import { ExceptionReturns } from "../../src/payments/exceptions/ExceptionReturns.ts"
import { ExceptionStore } from "../../src/payments/exceptions/ExceptionStore.ts"
import { newEndToEndId } from "../../src/providers/simulator/SimulatedInstitution.ts"
import type { Exception } from "./Exceptions.ts"
import { funded, holding, operated, paidCharge, paidOut, submittedPayout } from "./Money.ts"
import { type Fields, TestService } from "./TestService.ts"

/** The payout of a caller who has 5000 cents, of 5000 cents. */
export const overduePayoutOf = Effect.gen(function* () {
  const sql = yield* SqlClient
  const caller = yield* funded(5000)
  const { id } = yield* paidOut(caller.key, { ...holding, amount: 5000 })
  yield* submittedPayout(caller.key, id)
  yield* sql`UPDATE payouts SET requested_at = requested_at - interval '25 hours',
    processed_at = processed_at - interval '25 hours' WHERE id = ${id}::uuid`
  return { ...caller, id }
})

export const overduePayout = Effect.map(overduePayoutOf, ({ id }) => id)

/** The refund of a charge of 1000 cents, or of this amount of it. */
export const overdueRefundOf = Effect.fnUntraced(function* (account: Fields = {}, amount = 1000) {
  const { makeCaller } = yield* TestService
  const caller = yield* makeCaller({ account })
  const { id: chargeId } = yield* paidCharge(caller.key, 1000)
  const { refunds } = yield* operated<{ refunds: ReadonlyArray<Refund> }>("POST", `/charges/${chargeId}/refund`, {
    amount,
    description: "hold@simulator.test"
  })
  const { id } = refunds[0]!
  yield* askedLongAgo(id)
  return { ...caller, chargeId, id }
})

export const overdueRefund = Effect.map(overdueRefundOf(), ({ id }) => id)

/** An exception of 3000 cents whose return was ordered. */
export const overdueReturnOf = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { makeCaller } = yield* TestService
  const caller = yield* makeCaller()
  const charge = yield* paidCharge(caller.key, 3000)
  const endToEndId = newEndToEndId(Date.UTC(2026, 10, 21))
  // A second payment of the charge.
  yield* operated("POST", `/simulator/charges/${charge.id}/pay`, { end_to_end_id: endToEndId }, 202)
  const { data } = yield* operated<{ data: ReadonlyArray<Exception> }>("GET", "/exceptions")
  const { connection_id, id } = data.find(({ end_to_end_id }) => end_to_end_id === endToEndId)!
  const [order] = yield* sql<{ id: string }>`
    INSERT INTO acquirer_orders (id, kind, exception_id, connection_id, end_to_end_id, amount, pending, state, requested_at,
      created_at)
    VALUES (uuidv7(), 'return', ${id}::uuid, ${connection_id}::uuid, ${endToEndId}, 3000, 0, 'ordered', now(), now())
    RETURNING id`
  yield* sql`UPDATE acquirer_exceptions SET action = 'return', created_at = created_at - interval '25 hours'
    WHERE id = ${id}::uuid`
  yield* askedLongAgo(order!.id)
  return { ...caller, id }
})

export const overdueReturn = Effect.map(overdueReturnOf, ({ id }) => id)

/** The refund of some cents of an exception that an account accepted. */
export const overdueRefundOfAccepted = Effect.fnUntraced(function* (exceptionId: string, amount: number) {
  const sql = yield* SqlClient
  const exceptions = yield* ExceptionStore
  const money = yield* AcceptedMoney
  const returns = yield* ExceptionReturns
  const { id } = yield* Effect.gen(function* () {
    const { exception } = (yield* money.of((yield* exceptions.lock(exceptionId))!))!
    const order = yield* returns.orderRefund(exception, amount)
    yield* money.move(exception, "exception.refund_ordered", [
      { debit: "available", credit: "returns_in_transit", amount }
    ])
    return order
  }).pipe(sql.withTransaction)
  yield* askedLongAgo(id)
})

const askedLongAgo = Effect.fnUntraced(function* (orderId: string) {
  const sql = yield* SqlClient
  yield* sql`UPDATE acquirer_orders SET requested_at = now() - interval '25 hours', created_at = now() - interval '25 hours'
    WHERE id = ${orderId}::uuid`
  yield* sql`UPDATE refunds SET created_at = created_at - interval '25 hours' WHERE id = ${orderId}::uuid`
})
