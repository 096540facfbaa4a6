/**
 * Returns of money that an account accepted.
 *
 * Guarantees:
 * - each return that the provider reports debits the money in the account that has it;
 * - no charge changes its state, and there is no event;
 * - the return of a MED and its loss, which two lists of the provider report, are the same money.
 *
 * Every effect here runs in the caller's transaction.
 *
 * Rules: BAL-14, DSP-12.
 */
import { inAccount, leftOf, splitLoss, splitReturn } from "@pix-payments/domain/ChargeMoney"
import { medOfReturn } from "@pix-payments/domain/Dispute"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import type { Returned as Reported } from "../../providers/AcquirerNotification.ts"
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
    /** Notes a MED's return that was taken before the money was accepted. */
    readonly note: (accepted: Accepted, reversal: Returned, amount: number) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/AcceptedReturns") {
  static readonly layer = Layer.effect(
    AcceptedReturns,
    Effect.gen(function* () {
      const ids = yield* Ids
      const disputes = yield* DisputeStore
      const { decide } = yield* ExceptionDisputes
      const money = yield* AcceptedMoney

      /** Nothing is left of the money. */
      const loseOpen = Effect.fnUntraced(function* (exceptionId: string) {
        for (const dispute of yield* disputes.lockOfException(exceptionId)) {
          if (isOpen(dispute)) yield* decide(dispute, "lost")
        }
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

      const takeMed = Effect.fnUntraced(function* (accepted: Accepted, reversal: Returned, wanted: number | undefined) {
        const { externalId = ids.next().id } = reversal
        const { exception, funds } = accepted
        const all = yield* disputes.lockOfException(exception.id)
        const unreported = all
          .toReversed()
          .filter(({ arrivedResolved, returnId, status }) => status === "lost" && returnId === null && !arrivedResolved)
        const { lost, open: probable } = medOfReturn(
          { amount: wanted, atMs: reversal.atMs },
          unreported.map((dispute) => ({ amount: dispute.returned, dispute })),
          all.filter(isOpen).toReversed()
        )
        if (lost !== undefined) {
          const { amount, dispute } = lost
          return yield* match(accepted, dispute, wanted ?? amount, externalId, contestedByOthers(all, dispute.id))
        }
        const asked = wanted ?? probable?.amount ?? leftOf(funds)
        const amount = Math.min(asked, inAccount(funds) + funds.blocked)
        const missing = wanted === undefined ? 0 : asked - amount
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
        { exception, funds }: Accepted,
        { externalId }: Returned,
        wanted: number | undefined
      ) {
        const asked = wanted ?? leftOf(funds)
        const amount = Math.min(asked, inAccount(funds) + funds.blocked)
        const missing = wanted === undefined ? 0 : asked - amount
        if (amount <= 0) return missing
        yield* money.giveBack(exception, "exception.returned", given(splitReturn(amount, funds)), externalId)
        if (amount === leftOf(funds)) yield* loseOpen(exception.id)
        return missing
      })

      return AcceptedReturns.of({
        take: (accepted, reversal, amount) =>
          reversal._tag === "charge.returned"
            ? takeMed(accepted, reversal, amount)
            : takeOther(accepted, reversal, amount),

        note: (accepted, reversal, amount) => putArrived(accepted, amount, reversal)
      })
    })
  )
}
