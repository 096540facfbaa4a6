/**
 * The batched charge store: many charges in one statement and one commit.
 */
import type { Pool } from "pg"
import {
  chargeColumns,
  type ChargeRow,
  type ChargeStore,
  type EmittedCharge,
  type NewCharge
} from "../fastify/charge.ts"
import { chargeStore } from "../fastify-pg/charges.ts"
import { batched } from "./batched.ts"
import { rowsOf } from "./rows.ts"
import { outboxCtes, outboxParameters } from "./outbox.ts"

export const batchedChargeStore = (pool: Pool): ChargeStore => ({
  // Lists, replays and recoveries gain nothing from batching.
  ...chargeStore(pool),

  insert: batched<NewCharge, boolean>(200, async (charges) => {
    const { rows } = await pool.query<{ readonly id: string }>({
      ...insertMany,
      values: [
        ...newRows.values(
          charges.map(({ customerPhone, idempotencyKey, recoverAt, row }) => ({
            ...row,
            idempotency_key: idempotencyKey,
            customer_phone: customerPhone,
            recover_at: recoverAt
          }))
        )
      ]
    })
    const inserted = new Set(rows.map(({ id }) => id))
    return charges.map(({ row }) => inserted.has(row.id))
  }),

  markEmitted: batched<EmittedCharge, boolean>(200, async (charges) => {
    // Only the first of several changes of one charge can succeed.
    const firsts = new Map<string, EmittedCharge>()
    for (const each of charges) if (!firsts.has(each.row.id)) firsts.set(each.row.id, each)
    const changes = [...firsts.values()]
    const { rows } = await pool.query<{ readonly id: string }>({
      ...markManyEmitted,
      values: [
        ...emittedRows.values(changes.map(({ row }) => ({ ...row, receiver: JSON.stringify(row.receiver) }))),
        ...outboxParameters(
          changes.map(({ change, row }) => ({ ...change, row, kind: "charge.pix", actions: ["created", "emitted"] }))
        )
      ]
    })
    const done = new Set(rows.map(({ id }) => id))
    return charges.map((each) => firsts.get(each.row.id) === each && done.has(each.row.id))
  }),

  find: batched<string, ChargeRow | undefined>(500, async (ids) => {
    const { rows } = await pool.query<ChargeRow>({ ...findMany, values: [ids] })
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.map((id) => byId.get(id))
  })
})

const newRows = rowsOf({
  id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  idempotency_key: "text",
  status: "text",
  method: "text",
  amount: "bigint",
  description: "text",
  reference: "text",
  customer_name: "text",
  customer_email: "text",
  customer_document: "text",
  customer_phone: "text",
  webhook_url: "text",
  webhook_secret: "text",
  expires_at: "timestamptz",
  created_at: "timestamptz",
  sequence: "integer",
  recover_at: "timestamptz"
})

const insertMany = {
  name: "insert_charges",
  text: `INSERT INTO charges (id, account_id, application_id, idempotency_key, status, method, amount, description,
      reference, customer_name, customer_email, customer_document, customer_phone, webhook_url, webhook_secret,
      expires_at, created_at, sequence, recover_at, origin)
    SELECT r.*, 'api' FROM ${newRows.from(1)}
    ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id`
}

const emittedRows = rowsOf({ id: "uuid", br_code: "text", receiver: "json", sequence: "integer" })

const markManyEmitted = {
  name: "mark_charges_emitted",
  text: `WITH changed AS (
      UPDATE charges c SET status = 'pending', br_code = r.br_code, receiver = r.receiver, sequence = r.sequence,
        recover_at = NULL
      FROM ${emittedRows.from(1)}
      WHERE c.id = r.id AND c.sequence = r.sequence - 1 AND c.status || '' = 'processing'
      RETURNING c.id
    ),
    ${outboxCtes(1 + emittedRows.width)}
    SELECT id FROM changed`
}

const findMany = {
  name: "find_charges",
  text: `SELECT ${chargeColumns} FROM charges WHERE id = ANY ($1::uuid[]) AND origin = 'api'`
}
