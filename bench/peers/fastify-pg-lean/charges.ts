/** The charge store: two statements for a creation, each a commit. */
import type { Pool } from "pg"
import type { ChargeStore } from "../fastify/charge.ts"
import { chargeStore as storeOfStatements } from "../fastify-pg/charges.ts"

export const chargeStore = (pool: Pool): ChargeStore => {
  const others = storeOfStatements(pool)
  return {
    ...others,
    hasReceiver: false,
    markEmitted: async (emitted) => {
      const { change, row } = emitted
      // Its own URL makes deliveries that the one statement does not.
      if (row.webhook_url !== null) return others.markEmitted(emitted)
      const { rows } = await pool.query({
        ...markEmitted,
        values: [
          row.id,
          row.br_code,
          change.id,
          row.account_id,
          row.application_id,
          row.sequence,
          change.data,
          change.createdAt
        ]
      })
      return rows.length === 1
    }
  }
}

const markEmitted = {
  name: "mark_emitted_lean",
  text: `WITH emitted AS (
      UPDATE charges SET status = 'pending', br_code = $2, sequence = $6, recover_at = NULL
      WHERE id = $1 AND status = 'processing' RETURNING id
    ), changed AS (
      INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
      SELECT $3, id, $4, $5, 'charge.pix', '{created,emitted}', 'pending', $6, $7, $8 FROM emitted
    ), delivered AS (
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, status,
        due_at, created_at)
      SELECT uuidv7(), $3, e.event, m.id, $4, w.id, w.url, w.destination, 'scheduled', now(), $8
      FROM emitted m JOIN webhook_endpoints w ON w.application_id = $5 AND w.deleted_at IS NULL
      CROSS JOIN unnest('{charge.pix.created,charge.pix.emitted}'::text[]) AS e(event)
      WHERE e.event = ANY (w.events)
    )
    SELECT id FROM emitted`
}
