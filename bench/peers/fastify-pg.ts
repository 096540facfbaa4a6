/**
 * Charges and payouts as a careful team writes them by hand on Fastify 5 and `pg`: one statement after the other.
 *
 * It keeps the promises of the contract (see `fastify/`). Schema, indexes and durability are those of our server (the
 * bench runs its migrations here). What helps it is in: named prepared statements, response serializers compiled from
 * schemas, one row for both events, request lines written in batches.
 *
 * Environment: PORT, DATABASE_URL, DATABASE_CONNECTIONS (20: measured as its best, see the guide).
 */
import { makePool, selectCaller, serve } from "./fastify/app.ts"
import type { Caller } from "./fastify/contract.ts"
import { chargeStore } from "./fastify-pg/charges.ts"
import { payoutStore } from "./fastify-pg/payouts.ts"

const pool = makePool(20)

const findCaller = { name: "find_caller", text: `${selectCaller} AND k.hash = $1` }

const insertRequests = {
  name: "insert_requests",
  text: `WITH lines AS (
      INSERT INTO requests (id, request_id, key_id, account_id, route, status, duration_us, at)
      SELECT id, request_id, key_id, account_id, route, status, duration_us, to_timestamp(at / 1000.0)
      FROM json_to_recordset($1::json) AS r(id uuid, request_id text, key_id uuid, account_id uuid, route text,
        status integer, duration_us integer, at bigint)
      RETURNING key_id, at
    )
    UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
    FROM (SELECT key_id, max(at) AS at FROM lines WHERE key_id IS NOT NULL GROUP BY key_id) u
    WHERE k.id = u.key_id`
}

await serve(pool, {
  findCaller: async (hash) => {
    const { rows } = await pool.query<Caller>({ ...findCaller, values: [hash] })
    return rows[0]
  },
  charges: chargeStore(pool),
  payouts: payoutStore(pool),
  writeLines: (lines) => pool.query({ ...insertRequests, values: [JSON.stringify(lines)] })
})
