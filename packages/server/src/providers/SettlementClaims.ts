/**
 * Claims of settlements: a payment with an end-to-end id has an effect once (CHG-9, BAL-11).
 *
 * The claim is a row of `charge_settlements`, whose primary key is the end-to-end id. Its `charge_id` is
 * - the charge that the settlement pays;
 * - the exception that it is, while it pays no charge;
 * - `AWAITED`, where a return or MED arrived before it.
 *
 * Guarantees:
 * - a payment, a return before it and an exception insert this row, or change it from what it was. So of two at the same time,
 *   in any process and through any connection, one waits for the commit of the other;
 * - `AWAITED` becomes a charge or an exception, and an exception becomes a charge. Nothing else changes a claim.
 *
 * Why: docs/decisions/0040-one-claim-of-a-settlement.md.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** The `charge_id` of a settlement whose return or MED arrived before its payment. No charge has this id. */
export const AWAITED = "00000000-0000-0000-0000-000000000000"

/** True: the claims of `charge_settlements` are the only ones. */
export const claimsSettlementsOnce = (_sql: SqlClient, atStart: boolean): Effect.Effect<boolean, SqlError> =>
  Effect.succeed(atStart)

/** True where the payment of a settlement has been applied, or is an exception. */
export const hasArrived = (sql: SqlClient, endToEndId: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`SELECT FROM charge_settlements WHERE end_to_end_id = ${endToEndId} AND charge_id <> ${AWAITED}::uuid`,
    ({ length }) => length > 0
  )

/** Claims the settlement of a payment for a charge or an exception. False where its payment has arrived before. */
export const claimSettlement = (
  sql: SqlClient,
  endToEndId: string,
  chargeOrException: string
): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`INSERT INTO charge_settlements AS s (end_to_end_id, charge_id) VALUES (${endToEndId}, ${chargeOrException}::uuid)
      ON CONFLICT (end_to_end_id) DO UPDATE SET charge_id = excluded.charge_id WHERE s.charge_id = ${AWAITED}::uuid
      RETURNING end_to_end_id`,
    ({ length }) => length > 0
  )

/** Claims the settlement of a payment that has not arrived, for its return or MED. False where it has arrived. */
export const awaitSettlement = Effect.fnUntraced(function* (
  sql: SqlClient,
  endToEndId: string
): Effect.fn.Return<boolean, SqlError> {
  const claimed = yield* sql`INSERT INTO charge_settlements (end_to_end_id, charge_id)
    VALUES (${endToEndId}, ${AWAITED}::uuid) ON CONFLICT DO NOTHING RETURNING end_to_end_id`
  return claimed.length > 0 || !(yield* hasArrived(sql, endToEndId))
})

/** Passes the claim of an exception to the charge that it pays. False where the exception has no claim here. */
export const passSettlement = (
  sql: SqlClient,
  endToEndId: string,
  exceptionId: string,
  chargeId: string
): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`UPDATE charge_settlements SET charge_id = ${chargeId}::uuid
      WHERE end_to_end_id = ${endToEndId} AND charge_id = ${exceptionId}::uuid RETURNING end_to_end_id`,
    ({ length }) => length > 0
  )
