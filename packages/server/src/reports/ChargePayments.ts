/**
 * Payments that cannot be applied in a batch: those that a return or MED overtook, those that fit no charge, and copies.
 *
 * Guarantees:
 * - what a payment does is decided with the ledger accounts, the charge and the exceptions of its Pix locked;
 * - a payment, what arrived before it, and the rule of its connection are applied in one commit (BAL-11);
 * - a copy changes nothing, unless it has another amount (CHG-8, BAL-13).
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Unavailable } from "../database/Unavailable.ts"
import { lockLedgerOf } from "../ledger/Ledger.ts"
import { LockedCharges } from "../payments/charges/LockedCharges.ts"
import { Charges } from "../payments/charges/Charges.ts"
import { ChargeStore } from "../payments/charges/ChargeStore.ts"
import type { StoredCharge } from "../payments/charges/ChargeTable.ts"
import { claimSettlement, findSettlement } from "../payments/charges/Settlements.ts"
import { ExceptionResolution } from "../payments/exceptions/ExceptionResolution.ts"
import { connectionOf, Exceptions, isThrough, misfitOf, type Payment } from "../payments/exceptions/Exceptions.ts"
import { Reversals } from "../payments/exceptions/Reversals.ts"
import type { Outcome } from "../providers/AcquirerNotification.ts"
import type { ReceivedNotification } from "../providers/NotificationStore.ts"

export class ChargePayments extends Context.Service<
  ChargePayments,
  {
    /** Pays the charge of a payment, or raises an exception, in a transaction. */
    readonly settle: (
      payment: Payment,
      received: ReceivedNotification
    ) => Effect.Effect<Outcome, Unavailable | SqlError>
  }
>()("@pix-payments/server/ChargePayments") {
  static readonly layer = Layer.effect(
    ChargePayments,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const charges = yield* Charges
      const store = yield* ChargeStore
      const money = yield* LockedCharges
      const exceptions = yield* Exceptions
      const resolution = yield* ExceptionResolution
      const reversals = yield* Reversals

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

      /** A payment whose settlement has arrived before. */
      const settleAgain = Effect.fnUntraced(function* (
        payment: Payment & { readonly endToEndId: string },
        received: ReceivedNotification,
        charge: StoredCharge | undefined
      ) {
        const { amount, endToEndId } = payment
        const booked = yield* findSettlement(sql, { connectionId: connectionOf(payment), endToEndId })
        if (booked === undefined || amount === undefined || amount === booked.amount) return "ignored"
        const isNew = yield* exceptions.raiseConflict(booked.amount, amount, payment, received, charge)
        return isNew ? "exception" : "ignored"
      })

      const pay = Effect.fnUntraced(function* (charge: StoredCharge, { atMs, endToEndId, payer }: Payment) {
        const change = yield* charges.paymentOf(charge, { endToEndId, paidAtMs: atMs, payer })
        // `processing`: the acquirer has not answered, and repeats the notification.
        if (change === undefined) return yield* new Unavailable({ reason: "too-slow" })
        yield* store.changeInTransaction(change)
        return "applied" as const
      })

      return ChargePayments.of({
        settle: Effect.fnUntraced(function* (payment, received) {
          const known = yield* findCharge(payment)
          const connectionId = connectionOf(payment)
          const { endToEndId } = payment
          yield* lockLedgerOf(sql, [connectionId, ...(known === undefined ? [] : [known.accountId])])
          const charge = known === undefined ? undefined : (yield* money.lock(known.id))?.charge
          const misfit = misfitOf(charge, payment, yield* Clock.currentTimeMillis)
          if (misfit === "duplicate") return "ignored"
          const amount = payment.amount ?? charge?.amount
          // Without an amount, no money is known to have arrived.
          if (amount === undefined) return "unknown"
          const paid = misfit === undefined ? charge : undefined
          if (endToEndId !== undefined) {
            // After the ledger is locked, as in a batch, and before what waits is read: who kept that has committed.
            const settlement = { id: paid?.id ?? received.id, amount }
            if (!(yield* claimSettlement(sql, { connectionId, endToEndId }, settlement))) {
              return yield* settleAgain({ ...payment, endToEndId }, received, charge)
            }
          }
          const arrived = { connectionId, endToEndId, isAccepted: paid !== undefined }
          if (paid !== undefined) return yield* reversals.withEarly(arrived, pay(paid, payment))
          if (misfit === undefined) return "unknown"
          const exception = yield* reversals.withEarly(
            arrived,
            exceptions.raisePayment(misfit, amount, payment, received, charge)
          )
          yield* resolution.applyRule(exception.id)
          return "exception"
        })
      })
    })
  )
}
