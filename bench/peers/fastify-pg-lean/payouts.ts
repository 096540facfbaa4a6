/** The payout store: a payout with its transfer, balances and outbox rows in one statement, under the balance's row lock. */
import type { Pool } from "pg"
import { nextId } from "../fastify/ids.ts"
import { type PayoutStore, toPayout } from "../fastify/payout.ts"
import { payoutStore as storeOfStatements } from "../fastify-pg/payouts.ts"

export const payoutStore = (pool: Pool): PayoutStore => {
  const others = storeOfStatements(pool)
  return {
    ...others,
    decide: async (requested) => {
      const { autoPayout, duplicateWindow, idempotencyKey, row: asked } = requested
      // The look-up of a duplicate, and deliveries to its own URL, are statements before and after.
      if (duplicateWindow > 0 || asked.webhook_url !== null || asked.application_id === null) {
        return others.decide(requested)
      }
      const row = { ...asked, status: autoPayout ? "processing" : "pending" }
      const [change, transfer] = [nextId(), nextId()]
      const { rows } = await pool.query<{ inserted: string }>({
        ...insertPayout,
        values: [
          row.id,
          row.account_id,
          row.application_id,
          idempotencyKey,
          row.status,
          row.amount,
          row.fee,
          row.description,
          row.reference,
          row.recipient_name,
          row.recipient_document,
          row.pix_key_type,
          row.pix_key,
          row.created_at,
          transfer.id,
          change.id,
          autoPayout ? ["created", "processing"] : ["created"],
          JSON.stringify({ ...toPayout(row), object: "payment" })
        ]
      })
      if (rows[0]?.inserted === "1") return row
      return (await others.findByKey(asked.application_id, idempotencyKey)) === undefined
        ? "insufficient balance"
        : "key is taken"
    }
  }
}

const insertPayout = {
  name: "insert_payout_lean",
  text: `WITH locked AS MATERIALIZED (
      SELECT balance FROM ledger_accounts WHERE owner_id = $2 AND kind = 'available' FOR NO KEY UPDATE
    ), inserted AS (
      INSERT INTO payouts (id, account_id, application_id, origin, idempotency_key, status, method, amount, fee,
        description, reference, recipient_name, recipient_document, pix_key_type, pix_key, created_at, sequence,
        due_at)
      SELECT $1, $2, $3, 'api', $4, $5, 'pix', $6, $7, $8, $9, $10, $11, $12, $13, $14, 1,
        CASE WHEN $5 = 'processing' THEN now() END
      FROM locked WHERE balance >= $6::bigint + $7::bigint
      ON CONFLICT (coalesce(application_id, account_id), origin, idempotency_key) WHERE idempotency_key IS NOT NULL
        DO NOTHING
      RETURNING id
    ), transferred AS (
      INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at)
      SELECT $15, $2, 'available', 'payouts_in_transit', $6::bigint + $7::bigint, id, 'payout.created', $14
      FROM inserted
    ), balanced AS (
      UPDATE ledger_accounts
      SET balance = balance + CASE kind WHEN 'available' THEN -1 ELSE 1 END * ($6::bigint + $7::bigint)
      WHERE owner_id = $2 AND kind IN ('available', 'payouts_in_transit') AND EXISTS (SELECT FROM inserted)
    ), changed AS (
      INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
      SELECT $16, id, $2, $3, 'payment.pix', $17, $5, 1, $18, $14 FROM inserted
    ), delivered AS (
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, status,
        due_at, created_at)
      SELECT uuidv7(), $16, e.event, i.id, $2, w.id, w.url, w.destination, 'scheduled', now(), $14
      FROM inserted i JOIN webhook_endpoints w ON w.application_id = $3 AND w.deleted_at IS NULL
      CROSS JOIN unnest($17::text[]) AS a(action) CROSS JOIN LATERAL (SELECT 'payment.pix.' || a.action AS event) e
      WHERE e.event = ANY (w.events)
    )
    SELECT count(*) AS inserted FROM inserted`
}
