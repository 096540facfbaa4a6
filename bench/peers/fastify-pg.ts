/**
 * Charges and payouts on Fastify 5 and `pg`, written by hand, one statement at a time.
 *
 * It follows the contract (see `fastify/`). Schema, indexes and durability are those of our server. It uses named
 * prepared statements, serializers compiled from response schemas, one change for two events, and batched inserts of
 * the request log.
 *
 * Environment: PORT, DATABASE_URL, DATABASE_CONNECTIONS (20, its fastest setting).
 */
import { makePool, selectCaller, serve } from "./fastify/app.ts"
import type { Caller } from "./fastify/contract.ts"
import { chargeStore } from "./fastify-pg/charges.ts"
import { payoutStore } from "./fastify-pg/payouts.ts"

const pool = makePool(20)

const findCaller = { name: "find_caller", text: `${selectCaller} AND k.hash = $1` }

const insertRequests = {
  name: "insert_requests",
  text: `WITH inserted_requests AS (
      INSERT INTO requests (id, request_id, key_id, account_id, route, status, duration_us, at)
      SELECT id, request_id, key_id, account_id, route, status, duration_us, to_timestamp(at / 1000.0)
      FROM json_to_recordset($1::json) AS r(id uuid, request_id text, key_id uuid, account_id uuid, route text,
        status integer, duration_us integer, at bigint)
      RETURNING key_id, at
    )
    UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
    FROM (SELECT key_id, max(at) AS at FROM inserted_requests WHERE key_id IS NOT NULL GROUP BY key_id) u
    WHERE k.id = u.key_id`
}

await serve(pool, {
  findCaller: async (hash) => {
    const { rows } = await pool.query<Caller>({ ...findCaller, values: [hash] })
    return rows[0]
  },
  charges: chargeStore(pool),
  payouts: payoutStore(pool),
  insertRequests: (rows) => pool.query({ ...insertRequests, values: [JSON.stringify(rows)] })
})
