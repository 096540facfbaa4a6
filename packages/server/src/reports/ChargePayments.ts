/**
 * Payments that cannot be applied in a batch: those that other notifications overtook, and those that fit no charge.
 *
 * Guarantees:
 * - what a payment does is decided with the ledger accounts, the charge and the exceptions of its Pix locked;
 * - a payment, what arrived before it, and the rule of its connection are applied in one commit (BAL-11).
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Outcome } from "../providers/AcquirerNotification.ts"
import { Duplicate, type ReceivedNotification } from "../providers/NotificationStore.ts"
import { claimSettlement } from "../providers/SettlementClaims.ts"
import { ChargeMoney } from "../payments/charges/ChargeMoney.ts"
import { ExceptionResolution } from "../payments/exceptions/ExceptionResolution.ts"
import { connectionOf, Exceptions, isThrough, misfitOf, type Payment } from "../payments/exceptions/Exceptions.ts"
import { ExceptionStore, type StoredException } from "../payments/exceptions/ExceptionStore.ts"
import { lockLedgerOf } from "../ledger/Ledger.ts"
import { Unavailable } from "../database/Unavailable.ts"
import { DeferredNotifications } from "./DeferredNotifications.ts"
import { decodeReversal, DeferredStore, type ReceivedReversal } from "../payments/exceptions/DeferredStore.ts"
import type { PaymentArrived } from "./Reversals.ts"

export class ChargePayments extends Context.Service<
  ChargePayments,
  {
    /**
     * Pays the charge of a payment, or raises an exception, in a transaction. With `claimsOnce` it claims the settlement
     * too.
     */
    readonly settle: (
      payment: Payment,
      received: ReceivedNotification,
      claimsOnce: boolean
    ) => Effect.Effect<Outcome, Duplicate | PaymentArrived | Unavailable | SqlError>
  }
>()("@pix-payments/server/ChargePayments") {
  static readonly layer = Layer.effect(
    ChargePayments,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const money = yield* ChargeMoney
      const deferred = yield* DeferredNotifications
      const deferredStore = yield* DeferredStore
      const exceptions = yield* Exceptions
      const resolution = yield* ExceptionResolution
      const store = yield* ExceptionStore

      /** The account of the charge that a payment names, if it is of the payment's connection. */
      const findCharge = Effect.fnUntraced(function* (payment: Payment) {
        const id = idFromTxid(payment.txid)
        if (id === undefined) return undefined
        const [row] = yield* sql<{ account_id: string; connection_id: string | null }>`
          SELECT account_id, connection_id FROM charges WHERE id = ${id}::uuid`
        return row !== undefined && isThrough(connectionOf(payment), { connectionId: row.connection_id })
          ? { id, accountId: row.account_id }
          : undefined
      })

      /** Resolves what was reported before its payment arrived, and gives the notifications of it. */
      const match = Effect.fnUntraced(function* (unmatched: ReadonlyArray<StoredException>) {
        const matched: Array<ReceivedReversal> = []
        for (const each of unmatched.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
          // An exception of the notification has its id. One of what was returned too much has another id: its payment is
          // applied, and this one is a copy.
          const [row] = yield* sql<{ report: unknown }>`
            SELECT report FROM acquirer_reports WHERE id = ${each.id}::uuid`
          if (row === undefined) continue
          yield* exceptions.match(each)
          matched.push({ id: each.id, notification: yield* decodeReversal(row.report) })
        }
        return matched
      })

      /** The returns that came before their payment, and the MEDs where it pays its charge. */
      const takeEarly = Effect.fnUntraced(function* (payment: Payment, isPaying: boolean) {
        const { endToEndId } = payment
        if (endToEndId === undefined) return []
        const connectionId = connectionOf(payment)
        const returns = yield* store.lockUnmatchedReturns(connectionId, endToEndId)
        // A MED of a payment that is an exception waits for the decision about it.
        const disputes = isPaying ? yield* store.lockUnmatchedDisputes(connectionId, endToEndId) : []
        return yield* match([...returns, ...disputes])
      })

      return ChargePayments.of({
        settle: Effect.fnUntraced(function* (payment, received, claimsOnce) {
          const known = yield* findCharge(payment)
          const connectionId = connectionOf(payment)
          yield* lockLedgerOf(sql, [connectionId, ...(known === undefined ? [] : [known.accountId])])
          const locked = known === undefined ? undefined : yield* money.lock(known.id)
          const misfit = misfitOf(locked?.charge, payment, yield* Clock.currentTimeMillis)
          if (misfit === "duplicate") return "ignored"
          const amount = payment.amount ?? locked?.charge.amount
          // Without an amount, no money is known to have arrived.
          if (amount === undefined) return "unknown"
          const paid = misfit === undefined ? locked : undefined
          if (misfit === undefined && paid === undefined) return "unknown"
          const { endToEndId } = payment
          const claims = claimsOnce && endToEndId !== undefined
          // After the ledger is locked, as in a batch, and before early notifications are read: the transaction that had the claim has committed.
          if (claims && !(yield* claimSettlement(sql, endToEndId, paid?.charge.id ?? received.id))) {
            return yield* new Duplicate()
          }
          const early = yield* takeEarly(payment, paid !== undefined)
          if (paid !== undefined) {
            const facts = { endToEndId, paidAtMs: payment.atMs }
            // `processing`: the acquirer has not answered, and repeats the notification.
            if (!(yield* deferred.pay(paid, facts, claims))) return yield* new Unavailable({ reason: "too-slow" })
            yield* deferred.applyAll(early)
            return "applied"
          }
          if (misfit === undefined) return "unknown"
          const exception = yield* exceptions.raisePayment(misfit, amount, payment, received, locked?.charge)
          const waiting =
            locked === undefined || payment.endToEndId === undefined
              ? []
              : yield* deferredStore.take(locked.charge.id, payment.endToEndId)
          yield* deferred.applyAll([...early, ...waiting])
          yield* resolution.applyRule(exception.id)
          return "exception"
        })
      })
    })
  )
}
