/**
 * Returns and MEDs that wait for their payment. The rows of `early_reversals`.
 *
 * One that names its Pix waits for the payment of this Pix; one that does not, for the payment of its charge. What keeps a
 * payment at the same moment from missing it is a row that both write: the settlement of the Pix, or the charge, which is marked.
 *
 * Every effect here runs in a transaction that has locked that row.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import { AcquirerNotification, type Reversal } from "../../providers/AcquirerNotification.ts"
import { connectionOf } from "./Exceptions.ts"

/** A return or MED with the id under which it was received. */
export interface ReceivedReversal {
  readonly id: string
  readonly reversal: Reversal
}

/** `isTaken`: a return whose cents exceptions gave; its MED alone is to be named. */
export interface EarlyReversal extends ReceivedReversal {
  readonly isTaken: boolean
}

/**
 * A payment: of a Pix, which exceptions of a few kinds have not, and of the charge that it pays, if it pays one. `isAccepted`: an
 * account has the money.
 */
export interface ArrivedPayment {
  readonly connectionId: string
  readonly endToEndId: string | undefined
  readonly chargeId: string | undefined
  readonly isAccepted: boolean
}

export class EarlyReversals extends Context.Service<
  EarlyReversals,
  {
    /** Keeps one until the payment of its Pix, whose settlement is awaited, or is an exception. */
    readonly keepForPix: (received: ReceivedReversal, endToEndId: string) => Effect.Effect<void, SqlError>
    /** Notes a MED's return of these cents, which exceptions of its Pix gave, until an account accepts what is left of them. */
    readonly noteTaken: (reversal: Reversal, endToEndId: string, amount: number) => Effect.Effect<void, SqlError>
    /** Keeps one until the payment of its charge. */
    readonly keepForCharge: (received: ReceivedReversal, chargeId: string) => Effect.Effect<void, SqlError>
    /**
     * Takes those that a payment ends the wait of, in the order of their arrival. A MED, and what was taken before, waits for one
     * that an account has.
     */
    readonly take: (payment: ArrivedPayment) => Effect.Effect<ReadonlyArray<EarlyReversal>, SqlError>
  }
>()("@pix-payments/server/EarlyReversals") {
  static readonly layer = Layer.effect(
    EarlyReversals,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const keep = (
        { id, reversal }: ReceivedReversal,
        key: { readonly endToEndId: string } | { readonly chargeId: string },
        isTaken = false
      ) =>
        sql`INSERT INTO early_reversals (id, connection_id, end_to_end_id, charge_id, is_taken, notification)
          VALUES (${id}::uuid, ${connectionOf(reversal)}::uuid, ${"endToEndId" in key ? key.endToEndId : null}::text,
            ${"chargeId" in key ? key.chargeId : null}::uuid, ${isTaken}, ${JSON.stringify(reversal)}::json)`

      return EarlyReversals.of({
        keepForPix: (received, endToEndId) => Effect.asVoid(keep(received, { endToEndId })),

        noteTaken: (reversal, endToEndId, amount) =>
          Effect.asVoid(keep({ id: ids.next().id, reversal: { ...reversal, amount } }, { endToEndId }, true)),

        keepForCharge: Effect.fnUntraced(function* (received, chargeId) {
          yield* keep(received, { chargeId })
          yield* sql`UPDATE charges SET has_early_reversals = true WHERE id = ${chargeId}::uuid`
        }),

        take: Effect.fnUntraced(function* ({ chargeId, connectionId, endToEndId, isAccepted }) {
          const rows = yield* sql<Row>`
            DELETE FROM early_reversals
            WHERE end_to_end_id = ${endToEndId ?? null}::text AND connection_id = ${connectionId}::uuid
              AND (${isAccepted}::boolean OR NOT (is_taken OR notification ->> '_tag' = 'med.opened'))
            RETURNING id, is_taken, notification`
          const ofCharge =
            chargeId !== undefined
              ? yield* sql<Row>`
                DELETE FROM early_reversals WHERE charge_id = ${chargeId}::uuid RETURNING id, is_taken, notification`
              : []
          if (ofCharge.length > 0) {
            yield* sql`UPDATE charges SET has_early_reversals = false WHERE id = ${chargeId ?? null}::uuid`
          }
          const ordered = [...rows, ...ofCharge].toSorted((a, b) => (a.id < b.id ? -1 : 1))
          return yield* Effect.forEach(ordered, ({ id, is_taken: isTaken, notification }) =>
            Effect.map(decodeReversal(notification), (reversal) => ({ id, reversal, isTaken }))
          )
        })
      })
    })
  )
}

interface Row {
  readonly id: string
  readonly is_taken: boolean
  readonly notification: unknown
}

const decodeReversal = (stored: unknown): Effect.Effect<Reversal> =>
  Effect.map(
    Effect.orDie(Schema.decodeUnknownEffect(AcquirerNotification)(stored)),
    // Nothing else is kept.
    (decoded) => decoded as Reversal
  )
