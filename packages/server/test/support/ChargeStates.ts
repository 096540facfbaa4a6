/** States of charges that a test stored or changed by SQL. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { storeAll } from "../../src/sql/partitions/ChargeStates.ts"

/** Stores the states of all charges again. */
export const storeStates = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.withTransaction(Effect.forEach(storeAll, (statement) => sql.unsafe(statement), { discard: true }))
})

/** Charges that lists do not find by their state, or find by another one. */
export const wrongStates = `
  SELECT c.id, c.status, s.status AS listed, p.account_id AS paid
  FROM charges c
  LEFT JOIN charge_states s ON s.charge_id = c.id
  LEFT JOIN charge_settlements p ON p.charge_id = c.id AND p.account_id IS NOT NULL
  WHERE c.origin = 'api' AND (
    (p.account_id IS NOT NULL) IS DISTINCT FROM (c.status = 'paid' AND c.end_to_end_id IS NOT NULL)
    OR s.status IS DISTINCT FROM CASE WHEN c.status = 'paid' AND c.end_to_end_id IS NOT NULL THEN NULL ELSE c.status END
    OR s.account_id <> c.account_id OR p.account_id <> c.account_id
    OR s.lifetime_ms <> CASE WHEN c.status = 'pending'
      THEN coalesce((extract(epoch FROM c.expires_at - c.created_at) * 1000)::bigint, 9223372036854775807) ELSE 0 END
  ) OR c.origin <> 'api' AND (s.charge_id IS NOT NULL OR p.account_id IS NOT NULL)`
