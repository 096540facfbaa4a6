/**
 * Payments of charges for which returns and MEDs have arrived before (DSP-10).
 *
 * Guarantees:
 * - the payment and the deferred notifications are applied in one commit, so that nothing is spent in between;
 * - a payment that a process of the previous release commits, without them, is followed by them soon;
 * - they are applied in the order of their arrival, each once, by any process.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { lockLedgerOf } from "../ledger/Ledger.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ChargeMoney } from "../payments/charges/ChargeMoney.ts"
import type { LockedCharge, ReportFacts } from "../payments/charges/ChargeDecision.ts"
import { Charges } from "../payments/charges/Charges.ts"
import { ChargeStore } from "../payments/charges/ChargeStore.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { DeferredStore, type ReceivedReversal } from "../payments/exceptions/DeferredStore.ts"
import { awaitsPayment, type PaymentArrived, Reversals } from "./Reversals.ts"

export class DeferredNotifications extends Context.Service<
  DeferredNotifications,
  {
    /**
     * Pays a charge that the caller's transaction has locked, and applies its deferred notifications. False where its state
     * does not allow it. `settlementClaimed`: the transaction has claimed the settlement for this charge.
     */
    readonly pay: (
      locked: LockedCharge,
      facts: ReportFacts,
      settlementClaimed: boolean
    ) => Effect.Effect<boolean, PaymentArrived | Unavailable | SqlError>
    /** Applies notifications whose payment has arrived, in its transaction. */
    readonly applyAll: (those: ReadonlyArray<ReceivedReversal>) => Effect.Effect<void, PaymentArrived | SqlError>
    /** Applies notifications of charges that no longer wait for a payment; how many were examined. */
    readonly applyDue: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/DeferredNotifications") {
  static readonly layer = Layer.effect(
    DeferredNotifications,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* ChargeStore
      const charges = yield* Charges
      const money = yield* ChargeMoney
      const deferred = yield* DeferredStore
      const reversals = yield* Reversals

      const applyAll = Effect.fnUntraced(function* (those: ReadonlyArray<ReceivedReversal>) {
        const receivedAtMs = yield* Clock.currentTimeMillis
        for (const { id, notification } of those) {
          yield* Effect.catchTag(
            reversals.apply({ id, notification, receivedAtMs }, notification),
            "NotFoundError",
            () => Effect.void
          )
        }
      })

      const settle = Effect.fnUntraced(
        function* (chargeId: string) {
          const [known] = yield* sql<{ account_id: string; connection_id: string | null }>`
            SELECT account_id, connection_id FROM charges WHERE id = ${chargeId}::uuid`
          if (known === undefined) return
          yield* lockLedgerOf(sql, [known.account_id, known.connection_id ?? SIMULATOR_CONNECTION])
          const locked = yield* money.lock(chargeId)
          if (locked !== undefined && awaitsPayment(locked.charge)) return
          yield* applyAll(yield* deferred.take(chargeId))
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      return DeferredNotifications.of({
        pay: Effect.fnUntraced(function* ({ charge }, facts, settlementClaimed) {
          const payment = yield* charges.paymentOf(charge, facts)
          if (payment === undefined) return false
          const those = yield* deferred.take(charge.id)
          yield* store.changeInTransaction({ ...payment, settlementClaimed })
          yield* applyAll(those)
          return true
        }),

        applyAll,

        applyDue: Effect.gen(function* () {
          const { chargeIds, examined } = yield* deferred.claimDue
          // A charge that fails delays no other, and is retried.
          const settleOne = (chargeId: string) =>
            Effect.catchCause(settle(chargeId), (cause) =>
              Effect.annotateLogs(
                Effect.logWarning("deferred notifications could not be applied", describeCause(cause)),
                {
                  charge_id: chargeId
                }
              )
            )
          yield* Effect.forEach(chargeIds, settleOne, { concurrency: 4, discard: true })
          return examined
        })
      })
    })
  )
}
