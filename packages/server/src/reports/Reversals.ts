/**
 * Returns and MEDs: each is applied to the charge or to the exception whose Pix it is of.
 *
 * Guarantees:
 * - one that arrives before the payment of its charge is deferred until that payment (DSP-10);
 * - a return of a Pix that is not known, or of more than is left of it, is an exception: it takes `unallocated` of the
 *   connection below zero. When its payment arrives, both are applied in one commit (BAL-11);
 * - a return that another connection reports than the payment is recorded, and moves nothing (BAL-11);
 * - a MED of a Pix that pays no charge is an exception, and moves no money. When its payment arrives, or is accepted, the
 *   money is blocked in that commit.
 *
 * Rules: BAL-11, DSP-1 to DSP-10.
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Outcome, Reversal } from "../providers/AcquirerNotification.ts"
import { claimBeforePayment, type ReceivedNotification } from "../providers/NotificationStore.ts"
import type { LockedCharge } from "../payments/charges/ChargeDecision.ts"
import { ChargeMoney } from "../payments/charges/ChargeMoney.ts"
import type { StoredCharge } from "../payments/charges/ChargeTable.ts"
import { Disputes } from "../payments/disputes/Disputes.ts"
import { NotFoundError } from "../base/Errors.ts"
import { connectionOf, Exceptions, isThrough } from "../payments/exceptions/Exceptions.ts"
import { ExceptionReturns } from "../payments/exceptions/ExceptionReturns.ts"
import { ExceptionStore, type StoredException } from "../payments/exceptions/ExceptionStore.ts"
import { Ids } from "../base/Ids.ts"
import { lockLedgerOf } from "../ledger/Ledger.ts"
import { DeferredStore } from "../payments/exceptions/DeferredStore.ts"

/** The payment was committed while its return was examined: the transaction is repeated. */
export class PaymentArrived extends Data.TaggedError("PaymentArrived")<{}> {}

/** True of a charge that may still be paid. */
export const awaitsPayment = ({ status }: StoredCharge): boolean => status === "processing" || status === "pending"

export class Reversals extends Context.Service<
  Reversals,
  {
    /** Applies a return or MED, in a transaction. */
    readonly apply: (
      received: ReceivedNotification,
      reversal: Reversal
    ) => Effect.Effect<Outcome, NotFoundError | PaymentArrived | SqlError>
  }
>()("@pix-payments/server/Reversals") {
  static readonly layer = Layer.effect(
    Reversals,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const money = yield* ChargeMoney
      const disputes = yield* Disputes
      const deferred = yield* DeferredStore
      const exceptions = yield* Exceptions
      const returns = yield* ExceptionReturns
      const store = yield* ExceptionStore
      const claimsOnce = true

      /** The charge that was paid by the Pix, else the one that the txid names, if it is of the same connection. */
      const findCharge = Effect.fnUntraced(function* ({ endToEndId, txid }: Reversal, connectionId: string) {
        const paid =
          endToEndId === undefined
            ? []
            : yield* sql<ChargeRow>`SELECT id, account_id, connection_id FROM charges
                WHERE id = (SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${endToEndId})`
        const id = idFromTxid(txid)
        const [row] =
          paid.length > 0 || id === undefined
            ? paid
            : yield* sql<ChargeRow>`SELECT id, account_id, connection_id FROM charges WHERE id = ${id}::uuid`
        return row !== undefined && isThrough(connectionId, { connectionId: row.connection_id }) ? row : undefined
      })

      /** True where the connection reported the payment; false where another one did. */
      const isPaymentOf = Effect.fnUntraced(function* (connectionId: string, endToEndId: string) {
        if ((yield* store.lockPayment(connectionId, endToEndId)) !== undefined) return true
        const paid = yield* sql<ChargeRow>`SELECT id, account_id, connection_id FROM charges
          WHERE id = (SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${endToEndId})`
        return paid.some(({ connection_id }) => isThrough(connectionId, { connectionId: connection_id }))
      })

      const applyToCharge = Effect.fnUntraced(function* (locked: LockedCharge, reversal: Reversal) {
        const { isApplied, unmatched } = yield* disputes.reverse(locked, reversal)
        if (unmatched === 0 || reversal._tag === "med.opened" || reversal.endToEndId === undefined) {
          return isApplied ? ("applied" as const) : ("ignored" as const)
        }
        yield* exceptions.raiseUnmatched(ids.next().id, unmatched, reversal, locked.charge)
        return "exception" as const
      })

      const applyToException = Effect.fnUntraced(function* (
        exception: StoredException,
        id: string,
        reversal: Reversal,
        charge: StoredCharge | undefined
      ) {
        const amount = reversal.amount ?? exception.amount
        if (reversal._tag === "med.opened") {
          // Under the notification's id, by which it is found when the payment is accepted.
          yield* exceptions.raiseUnmatched(id, amount, reversal, charge)
          return "exception" as const
        }
        const isOrdered =
          reversal.externalId !== undefined && (yield* returns.finish(reversal.externalId, { _tag: "Completed" }))
        if (isOrdered) return "applied" as const
        const missing = yield* exceptions.takeReturn(exception, amount, "provider")
        if (missing === 0) return "applied" as const
        yield* exceptions.raiseUnmatched(ids.next().id, missing, reversal, charge)
        return "exception" as const
      })

      return Reversals.of({
        apply: Effect.fnUntraced(function* (received, reversal) {
          const connectionId = connectionOf(reversal)
          const { endToEndId } = reversal
          const found = yield* findCharge(reversal, connectionId)
          if (endToEndId === undefined) {
            const locked = found === undefined ? undefined : yield* money.lock(found.id)
            if (locked === undefined) return yield* new NotFoundError()
            if (!awaitsPayment(locked.charge)) return yield* applyToCharge(locked, reversal)
            yield* deferred.defer(locked.charge.id, received)
            return "deferred"
          }
          // Before the charge and the exception, as everywhere.
          yield* lockLedgerOf(sql, [connectionId, ...(found === undefined ? [] : [found.account_id])])
          const locked = found === undefined ? undefined : yield* money.lock(found.id)
          if (locked?.charge.endToEndId === endToEndId) return yield* applyToCharge(locked, reversal)
          const exception = yield* store.lockPayment(connectionId, endToEndId)
          if (exception !== undefined) return yield* applyToException(exception, received.id, reversal, locked?.charge)
          if (locked !== undefined && awaitsPayment(locked.charge)) {
            yield* deferred.defer(locked.charge.id, received)
            return "deferred"
          }
          const amount = reversal.amount ?? locked?.charge.amount
          if (amount === undefined) return "unknown"
          // The payment finds this claim, and applies both in one commit.
          if ((yield* claimBeforePayment(sql, endToEndId, received.id, claimsOnce)) === "arrived") {
            if (yield* isPaymentOf(connectionId, endToEndId)) return yield* new PaymentArrived()
            if (reversal._tag !== "med.opened") return "unknown"
          }
          yield* exceptions.raiseUnmatched(received.id, amount, reversal, locked?.charge)
          return "exception"
        })
      })
    })
  )
}

interface ChargeRow {
  readonly id: string
  readonly account_id: string
  readonly connection_id: string | null
}
