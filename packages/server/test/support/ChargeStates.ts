/** States of charges that a test stored or changed by SQL. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { storeAll } from "../../src/schema/partitions/ChargeStates.ts"

/** Stores the states of all charges again. */
export const storeStates = Effect.gen(function* () {
  const sql = yield* SqlClient
  // The service may create charges meanwhile.
  const statements = ["LOCK TABLE charges IN SHARE ROW EXCLUSIVE MODE", ...storeAll]
  yield* sql.withTransaction(Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }))
})

/** Charges from the start on that lists do not find by their state, or find by another one. */
export const wrongStates = `
  SELECT c.id, c.status, s.status AS listed, p.account_id AS paid
  FROM (
    SELECT *, status = 'paid' AND end_to_end_id IS NOT NULL AS is_settled,
      CASE WHEN status = 'pending'
        THEN coalesce((extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807) ELSE 0 END AS lifetime_ms
    FROM charges WHERE id >= (SELECT value::uuid FROM installation WHERE name = 'charge_states_start')
  ) c
  LEFT JOIN charge_states s ON s.charge_id = c.id
  LEFT JOIN charge_settlements p ON p.charge_id = c.id AND p.account_id IS NOT NULL
  WHERE (s.account_id, s.status, s.lifetime_ms) IS DISTINCT FROM CASE WHEN c.origin = 'api' AND NOT c.is_settled
      THEN (c.account_id, c.status, c.lifetime_ms) ELSE (NULL::uuid, NULL::text, NULL::bigint) END
    OR p.account_id IS DISTINCT FROM CASE WHEN c.origin = 'api' AND c.is_settled THEN c.account_id END`
