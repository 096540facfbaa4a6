/**
 * Returns and MEDs that wait for the payment of their charge, in PostgreSQL.
 *
 * A charge with such notifications is marked, so that its payment is not applied without them. Every effect but `claimDue`
 * runs in a transaction that has locked the charge.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { AcquirerNotification, type Reversal } from "../../providers/AcquirerNotification.ts"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"

/** A return or MED with the id under which it was received. */
export interface ReceivedReversal {
  readonly id: string
  readonly notification: Reversal
}

export class DeferredStore extends Context.Service<
  DeferredStore,
  {
    readonly defer: (chargeId: string, received: ReceivedNotification) => Effect.Effect<void, SqlError>
    /** Takes the notifications of a charge, in the order of their arrival; with `endToEndId`, those of this Pix. */
    readonly take: (chargeId: string, endToEndId?: string) => Effect.Effect<ReadonlyArray<ReceivedReversal>, SqlError>
    /** Unmarks a charge: its notifications are due. */
    readonly release: (chargeId: string) => Effect.Effect<void, SqlError>
    /** The charges whose notifications are examined now; how many notifications they have. */
    readonly claimDue: Effect.Effect<
      { readonly chargeIds: ReadonlyArray<string>; readonly examined: number },
      Unavailable
    >
  }
>()("@pix-payments/server/DeferredStore") {
  static readonly layer = Layer.effect(
    DeferredStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const release = (chargeId: string) =>
        Effect.gen(function* () {
          yield* sql`UPDATE charges SET has_deferred_reports = false WHERE id = ${chargeId}::uuid AND has_deferred_reports`
          yield* sql`UPDATE deferred_reports SET due_at = now() WHERE charge_id = ${chargeId}::uuid`
        })

      return DeferredStore.of({
        defer: Effect.fnUntraced(function* (chargeId, { id, notification }) {
          yield* sql`INSERT INTO deferred_reports (charge_id, id, report, due_at)
            VALUES (${chargeId}::uuid, ${id}::uuid, ${JSON.stringify(notification)}::json,
              now() + ${RETRY_MS}::double precision * interval '1 millisecond')`
          yield* sql`UPDATE charges SET has_deferred_reports = true WHERE id = ${chargeId}::uuid`
        }),

        take: Effect.fnUntraced(function* (chargeId, endToEndId) {
          const rows = yield* sql<{ id: string; report: unknown }>`
            DELETE FROM deferred_reports
            WHERE charge_id = ${chargeId}::uuid
              AND (${endToEndId ?? null}::text IS NULL OR report->>'endToEndId' = ${endToEndId ?? null}::text)
            RETURNING id, report`
          yield* sql`UPDATE charges SET has_deferred_reports =
              EXISTS (SELECT 1 FROM deferred_reports WHERE charge_id = ${chargeId}::uuid)
            WHERE id = ${chargeId}::uuid AND has_deferred_reports`
          const ordered = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
          return yield* Effect.forEach(ordered, ({ id, report }) =>
            Effect.map(decodeReversal(report), (notification) => ({ id, notification }))
          )
        }),

        release,

        claimDue: Effect.map(
          runToCompletion(sql)(sql<{ charge_id: string }>`
            UPDATE deferred_reports SET due_at = now() + ${RETRY_MS}::double precision * interval '1 millisecond'
            WHERE (charge_id, id) IN (
              SELECT charge_id, id FROM deferred_reports WHERE due_at <= now()
              ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
            )
            RETURNING charge_id`),
          (due) => ({ chargeIds: [...new Set(due.map(({ charge_id }) => charge_id))], examined: due.length })
        )
      })
    })
  )
}

/** A stored return or MED. */
export const decodeReversal = (report: unknown): Effect.Effect<Reversal> =>
  Effect.map(Effect.orDie(Schema.decodeUnknownEffect(AcquirerNotification)(report)), (decoded) => decoded as Reversal)

/** Time between two examinations of a charge whose payment may have been committed without them. */
const RETRY_MS = 30_000
