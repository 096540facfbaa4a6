/**
 * Returns and MEDs: each is applied to the charge or to the exception whose Pix it is of.
 *
 * Guarantees:
 * - one that arrives before its payment waits, and both are applied in one commit, so that nothing is spent in between (DSP-10).
 *   This holds for two processes at the same moment, too: see `EarlyReversals`;
 * - a return of a Pix that is not known, or of more than is left of it, is an exception: it takes `unallocated` of the
 *   connection below zero (BAL-11);
 * - a MED of a Pix whose money no account has is an exception, and moves no money. When its payment arrives, or is accepted, the
 *   money is blocked in that commit: where it pays no charge, in the account that accepted it;
 * - the exception of one that waited is resolved when it is applied.
 *
 * Every effect here runs in the caller's transaction. Rules: BAL-11, OPR-87, DSP-1 to DSP-10.
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import type { Med, Outcome, Returned, Reversal } from "../../providers/AcquirerNotification.ts"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { awaitSettlement, findSettlement } from "../charges/Settlements.ts"
import { Disputes } from "../disputes/Disputes.ts"
import { AcceptedMoney, isAccepted } from "./AcceptedMoney.ts"
import { type ArrivedPayment, EarlyReversals, type EarlyReversal, type ReceivedReversal } from "./EarlyReversals.ts"
import { connectionOf, Exceptions, isThrough } from "./Exceptions.ts"
import { ExceptionReversals } from "./ExceptionReversals.ts"
import { ExceptionReturns } from "./ExceptionReturns.ts"
import { type ChangedMeanwhile, LateOutcomes } from "../../providers/LateOutcomes.ts"
import { OrderStore } from "../../providers/OrderStore.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"
import { UnreturnedLosses } from "./UnreturnedLosses.ts"
import { decideReversal, kindOf } from "./ReversalDecision.ts"

/** The payment was committed while its return or MED was examined: the transaction is repeated. */
export class PaymentArrived extends Data.TaggedError("PaymentArrived")<{}> {}

export class Reversals extends Context.Service<
  Reversals,
  {
    /** Applies a return or MED, or keeps it until its payment arrives. */
    readonly apply: (received: ReceivedReversal) => Effect.Effect<Outcome, PaymentArrived | ChangedMeanwhile | SqlError>
    /** Runs the effect of a payment, whose ledger accounts and charge are locked, with the returns and MEDs that waited for it. */
    readonly withEarly: <A, E, R>(
      payment: ArrivedPayment,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | SqlError, R>
  }
>()("@pix-payments/server/Reversals") {
  static readonly layer = Layer.effect(
    Reversals,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const disputes = yield* Disputes
      const early = yield* EarlyReversals
      const exceptions = yield* Exceptions
      const returns = yield* ExceptionReturns
      const store = yield* ExceptionStore
      const orders = yield* OrderStore
      const late = yield* LateOutcomes
      const beside = yield* ExceptionReversals
      const lock = yield* locks
      const reverseCharge = yield* chargeReversals

      /** The order of a return that is reported by it and has ended. */
      const endedOrderOf = Effect.fnUntraced(function* (reversal: Reversal) {
        const { externalId } = reversal
        if (kindOf(reversal) !== "return" || externalId === undefined || !isUuid(externalId)) return undefined
        const order = yield* orders.find(externalId)
        const isReturn = order?.kind === "refund" || order?.kind === "return"
        return isReturn && order.state !== "ordered" ? order.id : undefined
      })

      const apply = Effect.fnUntraced(function* (received: ReceivedReversal) {
        const { id, reversal } = received
        const ended = yield* endedOrderOf(reversal)
        if (ended !== undefined) return yield* late.ofReturn(ended, { outcome: "completed" })
        const { arrived, locked, paid, pix } = yield* lock(reversal)
        const { amount, externalId } = reversal
        // A copy of it has opened its dispute while this one waited for the locks.
        if (reversal._tag === "med.opened" && (yield* disputes.isKnown(reversal))) return "ignored" as const
        const kind = kindOf(reversal)
        // The return of an exception that we ordered.
        const isOrdered = kind === "return" && paid.length > 0 && externalId !== undefined
        if (isOrdered && (yield* returns.finish(externalId, { _tag: "Completed" }))) return "applied" as const

        const charge = locked?.charge
        const decision = decideReversal({
          kind,
          amount,
          arrived,
          charge: charge && { amount: charge.amount, isReversed: charge.endToEndId === pix.endToEndId },
          hasException: paid.length > 0,
          isAccepted: paid.some(isAccepted)
        })
        switch (decision._tag) {
          case "Unknown":
            return "unknown" as const
          case "Wait":
            if (arrived === undefined && !(yield* awaitSettlement(sql, pix))) return yield* new PaymentArrived()
            yield* early.keep(received)
            yield* exceptions.raiseUnmatched(id, decision.amount, reversal, charge)
            return "exception" as const
          case "ReverseCharge":
            return yield* reverseCharge(locked!, received, paid)
          case "ContestAccepted":
            return yield* beside.contest(id, reversal as Med, decision.amount, paid)
          case "TakeFromExceptions":
            return yield* beside.take(reversal as Returned, decision.amount, paid, charge)
        }
      })

      /** Applies one that waited, and resolves its exception. A MED that changes nothing stays an exception. */
      const applyEarly = Effect.fnUntraced(
        function* (received: EarlyReversal) {
          if (received.isTaken) return yield* beside.noteTaken(received.reversal)
          const shown = yield* store.lock(received.id)
          const isReturn = kindOf(received.reversal) === "return"
          if (isReturn && shown !== undefined) yield* exceptions.match(shown)
          const outcome = yield* apply(received)
          if (!isReturn && shown !== undefined && outcome === "applied") yield* exceptions.match(shown)
        },
        // This transaction has the settlement and the ledger accounts.
        Effect.catchTags({ PaymentArrived: Effect.die, ChangedMeanwhile: Effect.die })
      )

      return Reversals.of({
        apply,

        withEarly: (payment, effect) =>
          Effect.gen(function* () {
            const waiting = yield* early.take(payment)
            const result = yield* effect
            yield* Effect.forEach(waiting, applyEarly, { discard: true })
            return result
          })
      })
    })
  )
}

const locks = Effect.gen(function* () {
  const sql = yield* SqlClient
  const money = yield* LockedCharges
  const store = yield* ExceptionStore
  const accepted = yield* AcceptedMoney

  /** What is known of a return or MED, with all of it locked: ledger accounts first, as everywhere. */
  return Effect.fnUntraced(function* (reversal: Reversal) {
    const connectionId = connectionOf(reversal)
    const { endToEndId, txid } = reversal
    const pix = { connectionId, endToEndId }
    const settlement = yield* findSettlement(sql, pix)
    const found =
      (yield* findCharge(sql, connectionId, settlement?.id)) ?? (yield* findCharge(sql, connectionId, idFromTxid(txid)))
    const owners = [
      connectionId,
      ...(yield* accepted.accountsOf(connectionId, endToEndId)),
      ...(found === undefined ? [] : [found.account_id])
    ]
    yield* lockLedgerOf(sql, owners)
    const locked = found === undefined ? undefined : yield* money.lock(found.id)
    const paid = yield* store.lockPayments(connectionId, endToEndId)
    // Meanwhile its payment has arrived, or was accepted.
    const isUnlocked = (each: StoredException) => isAccepted(each) && !owners.includes(each.accountId)
    if ((yield* findSettlement(sql, pix))?.id !== settlement?.id || paid.some(isUnlocked))
      return yield* new PaymentArrived()
    return { pix, locked, paid, arrived: settlement?.amount }
  })
})

/** A charge of the connection. */
const findCharge = Effect.fnUntraced(function* (sql: SqlClient, connectionId: string, id: string | undefined) {
  if (id === undefined) return undefined
  const [row] = yield* sql<{ id: string; account_id: string; connection_id: string | null }>`
    SELECT id, account_id, connection_id FROM charges WHERE id = ${id}::uuid`
  return row !== undefined && isThrough(connectionId, { connectionId: row.connection_id }) ? row : undefined
})

const chargeReversals = Effect.gen(function* () {
  const disputes = yield* Disputes
  const beside = yield* ExceptionReversals
  const losses = yield* UnreturnedLosses

  return Effect.fnUntraced(function* (
    locked: LockedCharge,
    { id, reversal }: ReceivedReversal,
    paid: ReadonlyArray<StoredException>
  ) {
    const { isApplied, unmatched } = yield* disputes.reverse(locked, reversal)
    if (reversal._tag === "charge.returned") yield* losses.close(connectionOf(reversal), locked.charge.id)
    if (reversal._tag === "med.opened") {
      if (unmatched === 0) return (isApplied ? "applied" : "ignored") as Outcome
      yield* beside.raise(id, reversal, unmatched, locked.charge)
      return "exception" as const
    }
    return unmatched === 0
      ? ((isApplied ? "applied" : "ignored") as Outcome)
      : yield* beside.take(reversal, unmatched, paid, locked.charge)
  })
})
