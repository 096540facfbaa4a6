/**
 * The peer on Fastify and `pg` with the batching of our service: one statement for concurrent requests, one batch of a
 * kind in flight, no timer.
 *
 * Why: it shares routes, validation and JSON with `fastify-pg.ts` (see `fastify/`), so that the cost of our HTTP layer
 * shows beside it.
 *
 * Environment: PORT, DATABASE_URL, DATABASE_CONNECTIONS (10: batches need one each, pages the rest).
 */
import { makePool, selectCaller, serve } from "./fastify/app.ts"
import type { Caller } from "./fastify/contract.ts"
import { batched } from "./fastify-pg-batched/batched.ts"
import { batchedChargeStore } from "./fastify-pg-batched/charges.ts"
import { batchedPayoutStore } from "./fastify-pg-batched/payouts.ts"
import { rowsOf } from "./fastify-pg-batched/rows.ts"

const pool = makePool(10)

const findCallers = { name: "find_callers", text: `${selectCaller} AND k.hash = ANY ($1::text[])` }

const requestRows = rowsOf({
  id: "uuid",
  request_id: "text",
  key_id: "uuid",
  account_id: "uuid",
  route: "text",
  status: "integer",
  duration_us: "integer",
  at: "bigint"
})

const insertRequests = {
  name: "insert_requests",
  text: `WITH inserted_requests AS (
      INSERT INTO requests (id, request_id, key_id, account_id, route, status, duration_us, at)
      SELECT id, request_id, key_id, account_id, route, status, duration_us, to_timestamp(at / 1000.0)
      FROM ${requestRows.from(1)}
      RETURNING key_id, at
    )
    UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
    FROM (SELECT key_id, max(at) AS at FROM inserted_requests WHERE key_id IS NOT NULL GROUP BY key_id) u
    WHERE k.id = u.key_id`
}

await serve(pool, {
  findCaller: batched<string, Caller | undefined>(500, async (hashes) => {
    const { rows } = await pool.query<Caller & { readonly hash: string }>({
      ...findCallers,
      values: [[...new Set(hashes)]]
    })
    const byHash = new Map(rows.map((row) => [row.hash, row]))
    return hashes.map((hash) => byHash.get(hash))
  }),
  charges: batchedChargeStore(pool),
  payouts: batchedPayoutStore(pool),
  insertRequests: (rows) => pool.query({ ...insertRequests, values: [...requestRows.values(rows)] })
})
