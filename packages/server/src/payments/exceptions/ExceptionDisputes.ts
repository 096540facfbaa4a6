/**
 * Disputes of money that an account accepted.
 *
 * Guarantees:
 * - a MED blocks the money in the account that has it, and its loss debits it there;
 * - no charge changes its state, and there is no event;
 * - the loss of a MED and the return of its money, which two lists of the provider report, are the same money.
 *
 * Every effect here runs in the caller's transaction.
 *
 * Rules: BAL-14, DSP-12.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { blockedAgain, blockedBeyond, contestedBy, inAccount, splitLoss } from "@pix-payments/domain/ChargeMoney"
import { disputeTransition, returnOfLoss } from "@pix-payments/domain/Dispute"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import type { Med } from "../../providers/AcquirerNotification.ts"
import { contestedByOthers, decideReport } from "../disputes/DisputeDecision.ts"
import { type Contested, newDispute } from "../disputes/DisputeResource.ts"
import { DisputeStore } from "../disputes/DisputeStore.ts"
import type { StoredDispute } from "../disputes/DisputeTable.ts"
import { type Accepted, AcceptedMoney, given } from "./AcceptedMoney.ts"
import { ExceptionStore } from "./ExceptionStore.ts"

export class ExceptionDisputes extends Context.Service<
  ExceptionDisputes,
  {
    /** Blocks the money of a MED. False where nothing is left that another does not contest. */
    readonly open: (accepted: Accepted, med: Med) => Effect.Effect<boolean, SqlError>
    /** Applies the outcome of an exception's dispute. False where its state does not allow it. */
    readonly resolve: (
      dispute: StoredDispute & { readonly exceptionId: string },
      outcome: "won" | "lost"
    ) => Effect.Effect<boolean, SqlError>
    /** Stores the outcome of a dispute, with what of it went back. */
    readonly decide: (
      dispute: StoredDispute,
      outcome: "won" | "lost",
      changes?: Partial<Pick<StoredDispute, "returned" | "returnId">>
    ) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/ExceptionDisputes") {
  static readonly layer = Layer.effect(
    ExceptionDisputes,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore
      const disputes = yield* DisputeStore
      const money = yield* AcceptedMoney

      const decide: ExceptionDisputes["Service"]["decide"] = Effect.fnUntraced(function* (
        dispute,
        outcome,
        changes = {}
      ) {
        const change = decideReport(dispute, outcome, yield* Clock.currentTimeMillis, ids)
        if (change !== undefined) yield* disputes.put({ ...change.dispute, ...changes }, undefined)
      })

      /** A MED that is lost and whose return came before: what others contest is blocked, and nothing else moves. */
      const blockAgain = (accepted: Accepted, others: number) => {
        const { blocked, released } = blockedAgain(others, accepted.funds)
        return money.move(accepted.exception, "exception.charged_back", [
          { debit: "available", credit: "blocked", amount: blocked.available },
          { debit: "blocked", credit: "available", amount: released }
        ])
      }

      return ExceptionDisputes.of({
        decide,

        open: Effect.fnUntraced(function* (accepted, med) {
          const { exception, funds } = accepted
          const all = yield* disputes.lockOfException(exception.id)
          const others = contestedByOthers(all, undefined)
          const arrived =
            med.isLost === true
              ? returnOfLoss({ amount: med.amount, openedAtMs: med.atMs ?? 0 }, withReturn(all))
              : undefined
          if (arrived !== undefined) {
            yield* blockAgain(accepted, others)
            yield* disputes.put({ ...arrived, externalId: med.externalId ?? null }, undefined)
            return true
          }
          const amount = contestedBy(med.amount, funds, others)
          if (amount === 0) return false
          const blocked = Math.min(amount, inAccount(funds))
          yield* money.move(exception, "exception.infraction", [
            { debit: "available", credit: "blocked", amount: blocked }
          ])
          const made = { ...med, amount, arrivedResolved: false }
          yield* disputes.put(newDispute(contestedException(accepted), ids.next(), made), undefined)
          return true
        }),

        resolve: Effect.fnUntraced(function* (known, outcome) {
          yield* lockLedgerOf(sql, [known.accountId])
          const exception = yield* store.lock(known.exceptionId)
          const accepted = exception && (yield* money.of(exception))
          const all = yield* disputes.lockOfException(known.exceptionId)
          const dispute = all.find(({ id }) => id === known.id)
          if (dispute === undefined || accepted === undefined) return false
          if (disputeTransition(outcome, dispute.status) === undefined) return false
          const others = contestedByOthers(all, dispute.id)
          const { funds } = accepted
          if (outcome === "won") {
            yield* money.move(accepted.exception, "exception.dispute_won", [
              { debit: "blocked", credit: "available", amount: blockedBeyond(funds, others) }
            ])
            yield* decide(dispute, "won")
            return true
          }
          const arrived = returnOfLoss(dispute, withReturn(all))
          if (arrived !== undefined) {
            const { returnId, returned } = arrived
            yield* blockAgain(accepted, others)
            yield* decide(dispute, "lost", { returned, returnId })
            yield* disputes.put({ ...arrived, returned: 0, returnId: null }, undefined)
            return true
          }
          const returned = Math.min(dispute.amount, inAccount(funds) + funds.blocked)
          const parts = splitLoss(returned, funds, others)
          const movements = [
            ...given(parts),
            { debit: "blocked", credit: "available", amount: parts.released } as const
          ]
          yield* money.move(accepted.exception, "exception.charged_back", movements, { disputeId: dispute.id })
          yield* decide(dispute, "lost", { returned })
          return true
        })
      })
    })
  )
}

/** MEDs that arrived with their return, and that no MED is known for: opened, here, when the money went back. */
const withReturn = (disputes: ReadonlyArray<StoredDispute>) =>
  disputes
    .filter(({ arrivedResolved, externalId, returnId }) => arrivedResolved && externalId === null && returnId !== null)
    .map((dispute) => ({ ...dispute, atMs: dispute.openedAtMs }))

export const contestedException = ({ exception }: Accepted): Contested => ({
  chargeId: null,
  exceptionId: exception.id,
  accountId: exception.accountId,
  applicationId: null,
  connectionId: exception.connectionId === SIMULATOR_CONNECTION ? null : exception.connectionId,
  reference: null
})
