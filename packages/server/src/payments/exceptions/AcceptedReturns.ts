/**
 * Returns of money that an account accepted: those that the provider reports, and the ends of those that the service ordered.
 *
 * Guarantees:
 * - each return that the provider reports debits the money in the account that has it; an open refund that the provider then has
 *   no money for has failed;
 * - what a refund that failed gives back is first of the MEDs that claim it;
 * - where nothing is left, every MED ends;
 * - no charge changes its state, and there is no event;
 * - the return of a MED and its loss, which two lists of the provider report, are the same money.
 *
 * Every effect here runs in the caller's transaction.
 *
 * Rules: BAL-14, DSP-7, DSP-12, OPR-231.
 */
import { type ChargeFunds, inAccount, leftOf, splitLoss, splitReturn } from "@pix-payments/domain/ChargeMoney"
import { medOfReturn } from "@pix-payments/domain/Dispute"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import type { ReturnOutcome } from "../../providers/Acquirer.ts"
import type { Returned as Reported } from "../../providers/AcquirerNotification.ts"
import { OrderStore } from "../../providers/OrderStore.ts"
import { contestedByOthers, isOpen } from "../disputes/DisputeDecision.ts"
import { newDispute } from "../disputes/DisputeResource.ts"
import { DisputeStore } from "../disputes/DisputeStore.ts"
import type { StoredDispute } from "../disputes/DisputeTable.ts"
import { type Accepted, AcceptedMoney, given } from "./AcceptedMoney.ts"
import { contestedException, ExceptionDisputes } from "./ExceptionDisputes.ts"

/** What is read of the report of a return. */
type Returned = Pick<Reported, "_tag" | "externalId" | "atMs">

export class AcceptedReturns extends Context.Service<
  AcceptedReturns,
  {
    /** Takes a return of these cents, or of all that is left; how many the account does not have. */
    readonly take: (
      accepted: Accepted,
      reversal: Returned,
      amount: number | undefined
    ) => Effect.Effect<number, SqlError>
    /** Ends a refund of these cents: they go on to the payer, or back. */
    readonly endRefund: (accepted: Accepted, amount: number, outcome: ReturnOutcome) => Effect.Effect<void, SqlError>
    /** Notes a MED's return that was taken before the money was accepted. */
    readonly note: (accepted: Accepted, reversal: Returned, amount: number) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/AcceptedReturns") {
  static readonly layer = Layer.effect(
    AcceptedReturns,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const orders = yield* OrderStore
      const disputes = yield* DisputeStore
      const { decide } = yield* ExceptionDisputes
      const money = yield* AcceptedMoney

      /** Nothing is left of the money. */
      const loseOpen = Effect.fnUntraced(function* (exceptionId: string) {
        for (const dispute of yield* disputes.lockOfException(exceptionId)) {
          if (isOpen(dispute)) yield* decide(dispute, "lost")
        }
      })

      const failRefund = Effect.fnUntraced(function* ({ exception, funds }: Accepted, amount: number, reason: string) {
        const ended = { ...exception, failureReason: reason }
        const all = yield* disputes.lockOfException(exception.id)
        let rest = amount
        // A MED that was lost while its cents were in the refund.
        for (const lost of all.filter(isUnreported)) {
          const taken = Math.min(rest, lost.amount - lost.returned)
          if (taken <= 0) continue
          const given = { debit: "returns_in_transit", credit: "acquirer", amount: taken } as const
          yield* money.move(ended, "exception.charged_back", [given], { disputeId: lost.id })
          yield* disputes.put({ ...lost, returned: lost.returned + taken }, undefined)
          rest -= taken
        }
        const blocked = Math.min(rest, Math.max(0, contestedByOthers(all, undefined) - funds.blocked))
        yield* money.move(ended, "exception.refund_failed", [
          { debit: "returns_in_transit", credit: "blocked", amount: blocked },
          { debit: "returns_in_transit", credit: "available", amount: rest - blocked }
        ])
        if (amount - rest === leftOf(funds)) yield* loseOpen(exception.id)
        return ended
      })

      /** The provider has no money left for the open refund. */
      const failOpenRefund = Effect.fnUntraced(function* (accepted: Accepted) {
        const { id } = accepted.exception
        const [open] = yield* sql<{ id: string }>`
          SELECT id FROM acquirer_orders WHERE exception_id = ${id}::uuid AND state = 'ordered'`
        const order = open && (yield* orders.lockOpen(open.id))
        if (order === undefined) return yield* Effect.die(new Error(`the refund of ${id} has no order`))
        yield* orders.finish(order, "refused")
        const ended = yield* failRefund(accepted, order.amount, "the provider returned the money otherwise")
        return (yield* money.of(ended)) ?? accepted
      })

      /** The loss of a MED was reported before: only the difference moves. */
      const match = Effect.fnUntraced(function* (
        { exception, funds }: Accepted,
        lost: StoredDispute,
        amount: number,
        returnId: string,
        others: number
      ) {
        const more = Math.max(0, Math.min(amount - lost.returned, inAccount(funds) + funds.blocked))
        const less = Math.max(0, lost.returned - amount)
        const parts = splitLoss(more, funds, others)
        const movements = [
          ...given(parts),
          { debit: "acquirer", credit: "available", amount: less } as const,
          // What open MEDs contest, and the account had not.
          {
            debit: "available",
            credit: "blocked",
            amount: Math.min(less, Math.max(0, others - funds.blocked))
          } as const
        ]
        yield* money.move(exception, "exception.charged_back", movements, { disputeId: lost.id })
        yield* disputes.put({ ...lost, returned: lost.returned + more - less, returnId }, undefined)
        if (less === 0 && more === leftOf(funds)) yield* loseOpen(exception.id)
        return Math.max(0, amount - lost.returned - more)
      })

      /** A MED that arrived with its return, of which nothing else is known yet. */
      const putArrived = (accepted: Accepted, amount: number, { atMs, externalId = ids.next().id }: Returned) => {
        const made = { amount, reason: "returned without prior notice", atMs, arrivedResolved: true }
        const back = { returned: amount, returnId: externalId }
        return disputes.put({ ...newDispute(contestedException(accepted), ids.next(), made), ...back }, undefined)
      }

      const takeMed = Effect.fnUntraced(function* (
        accepted: Accepted,
        reversal: Returned,
        wanted: number | undefined
      ): Effect.fn.Return<number, SqlError> {
        const { externalId = ids.next().id } = reversal
        const { exception, funds } = accepted
        const all = yield* disputes.lockOfException(exception.id)
        const unreported = all.toReversed().filter(isUnreported)
        const { lost, open: probable } = medOfReturn(
          { amount: wanted, atMs: reversal.atMs },
          unreported.map((dispute) => ({ amount: dispute.returned, dispute })),
          all.filter(isOpen).toReversed()
        )
        const needed =
          lost === undefined ? (wanted ?? probable?.amount ?? leftOf(funds)) : (wanted ?? lost.amount) - lost.amount
        if (isShort(funds, needed)) return yield* takeMed(yield* failOpenRefund(accepted), reversal, wanted)
        if (lost !== undefined) {
          const { amount, dispute } = lost
          return yield* match(accepted, dispute, wanted ?? amount, externalId, contestedByOthers(all, dispute.id))
        }
        const amount = Math.min(needed, inAccount(funds) + funds.blocked)
        const missing = wanted === undefined ? 0 : needed - amount
        if (amount <= 0) return missing
        const parts = splitLoss(amount, funds, contestedByOthers(all, probable?.id))
        yield* money.giveBack(exception, "exception.charged_back", given(parts), reversal.externalId)
        const isEmpty = amount === leftOf(funds)
        // Where nothing is left, the MED ends with it. Otherwise the provider decides which one is lost.
        if (probable !== undefined && isEmpty)
          yield* decide(probable, "lost", { returned: amount, returnId: externalId })
        else yield* putArrived(accepted, amount, { ...reversal, externalId })
        if (isEmpty) yield* loseOpen(exception.id)
        return missing
      })

      const takeOther = Effect.fnUntraced(function* (
        accepted: Accepted,
        reversal: Returned,
        wanted: number | undefined
      ): Effect.fn.Return<number, SqlError> {
        const { exception, funds } = accepted
        const asked = wanted ?? leftOf(funds)
        if (isShort(funds, asked)) return yield* takeOther(yield* failOpenRefund(accepted), reversal, wanted)
        const amount = Math.min(asked, inAccount(funds) + funds.blocked)
        const missing = wanted === undefined ? 0 : asked - amount
        if (amount <= 0) return missing
        yield* money.giveBack(exception, "exception.returned", given(splitReturn(amount, funds)), reversal.externalId)
        if (amount === leftOf(funds)) yield* loseOpen(exception.id)
        return missing
      })

      return AcceptedReturns.of({
        take: (accepted, reversal, amount) =>
          reversal._tag === "charge.returned"
            ? takeMed(accepted, reversal, amount)
            : takeOther(accepted, reversal, amount),

        endRefund: Effect.fnUntraced(function* (accepted, amount, outcome) {
          if (outcome._tag === "Failed") return yield* Effect.asVoid(failRefund(accepted, amount, outcome.reason))
          const { exception, funds } = accepted
          const completed = { debit: "returns_in_transit", credit: "acquirer", amount } as const
          yield* money.giveBack(exception, "exception.refunded", [completed], outcome.returnId)
          if (amount === leftOf(funds)) yield* loseOpen(exception.id)
        }),

        note: (accepted, reversal, amount) => putArrived(accepted, amount, reversal)
      })
    })
  )
}

/** True of a MED that is lost and whose return the provider has not reported yet. */
const isUnreported = ({ arrivedResolved, returnId, status }: StoredDispute) =>
  status === "lost" && returnId === null && !arrivedResolved

/** A return of more than there is beside the open refund. */
const isShort = (funds: ChargeFunds, needed: number) => funds.inTransit > 0 && needed > inAccount(funds) + funds.blocked
