/**
 * Operators' refunds, sent to the provider: the return of a paid charge's money, or of a part of it (CHG-26).
 *
 * Guarantees:
 * - an order is stored before the provider is asked, outside of transactions. Of two orders of one charge at the same
 *   time one is stored, the other is refused;
 * - the money goes to `returns_in_transit` in the commit of the order, so that it cannot be spent twice, and on to the payer,
 *   or back where it was, in the commit of the provider's final answer (BAL-9);
 * - an unclear answer is not a refusal: the order is repeated under its id until the answer is final, by any process, also
 *   after a crash between the provider's answer and its commit. Nor is the refusal of a repeated request, while the request
 *   before it may still arrive, or once one was accepted.
 *
 * Rules: CHG-26, BAL-5, BAL-6, BAL-9, BAL-10, OPR-20, OPR-70 to OPR-73.
 */
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { type InsufficientBalanceError, type InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { Acquirer, type Provider, type ReturnOutcome } from "../../providers/Acquirer.ts"
import { ChangedMeanwhile, LateOutcomes, lateFrom } from "../../providers/LateOutcomes.ts"
import { claimReturn } from "../../providers/NotificationStore.ts"
import * as OrderLoop from "../../providers/OrderLoop.ts"
import { type ChargeOrder, isChargeOrder, type Leased, OrderStore } from "../../providers/OrderStore.ts"
import { Cancellations } from "../charges/Cancellations.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { type RefundRequest, Refunds } from "./Refunds.ts"
import { RefundStore } from "./RefundStore.ts"

/** The provider refused the refund, whose money is back where it was. */
export class RefundRejected extends Data.TaggedError("RefundRejected")<{
  readonly chargeId: string
  readonly reason: string
}> {}

export class RefundOrders extends Context.Service<
  RefundOrders,
  {
    /**
     * Returns money of a charge that is `paid` or in `infraction` to its payer, and gives the charge after the provider's first answer: the refund
     * may be in progress still. `audited` runs in the transaction of the order, with the refund's id.
     */
    readonly refund: <E = never, R = never>(
      chargeId: string,
      request?: RefundRequest,
      audited?: (refundId: string) => Effect.Effect<void, SqlError | E, R>
    ) => Effect.Effect<
      StoredCharge,
      NotFoundError | InvalidStateError | InsufficientBalanceError | RefundRejected | Unavailable | E,
      R
    >
    /** Ends an open refund as the provider reports it, in a transaction. */
    readonly settle: (
      order: ChargeOrder,
      outcome: ReturnOutcome
    ) => Effect.Effect<void, NotFoundError | ChangedMeanwhile | SqlError>
    /**
     * Claims orders about charges whose answer is not final, to repeat them: cancellations too, because both share the calls that
     * a connection may have in flight.
     */
    readonly claimDue: OrderLoop.ClaimDue
  }
>()("@pix-payments/server/RefundOrders") {
  static readonly layer = Layer.effect(
    RefundOrders,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const charges = yield* ChargeStore
      const orders = yield* OrderStore
      const money = yield* LockedCharges
      const cancellations = yield* Cancellations
      const refunds = yield* Refunds
      const late = yield* LateOutcomes
      const store = yield* RefundStore
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + OrderLoop.LEASE_MARGIN_MS

      /** Commits the provider's final answer to an open order. False where the order has ended. */
      const finish = Effect.fnUntraced(
        function* (order: ChargeOrder, answer: ReturnOutcome | OrderLoop.Refused) {
          const locked = yield* money.lock(order.chargeId)
          if (locked?.order?.id !== order.id) return false
          if (answer._tag === "Refused" && !OrderLoop.isRefusalFinal(order, locked.order)) return true
          // A report of the same return is a copy.
          if (answer._tag === "Completed") yield* claimReturn(sql, order, answer.returnId)
          yield* refunds.end(
            locked,
            locked.order,
            answer._tag === "Refused" ? { _tag: "Failed", reason: answer.reason } : answer
          )
          return true
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      const askFor = Effect.fnUntraced(function* (
        provider: Provider,
        { amount, chargeId, endToEndId, id }: ChargeOrder
      ) {
        const { description } = yield* Effect.catchTag(store.get(id), "NotFoundError", Effect.die)
        return yield* provider.orderReturn({ id, txid: txidFromId(chargeId), endToEndId, amount, description })
      })

      /** Asks the provider and commits its final answer; another one leaves the order open. */
      const execute = Effect.fnUntraced(function* (order: Leased<ChargeOrder>) {
        const asked = Effect.flatMap(acquirer.providerFor(order.connectionId), (provider) => askFor(provider, order))
        const answer = yield* OrderLoop.answerTo(order, asked)
        if (answer === undefined) return yield* orders.askAgain(order)
        if (answer._tag === "Accepted") return yield* orders.askAgain(order, "accepted")
        const isEnded = yield* finish(order, answer)
        // The refusal of a request says nothing of an order that has ended.
        if (!isEnded && answer._tag !== "Refused") yield* late.answered.return(order.id, lateFrom(answer))
      })

      return RefundOrders.of({
        refund: Effect.fn("RefundOrders.refund")(function* (chargeId, request = {}, audited = () => Effect.void) {
          const order = yield* refunds.order(chargeId, request, leaseMs).pipe(
            Effect.tap(({ id }) => audited(id)),
            sql.withTransaction,
            runToCompletion(sql)
          )
          yield* execute(order)
          // A report of the provider may have ended it before the call.
          const { failureReason, status } = yield* store.get(order.id)
          if (status === "failed") {
            return yield* new RefundRejected({ chargeId: order.chargeId, reason: failureReason ?? "" })
          }
          return (yield* charges.find(order.chargeId)) ?? (yield* new NotFoundError())
        }),

        settle: Effect.fn("RefundOrders.settle")(function* (order, outcome) {
          const locked = yield* money.lock(order.chargeId)
          if (locked === undefined) return yield* new NotFoundError()
          if (locked.order?.id !== order.id) return yield* new ChangedMeanwhile()
          yield* refunds.end(locked, locked.order, outcome)
        }),

        claimDue: OrderLoop.claimDue(orders, ["refund", "cancel"], leaseMs, (order) => {
          if (!isChargeOrder(order)) return Effect.void
          return order.kind === "cancel" ? cancellations.repeat(order) : execute(order)
        })
      })
    })
  )
}
