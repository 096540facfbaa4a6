/**
 * Charges and payouts on Fastify 5 and `pg`, as lean as a good engineer makes them without batching.
 *
 * It has what `fastify-pg.ts` has, but for: no request log, no receiver object, one statement for each step instead of a
 * transaction of several, and deliveries only where an endpoint or the charge asks for them. The API key is looked up
 * for every request.
 *
 * Environment: PORT, DATABASE_URL, DATABASE_CONNECTIONS (20, its fastest setting).
 */
import { makePool, selectCaller, serve } from "./fastify/app.ts"
import type { Caller } from "./fastify/contract.ts"
import { chargeStore } from "./fastify-pg-lean/charges.ts"
import { payoutStore } from "./fastify-pg-lean/payouts.ts"

const pool = makePool(20)

const findCaller = { name: "find_caller", text: `${selectCaller} AND k.hash = $1` }

await serve(pool, {
  findCaller: async (hash) => {
    const { rows } = await pool.query<Caller>({ ...findCaller, values: [hash] })
    return rows[0]
  },
  charges: chargeStore(pool),
  payouts: payoutStore(pool)
})
