/**
 * Returns and MEDs of a Pix whose payment is an exception, or has one beside its charge.
 *
 * Guarantees:
 * - a return takes what the exceptions have of it, then what accounts accepted, oldest first. The rest is an exception of its own;
 * - a MED blocks money that an account accepted. One of which nothing is left there is an exception.
 *
 * Every effect here runs in the caller's transaction, which has locked the ledger accounts, then the exceptions.
 *
 * Rules: BAL-11, BAL-14, OPR-87.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import type { Med, Outcome, Returned, Reversal } from "../../providers/AcquirerNotification.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { AcceptedMoney } from "./AcceptedMoney.ts"
import { AcceptedReturns } from "./AcceptedReturns.ts"
import { EarlyReversals } from "./EarlyReversals.ts"
import { ExceptionDisputes } from "./ExceptionDisputes.ts"
import { connectionOf, Exceptions } from "./Exceptions.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"
import { divideReturn } from "./ReversalDecision.ts"
import { UnreturnedLosses } from "./UnreturnedLosses.ts"

/** The exceptions of one Pix, locked. */
type Paid = ReadonlyArray<StoredException>

export class ExceptionReversals extends Context.Service<
  ExceptionReversals,
  {
    /** Takes so many cents of a return. */
    readonly take: (
      reversal: Returned,
      amount: number,
      paid: Paid,
      charge: StoredCharge | undefined
    ) => Effect.Effect<Outcome, SqlError>
    /** Blocks so many cents of a MED. */
    readonly contest: (id: string, med: Med, amount: number, paid: Paid) => Effect.Effect<Outcome, SqlError>
    /** Shows a MED, under the id of its notification: one that waited is an exception already. */
    readonly raise: (
      id: string,
      med: Med,
      amount: number,
      charge: StoredCharge | undefined
    ) => Effect.Effect<void, SqlError>
    /** Notes a return that was taken before the money was accepted, in the account that accepted what it has left. */
    readonly noteTaken: (reversal: Reversal) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/ExceptionReversals") {
  static readonly layer = Layer.effect(
    ExceptionReversals,
    Effect.gen(function* () {
      const ids = yield* Ids
      const early = yield* EarlyReversals
      const exceptions = yield* Exceptions
      const store = yield* ExceptionStore
      const accepted = yield* AcceptedMoney
      const disputes = yield* ExceptionDisputes
      const returns = yield* AcceptedReturns
      const losses = yield* UnreturnedLosses

      /** Those that accounts accepted, oldest first. */
      const acceptedOf = (paid: Paid) =>
        Effect.map(Effect.forEach(paid, accepted.of), (all) => all.filter((each) => each !== undefined))

      const raise = Effect.fnUntraced(function* (
        id: string,
        med: Med,
        amount: number,
        charge: StoredCharge | undefined
      ) {
        if ((yield* store.lock(id)) === undefined) yield* exceptions.raiseUnmatched(id, amount, med, charge)
      })

      return ExceptionReversals.of({
        take: Effect.fnUntraced(function* (reversal, amount, paid, charge) {
          const { taken, unmatched: beyond } = divideReturn(amount, paid)
          for (const [at, exception] of paid.entries()) {
            if (taken[at]! > 0) yield* exceptions.takeReturn(exception, taken[at]!, "provider", reversal.externalId)
          }
          const given = amount - beyond
          if (given > 0 && reversal._tag === "charge.returned") yield* early.noteTaken(reversal, given)
          let unmatched = beyond
          for (const each of yield* acceptedOf(paid)) {
            if (unmatched === 0) break
            const isAll = reversal.amount === undefined && unmatched === amount
            unmatched = yield* returns.take(each, reversal, isAll ? undefined : unmatched)
            yield* losses.close(connectionOf(reversal), each.exception.id)
          }
          if (unmatched === 0) return "applied"
          // Not under the notification's id, which the exception of a return that waited has.
          yield* exceptions.raiseUnmatched(ids.next().id, unmatched, reversal, charge)
          return "exception"
        }),

        contest: Effect.fnUntraced(function* (id, med, amount, paid) {
          for (const each of yield* acceptedOf(paid)) {
            if (yield* disputes.open(each, med)) return "applied"
          }
          yield* raise(id, med, amount, undefined)
          return "exception"
        }),

        raise,

        noteTaken: Effect.fnUntraced(function* (reversal) {
          const { amount = 0, endToEndId } = reversal
          const [first] = yield* acceptedOf(yield* store.lockPayments(connectionOf(reversal), endToEndId))
          if (first !== undefined && reversal._tag !== "med.opened") yield* returns.note(first, reversal, amount)
        })
      })
    })
  )
}
