/**
 * Settlements: what a connection's end-to-end id is here (CHG-9, BAL-11). The rows of `charge_settlements`.
 *
 * A settlement is awaited while only a return or MED of it has arrived. Its payment makes it a charge's, or an exception while it
 * pays none.
 *
 * Guarantees:
 * - a payment, and a return or MED that arrives first, write the same row. Of two at the same time, in any process, one waits
 *   for the commit of the other, so that neither misses the other, and a copy of a payment has no effect;
 * - an awaited settlement becomes a charge's or an exception, and an exception becomes a charge's. Nothing else changes it.
 *
 * Why: docs/decisions/0028-keys.md.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** The Pix of a connection. */
export interface Pix {
  readonly connectionId: string
  readonly endToEndId: string
}

export interface Settlement {
  /** The charge that it pays, or the exception that it is. */
  readonly id: string
  /** Cents, as its payment was first reported. */
  readonly amount: number
}

/** What a settlement is; `undefined` where its payment has not arrived. */
export const findSettlement = (
  sql: SqlClient,
  { connectionId, endToEndId }: Pix
): Effect.Effect<Settlement | undefined, SqlError> =>
  Effect.map(
    sql<{ charge_id: string; amount: bigint }>`SELECT charge_id, amount FROM charge_settlements
      WHERE end_to_end_id = ${endToEndId} AND connection_id = ${connectionId}::uuid AND charge_id IS NOT NULL`,
    ([row]) => (row === undefined ? undefined : { id: row.charge_id, amount: Number(row.amount) })
  )

/** Claims a settlement for the charge or exception of its payment. False where its payment has arrived before. */
export const claimSettlement = (
  sql: SqlClient,
  { connectionId, endToEndId }: Pix,
  { amount, id }: Settlement
): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`INSERT INTO charge_settlements AS s (end_to_end_id, connection_id, charge_id, amount)
      VALUES (${endToEndId}, ${connectionId}::uuid, ${id}::uuid, ${amount}::bigint)
      ON CONFLICT (end_to_end_id, connection_id) DO UPDATE SET charge_id = excluded.charge_id, amount = excluded.amount
        WHERE s.charge_id IS NULL
      RETURNING end_to_end_id`,
    ({ length }) => length > 0
  )

/** Makes a settlement awaited, so that its payment does not miss its return or MED. False where its payment has arrived. */
export const awaitSettlement = Effect.fnUntraced(function* (
  sql: SqlClient,
  pix: Pix
): Effect.fn.Return<boolean, SqlError> {
  yield* sql`INSERT INTO charge_settlements (end_to_end_id, connection_id)
    VALUES (${pix.endToEndId}, ${pix.connectionId}::uuid) ON CONFLICT DO NOTHING`
  return (yield* findSettlement(sql, pix)) === undefined
})

/** Passes the settlement of an exception to the charge that it pays. */
export const passSettlement = (
  sql: SqlClient,
  { connectionId, endToEndId }: Pix,
  exceptionId: string,
  chargeId: string
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(
    sql`UPDATE charge_settlements SET charge_id = ${chargeId}::uuid
      WHERE end_to_end_id = ${endToEndId} AND connection_id = ${connectionId}::uuid AND charge_id = ${exceptionId}::uuid`
  )

/** The connection of a charge, as settlements have it, in SQL. Null in the charge's row is the simulator's. */
export const connectionIn = (charge: string): string => `coalesce(${charge}.connection_id, '${SIMULATOR_CONNECTION}')`
