/**
 * The charge store: one charge and one statement at a time.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { Pool } from "pg"
import { chargeColumns, type ChargeRow, type ChargeStore, type ListQuery } from "../fastify/charge.ts"

export const chargeStore = (pool: Pool): ChargeStore => ({
  hasReceiver: true,

  insert: async ({ customerPhone, idempotencyKey, recoverAt, row }) => {
    const { rowCount } = await pool.query({
      ...insertCharge,
      values: [
        row.id,
        row.account_id,
        row.application_id,
        idempotencyKey,
        row.amount,
        row.description,
        row.reference,
        row.customer_name,
        row.customer_email,
        row.customer_document,
        customerPhone,
        row.webhook_url,
        row.webhook_secret,
        row.expires_at,
        row.created_at,
        recoverAt
      ]
    })
    return rowCount === 1
  },

  markEmitted: async ({ change, row }) => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      const { rowCount } = await client.query({
        ...updateEmitted,
        values: [row.id, row.br_code, row.receiver === null ? null : JSON.stringify(row.receiver)]
      })
      if (rowCount === 0) {
        await client.query("ROLLBACK")
        return false
      }
      await client.query({
        ...insertChange,
        values: [change.id, row.id, row.account_id, row.application_id, row.sequence, change.data, change.createdAt]
      })
      const parameters = [change.id, row.id, row.account_id, change.createdAt, row.application_id]
      await client.query({ ...insertDeliveriesToEndpoints, values: parameters })
      if (row.webhook_url !== null) {
        const url = new URL(row.webhook_url)
        await client.query({
          ...insertDeliveriesToUrl,
          values: [...parameters, row.webhook_url, url.origin, row.webhook_secret, url.href]
        })
      }
      await client.query("COMMIT")
      return true
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {})
      throw error
    } finally {
      client.release()
    }
  },

  find: async (id) => {
    const { rows } = await pool.query<ChargeRow>({ ...findById, values: [id] })
    return rows[0]
  },

  findByKey: async (applicationId, key) => {
    const { rows } = await pool.query<ChargeRow>({ ...findByKey, values: [applicationId, key] })
    return rows[0]
  },

  list: (accountId, query, now) => listCharges(pool, accountId, query, now),

  claimDueRecoveries: async () => {
    const { rows } = await pool.query<ChargeRow & { merchant_name: string; merchant_document: string }>(
      claimDueRecoveries
    )
    return rows.map((row) => ({ row, merchant: { name: row.merchant_name, document: row.merchant_document } }))
  }
})

/** A page. Each set of filters has its own prepared statement and so its own plan. */
const listCharges = async (
  pool: Pool,
  accountId: string,
  query: ListQuery,
  now: Date
): Promise<ReadonlyArray<ChargeRow> | undefined> => {
  if (query.startingAfter !== undefined) {
    const { rowCount } = await pool.query({ ...findCursor, values: [accountId, query.startingAfter] })
    if (rowCount === 0) return undefined
  }
  const values: Array<unknown> = [accountId]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions: Array<string> = []
  if (query.startingAfter !== undefined) conditions.push(`id < ${parameter(query.startingAfter)}`)
  if (query.status === "expired") {
    conditions.push(`status = 'pending' AND expires_at <= ${parameter(now)}`)
  } else if (query.status === "pending") {
    conditions.push(`status = 'pending' AND (expires_at IS NULL OR expires_at > ${parameter(now)})`)
  } else if (query.status !== undefined) {
    conditions.push(`status = ${parameter(query.status)}`)
  }
  if (query.method !== undefined) conditions.push(`method = ${parameter(query.method)}`)
  // Ids contain the millisecond of creation, so a time range is an id range.
  if (query.createdAfterMs !== undefined) {
    conditions.push(`id >= ${parameter(lowestIdAt(Math.floor(query.createdAfterMs) + 1))}`)
  }
  if (query.createdBeforeMs !== undefined) {
    conditions.push(`id < ${parameter(lowestIdAt(Math.ceil(query.createdBeforeMs)))}`)
  }
  const text = `SELECT ${chargeColumns} FROM charges WHERE ${["account_id = $1", "origin = 'api'", ...conditions].join(" AND ")}
    ORDER BY id DESC LIMIT ${parameter(query.limit + 1)}`
  let name = statementNames.get(text)
  if (name === undefined) statementNames.set(text, (name = `list_charges_${statementNames.size}`))
  const { rows } = await pool.query<ChargeRow>({ name, text, values })
  return rows
}

const statementNames = new Map<string, string>()

const findCursor = {
  name: "find_cursor",
  text: "SELECT 1 FROM charges WHERE account_id = $1 AND origin = 'api' AND id = $2"
}

const insertCharge = {
  name: "insert_charge",
  text: `INSERT INTO charges (id, account_id, application_id, origin, idempotency_key, status, method, amount,
      description, reference, customer_name, customer_email, customer_document, customer_phone, webhook_url,
      webhook_secret, expires_at, created_at, sequence, recover_at)
    VALUES ($1, $2, $3, 'api', $4, 'processing', 'pix', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, $16)
    ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`
}

const findByKey = {
  name: "find_by_key",
  text: `SELECT ${chargeColumns} FROM charges WHERE application_id = $1 AND origin = 'api' AND idempotency_key = $2`
}

const findById = { name: "find_by_id", text: `SELECT ${chargeColumns} FROM charges WHERE id = $1 AND origin = 'api'` }

const updateEmitted = {
  name: "mark_emitted",
  text: `UPDATE charges SET status = 'pending', br_code = $2, receiver = $3, sequence = sequence + 1, recover_at = NULL
    WHERE id = $1 AND status = 'processing'`
}

const insertChange = {
  name: "insert_change",
  text: `INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
      created_at)
    VALUES ($1, $2, $3, $4, 'charge.pix', '{created,emitted}', 'pending', $5, $6, $7)`
}

/** Deliveries to the subscribed endpoints of the application. */
const insertDeliveriesToEndpoints = {
  name: "insert_deliveries_to_endpoints",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, w.id, w.url, w.destination, 'scheduled', now(), $4
    FROM webhook_endpoints w CROSS JOIN unnest('{charge.pix.created,charge.pix.emitted}'::text[]) AS e(event)
    WHERE w.application_id = $5 AND w.deleted_at IS NULL AND e.event = ANY (w.events)`
}

/** Deliveries to `webhook_url`, unless a subscribed endpoint has the same URL. */
const insertDeliveriesToUrl = {
  name: "insert_deliveries_to_url",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, $6, $7, $8, 'scheduled', now(), $4
    FROM unnest('{charge.pix.created,charge.pix.emitted}'::text[]) AS e(event)
    WHERE NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.application_id = $5 AND w.deleted_at IS NULL AND w.normalized_url = $9 AND e.event = ANY (w.events)
    )`
}

const claimDueRecoveries = {
  name: "claim_due_recoveries",
  text: `UPDATE charges c SET recover_at = now() + interval '6 seconds' FROM accounts a
    WHERE a.id = c.account_id AND c.id IN (
      SELECT id FROM charges WHERE status = 'processing' AND recover_at <= now()
      ORDER BY recover_at LIMIT 50 FOR UPDATE SKIP LOCKED
    )
    RETURNING c.*, a.name AS merchant_name, a.document AS merchant_document`
}
