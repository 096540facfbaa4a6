/**
 * Returns and MEDs that arrive before the payment of their charge (DSP-10).
 *
 * Guarantees:
 * - the notification is stored and its charge is marked: the payment and the deferred notifications are applied in one
 *   commit, so that nothing is spent in between;
 * - a payment that a process of the previous release commits, without them, is followed by them soon;
 * - they are applied in the order of their arrival, each once, by any process.
 */
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { describeCause } from "../observability/SafeCause.ts"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ChargeMoney } from "../charges/ChargeMoney.ts"
import type { ReportFacts } from "../charges/ChargeDecision.ts"
import { Charges } from "../charges/Charges.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import { Disputes } from "../disputes/Disputes.ts"
import { NotFoundError } from "../Errors.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { AcquirerNotification, type Reversal } from "../acquirer/AcquirerNotification.ts"
import type { ReceivedNotification } from "../acquirer/NotificationStore.ts"

/** True of a charge that may still be paid. */
export const awaitsPayment = ({ status }: StoredCharge): boolean => status === "processing" || status === "pending"

export class DeferredNotifications extends Context.Service<
  DeferredNotifications,
  {
    /** Stores a notification until the charge is paid, in a transaction that has locked the charge. */
    readonly defer: (charge: StoredCharge, received: ReceivedNotification) => Effect.Effect<void, SqlError>
    /** Pays a charge and applies its deferred notifications, in a transaction. False where its state does not allow it. */
    readonly pay: (
      chargeId: string,
      facts: ReportFacts
    ) => Effect.Effect<boolean, NotFoundError | Unavailable | SqlError>
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
      const disputes = yield* Disputes

      /** In a transaction that has locked the charge. */
      const applyAll = Effect.fnUntraced(function* (chargeId: string) {
        const rows = yield* sql<{ id: string; report: unknown }>`
          DELETE FROM deferred_reports WHERE charge_id = ${chargeId}::uuid RETURNING id, report`
        for (const { report } of rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
          const locked = yield* money.lock(chargeId)
          if (locked !== undefined) yield* disputes.reverse(locked, yield* decode(report))
        }
      })

      const settle = Effect.fnUntraced(
        function* (chargeId: string) {
          const locked = yield* money.lock(chargeId)
          if (locked !== undefined && awaitsPayment(locked.charge)) return
          yield* sql`UPDATE charges SET has_deferred_reports = false WHERE id = ${chargeId}::uuid`
          yield* applyAll(chargeId)
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      return DeferredNotifications.of({
        defer: Effect.fnUntraced(function* (charge, { id, notification }) {
          yield* sql`INSERT INTO deferred_reports (charge_id, id, report, due_at)
            VALUES (${charge.id}::uuid, ${id}::uuid, ${JSON.stringify(notification)}::json,
              now() + ${RETRY_MS}::double precision * interval '1 millisecond')`
          yield* sql`UPDATE charges SET has_deferred_reports = true WHERE id = ${charge.id}::uuid`
        }),

        pay: Effect.fnUntraced(function* (chargeId, facts) {
          const locked = yield* money.lock(chargeId)
          if (locked === undefined) return yield* new NotFoundError()
          const payment = yield* charges.paymentOf(locked.charge, facts)
          if (payment === undefined) return false
          yield* sql`UPDATE charges SET has_deferred_reports = false WHERE id = ${chargeId}::uuid`
          yield* store.changeInTransaction(payment)
          yield* applyAll(chargeId)
          return true
        }),

        applyDue: Effect.gen(function* () {
          const due = yield* runToCompletion(sql)(sql<{ charge_id: string }>`
            UPDATE deferred_reports SET due_at = now() + ${RETRY_MS}::double precision * interval '1 millisecond'
            WHERE (charge_id, id) IN (
              SELECT charge_id, id FROM deferred_reports WHERE due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING charge_id`)
          const chargeIds = [...new Set(due.map(({ charge_id }) => charge_id))]
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
          return due.length
        })
      })
    })
  )
}

const decode = (report: unknown) =>
  Effect.map(Effect.orDie(Schema.decodeUnknownEffect(AcquirerNotification)(report)), (decoded) => decoded as Reversal)

/** Time between two examinations of a charge whose payment may have been committed without them. */
const RETRY_MS = 30_000
