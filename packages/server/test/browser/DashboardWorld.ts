/** Something for every page of the dashboard to show. */
import * as Effect from "effect/Effect"
import { created } from "../support/ChargeRequests.ts"
import { med } from "../support/Disputes.ts"
import { funded, paidCharge, paidOut } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually, receiver } from "../support/Receiver.ts"
import { deliveriesOf, registered } from "../support/Webhooks.ts"

export const makeDashboardWorld = Effect.gen(function* () {
  const { accountId, applicationId, key } = yield* funded(1_250_000, { auto_payout_enabled: false })
  const { url } = yield* receiver((_, response) => response.writeHead(503).end("later"))
  yield* registered(key, { url })
  const pending = yield* created(key, { amount: 12_990, reference: "order-1001" })
  const paid = yield* paidCharge(key, 4590, { reference: "order-1002" })
  const contested = yield* paidCharge(key, 8990, { reference: "order-1003" })
  const dispute = yield* med(contested.id)
  const payout = yield* paidOut(key, { amount: 25_000, reference: "supplier 17" })
  const { id: operatorId } = yield* makeOperator("operator")
  const [delivery] = yield* eventually(
    deliveriesOf(`resource_id=${paid.id}`),
    (rows) => rows.length > 0 && rows.every(({ attempts_made }) => attempts_made > 0)
  )
  return {
    accountId,
    applicationId,
    operatorId,
    chargeId: paid.id,
    pendingId: pending.id,
    disputeId: dispute.id,
    payoutId: payout.id,
    deliveryId: delivery!.id
  }
})
