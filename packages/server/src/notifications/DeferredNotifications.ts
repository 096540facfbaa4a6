/**
 * Returns and MEDs that overtake the payment of their charge.
 *
 * Guarantees:
 * - such a report is kept, and the charge remembers that it is: its payment and what overtook it are one commit, so that
 *   nothing is spent in between;
 * - a payment that a process of the release before commits, which knows nothing of this, is followed by them soon;
 * - they are applied in the order in which they came, each once, by whichever process.
 *
 * Rules: DSP-10.
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

/** True of a charge whose payment may still come. */
export const awaitsPayment = ({ status }: StoredCharge): boolean => status === "processing" || status === "pending"

export class DeferredNotifications extends Context.Service<
  DeferredNotifications,
  {
    /** Within a transaction that has locked the charge: keeps a report until its payment. */
    readonly defer: (charge: StoredCharge, received: ReceivedNotification) => Effect.Effect<void, SqlError>
    /** Within a transaction: pays a charge, and applies what overtook its payment. False: its state does not allow it. */
    readonly pay: (
      chargeId: string,
      facts: ReportFacts
    ) => Effect.Effect<boolean, NotFoundError | Unavailable | SqlError>
    /** Applies what is left of charges that do not wait for a payment any more; how many reports were looked at. */
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

      /** Within a transaction that has locked the charge. */
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
        defer: Effect.fnUntraced(function* (charge, { id, report }) {
          yield* sql`INSERT INTO deferred_reports (charge_id, id, report, due_at)
            VALUES (${charge.id}::uuid, ${id}::uuid, ${JSON.stringify(report)}::json,
              now() + ${LOOK_AGAIN_MS}::double precision * interval '1 millisecond')`
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
            UPDATE deferred_reports SET due_at = now() + ${LOOK_AGAIN_MS}::double precision * interval '1 millisecond'
            WHERE (charge_id, id) IN (
              SELECT charge_id, id FROM deferred_reports WHERE due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING charge_id`)
          const chargeIds = [...new Set(due.map(({ charge_id }) => charge_id))]
          // One that cannot be settled now holds up no other: it is looked at again.
          const settleOne = (chargeId: string) =>
            Effect.catchCause(settle(chargeId), (cause) =>
              Effect.annotateLogs(Effect.logWarning("deferred reports could not be applied", describeCause(cause)), {
                charge_id: chargeId
              })
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

/** How soon it is looked whether a payment came that did not take them along. */
const LOOK_AGAIN_MS = 30_000
