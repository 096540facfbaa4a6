/**
 * Returns and MEDs that wait for the payment of their Pix. The rows of `early_reversals`.
 *
 * What keeps a payment at the same moment from missing one is a row that both write: the settlement of the Pix.
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

/** A payment; of a Pix, but for what is sent back of a foreign payout. `isAccepted`: an account has the money. */
export interface ArrivedPayment {
  readonly connectionId: string
  readonly endToEndId: string | undefined
  readonly isAccepted: boolean
}

export class EarlyReversals extends Context.Service<
  EarlyReversals,
  {
    /** Keeps one until the payment of its Pix, whose settlement is awaited, or is an exception. */
    readonly keep: (received: ReceivedReversal) => Effect.Effect<void, SqlError>
    /** Notes a MED's return of these cents, which exceptions of its Pix gave, until an account accepts what is left of them. */
    readonly noteTaken: (reversal: Reversal, amount: number) => Effect.Effect<void, SqlError>
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

      const keep = ({ id, reversal }: ReceivedReversal, isTaken: boolean) =>
        Effect.asVoid(sql`
          INSERT INTO early_reversals (id, connection_id, end_to_end_id, is_taken, notification)
          VALUES (${id}::uuid, ${connectionOf(reversal)}::uuid, ${reversal.endToEndId}, ${isTaken}::boolean,
            ${JSON.stringify(reversal)}::json)`)

      return EarlyReversals.of({
        keep: (received) => keep(received, false),

        noteTaken: (reversal, amount) => keep({ id: ids.next().id, reversal: { ...reversal, amount } }, true),

        take: Effect.fnUntraced(function* ({ connectionId, endToEndId, isAccepted }) {
          const rows = yield* sql<Row>`
            DELETE FROM early_reversals
            WHERE end_to_end_id = ${endToEndId ?? null}::text AND connection_id = ${connectionId}::uuid
              AND (${isAccepted}::boolean OR NOT (is_taken OR notification ->> '_tag' = 'med.opened'))
            RETURNING id, is_taken, notification`
          const ordered = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
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
