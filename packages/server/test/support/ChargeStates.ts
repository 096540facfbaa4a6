/** States of charges that a test stored or changed by SQL. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSettled, lifetimeIn, listedStateOf } from "../../src/payments/charges/ChargeStates.ts"
import { connectionIn } from "../../src/payments/charges/Settlements.ts"

/** Stores the states of all charges again. */
export const storeStates = Effect.gen(function* () {
  const sql = yield* SqlClient
  // The service may create charges meanwhile.
  const statements = [
    "LOCK TABLE charges IN SHARE ROW EXCLUSIVE MODE",
    `INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount)
      SELECT end_to_end_id, ${connectionIn("charges")}::uuid, id, amount FROM charges
      WHERE end_to_end_id IS NOT NULL ON CONFLICT DO NOTHING`,
    "DELETE FROM charge_states",
    `INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
      SELECT account_id, ${listedStateOf("status")}, ${lifetimeIn("status")}, id FROM charges
      WHERE origin = 'api' AND NOT (${isSettled("status", "end_to_end_id")})`,
    `UPDATE charge_settlements s SET account_id = CASE WHEN c.status = 'paid' AND c.origin = 'api' THEN c.account_id END
      FROM charges c WHERE s.charge_id = c.id AND s.end_to_end_id = c.end_to_end_id`
  ]
  yield* sql.withTransaction(Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }))
})

/** Charges that lists do not find by their state, or find by another one. */
export const wrongStates = `
  SELECT c.id, c.status, s.status AS listed, p.account_id AS paid
  FROM (
    SELECT *, CASE status WHEN 'processing' THEN 'pending' ELSE status END AS state, status = 'paid' AND end_to_end_id IS NOT NULL AS is_settled,
      CASE WHEN status IN ('pending', 'processing')
        THEN coalesce((extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807) ELSE 0 END AS lifetime_ms
    FROM charges
  ) c
  LEFT JOIN charge_states s ON s.charge_id = c.id
  LEFT JOIN charge_settlements p ON p.charge_id = c.id AND p.account_id IS NOT NULL
  WHERE (s.account_id, s.status, s.lifetime_ms) IS DISTINCT FROM CASE WHEN c.origin = 'api' AND NOT c.is_settled
      THEN (c.account_id, c.state, c.lifetime_ms) ELSE (NULL::uuid, NULL::text, NULL::bigint) END
    OR p.account_id IS DISTINCT FROM CASE WHEN c.origin = 'api' AND c.is_settled THEN c.account_id END`
