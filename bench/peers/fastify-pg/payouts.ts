/**
 * The payout store: one payout and one statement at a time.
 *
 * Guarantees:
 * - a payout, its transfer and its outbox rows are one transaction, under a row lock of the available balance;
 * - due payouts are claimed with a lease and submitted four at a time.
 *
 * The acquirer is a map in this process, which is cheaper than the rows of our simulator.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off
import { makeEndToEndId } from "@pix-payments/domain/EndToEndId"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { Pool, PoolClient } from "pg"
import { nextId } from "../fastify/ids.ts"
import { payoutColumns, type PayoutRow, type PayoutStore, toPayout } from "../fastify/payout.ts"

export const payoutStore = (pool: Pool): PayoutStore => {
  const transfer = async (client: PoolClient, row: PayoutRow, kinds: readonly [string, string], cents: number) => {
    if (cents === 0) return
    const { epochMs, id } = nextId()
    const reason = `payout.${row.status === "completed" || row.status === "failed" ? row.status : "created"}`
    await client.query({
      ...insertTransfer,
      values: [id, row.account_id, ...kinds, cents, row.id, reason, new Date(epochMs)]
    })
  }

  const add = async (client: PoolClient, owner: string, kind: string, cents: number) => {
    if (cents !== 0) await client.query({ ...addToBalance, values: [owner, kind, cents] })
  }

  /** Inserts a change with `actions`, and deliveries for `delivered`. */
  const insertOutbox = async (
    client: PoolClient,
    row: PayoutRow,
    actions: ReadonlyArray<string>,
    delivered: ReadonlyArray<string>
  ) => {
    const { epochMs, id } = nextId()
    const at = new Date(epochMs)
    const data = JSON.stringify({ ...toPayout(row), object: "payment" })
    await client.query({
      ...insertChange,
      values: [id, row.id, row.account_id, row.application_id, actions, row.status, row.sequence, data, at]
    })
    if (delivered.length === 0) return
    const events = delivered.map((action) => `payment.pix.${action}`)
    const parameters = [id, row.id, row.account_id, at, row.application_id, events]
    await client.query({ ...insertDeliveriesToEndpoints, values: parameters })
    if (row.webhook_url === null) return
    const url = new URL(row.webhook_url)
    await client.query({
      ...insertDeliveriesToUrl,
      values: [...parameters, row.webhook_url, url.origin, row.webhook_secret, url.href]
    })
  }

  /** Runs a transaction, which is rolled back where `run` returns undefined. */
  const transaction = async <A>(run: (client: PoolClient) => Promise<A | undefined>): Promise<A | undefined> => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      const result = await run(client)
      await client.query(result === undefined ? "ROLLBACK" : "COMMIT")
      return result
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {})
      throw error
    } finally {
      client.release()
    }
  }

  const decide: PayoutStore["decide"] = async ({ autoPayout, duplicateWindow, idempotencyKey, row: requested }) => {
    const total = Number(requested.amount) + Number(requested.fee)
    const decided = await transaction(async (client): Promise<PayoutRow | "key is taken" | undefined> => {
      const { rows: locked } = await client.query<{ balance: string }>({
        ...lockAvailable,
        values: [requested.account_id]
      })
      const duplicates =
        duplicateWindow === 0
          ? undefined
          : await client.query<{ id: string }>({
              ...findDuplicate,
              values: [
                requested.account_id,
                lowestIdAt(+requested.created_at - duplicateWindow * 1000),
                requested.pix_key_type,
                requested.pix_key,
                requested.amount
              ]
            })
      const duplicateOf = duplicates?.rows[0]?.id ?? null
      const isApproved = autoPayout && duplicateOf === null
      const row: PayoutRow = { ...requested, status: isApproved ? "processing" : "pending" }
      const { rowCount } = await client.query({
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
          row.webhook_url,
          row.webhook_secret,
          duplicateOf,
          row.created_at
        ]
      })
      if (rowCount === 0) return "key is taken"
      if (Number(locked[0]?.balance ?? 0) < total) return undefined
      await transfer(client, row, ["available", "payouts_in_transit"], total)
      await add(client, row.account_id, "available", -total)
      await add(client, row.account_id, "payouts_in_transit", total)
      const actions = isApproved ? ["created", "processing"] : ["created"]
      await insertOutbox(client, row, actions, actions)
      return row
    })
    return decided ?? "insufficient balance"
  }

  // ---- the acquirer ----

  const settleMs = Number(process.env["SIMULATOR_SETTLE_MS"] ?? 1000)
  /** When each submitted payout settles. */
  const settlements = new Map<string, number>()

  const settle = (row: PayoutRow) =>
    transaction(async (client) => {
      const fails = row.pix_key === "fail@simulator.test"
      const [amount, fee] = [Number(row.amount), Number(row.fee)]
      const settled: PayoutRow = {
        ...row,
        status: fails ? "failed" : "completed",
        end_to_end_id: fails ? null : endToEndId(row.id),
        failure_reason: fails ? "simulated failure" : null,
        sequence: row.sequence + 1
      }
      const { rowCount } = await client.query({
        ...settlePayout,
        values: [row.id, settled.status, settled.end_to_end_id, settled.failure_reason, row.sequence]
      })
      if (rowCount === 0) return undefined
      const action = settled.status
      await insertOutbox(client, settled, [action], fails ? [action] : [])
      // Every transaction locks ledger accounts in the same order.
      if (fails) {
        await transfer(client, settled, ["payouts_in_transit", "available"], amount + fee)
        await add(client, row.account_id, "available", amount + fee)
      } else {
        await transfer(client, settled, ["payouts_in_transit", "acquirer"], amount)
        await transfer(client, settled, ["payouts_in_transit", "fees"], fee)
        await add(client, row.account_id, "acquirer", amount)
        await add(client, row.account_id, "fees", fee)
      }
      await add(client, row.account_id, "payouts_in_transit", -amount - fee)
      return settled
    })

  const submitOne = async (row: PayoutRow & { readonly attempts: number }) => {
    const now = Date.now()
    const settlesAt = settlements.get(row.id)
    if (settlesAt === undefined) settlements.set(row.id, now + settleMs)
    if (row.processed_at !== null && settlesAt !== undefined && settlesAt <= now) {
      await settle(row)
      settlements.delete(row.id)
      return
    }
    const retryInMs = Math.min(1000 * 2 ** row.attempts, 60_000)
    await pool.query({ ...recordSubmission, values: [row.id, new Date(now), retryInMs] })
  }

  return {
    decide,
    findByKey: async (applicationId, key) => {
      const { rows } = await pool.query<PayoutRow>({ ...findByKey, values: [applicationId, key] })
      return rows[0]
    },
    submitDue: async () => {
      while (true) {
        const { rows } = await pool.query<PayoutRow & { readonly attempts: number }>(claimDue)
        if (rows.length === 0) return
        const queue = rows.values()
        const worker = async () => {
          // A failed payout is claimed again when its lease expires.
          for (const row of queue) await submitOne(row).catch(() => {})
        }
        await Promise.all(Array.from({ length: CONCURRENT_SUBMISSIONS }, worker))
      }
    }
  }
}

/** The other connections of the pool serve requests. */
const CONCURRENT_SUBMISSIONS = 4

/** Derived from the id, so that a retry gives the same value. */
const endToEndId = (id: string): string => {
  const digits = id.replaceAll("-", "")
  return makeEndToEndId({
    ispb: "00000000",
    atMs: Number.parseInt(digits.slice(0, 12), 16),
    suffix: digits.slice(-11)
  })
}

// ---- statements ----

const findByKey = {
  name: "find_payout_by_key",
  text: `SELECT ${payoutColumns} FROM payouts
    WHERE coalesce(application_id, account_id) = $1 AND origin = 'api' AND idempotency_key = $2`
}

const lockAvailable = {
  name: "lock_available",
  text: "SELECT balance FROM ledger_accounts WHERE owner_id = $1 AND kind = 'available' FOR NO KEY UPDATE"
}

const findDuplicate = {
  name: "find_duplicate",
  text: `SELECT id FROM payouts WHERE account_id = $1 AND id >= $2 AND pix_key_type = $3 AND pix_key = $4
      AND amount = $5 AND status NOT IN ('failed', 'canceled')
    ORDER BY id DESC LIMIT 1`
}

const insertPayout = {
  name: "insert_payout",
  text: `INSERT INTO payouts (id, account_id, application_id, origin, idempotency_key, status, method, amount, fee,
      description, reference, recipient_name, recipient_document, pix_key_type, pix_key, webhook_url, webhook_secret,
      duplicate_of, created_at, sequence, due_at)
    VALUES ($1, $2, $3, 'api', $4, $5, 'pix', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 1,
      CASE WHEN $5 = 'processing' THEN now() END)
    ON CONFLICT (coalesce(application_id, account_id), origin, idempotency_key) WHERE idempotency_key IS NOT NULL
      DO NOTHING`
}

const insertTransfer = {
  name: "insert_transfer",
  text: `INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
}

const addToBalance = {
  name: "add_to_balance",
  text: "UPDATE ledger_accounts SET balance = balance + $3 WHERE owner_id = $1 AND kind = $2"
}

const insertChange = {
  name: "insert_payment_change",
  text: `INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
      created_at)
    VALUES ($1, $2, $3, $4, 'payment.pix', $5, $6, $7, $8, $9)`
}

/** Deliveries to the subscribed endpoints of the application. */
const insertDeliveriesToEndpoints = {
  name: "insert_payment_deliveries_to_endpoints",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, w.id, w.url, w.destination, 'scheduled', now(), $4
    FROM webhook_endpoints w CROSS JOIN unnest($6::text[]) AS e(event)
    WHERE w.application_id = $5 AND w.deleted_at IS NULL AND e.event = ANY (w.events)`
}

/** Deliveries to `webhook_url`, unless a subscribed endpoint has the same URL. */
const insertDeliveriesToUrl = {
  name: "insert_payment_deliveries_to_url",
  text: `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), $1, e.event, $2, $3, $7, $8, $9, 'scheduled', now(), $4
    FROM unnest($6::text[]) AS e(event)
    WHERE NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.application_id = $5 AND w.deleted_at IS NULL AND w.normalized_url = $10 AND e.event = ANY (w.events)
    )`
}

const claimDue = {
  name: "claim_payouts",
  text: `UPDATE payouts SET due_at = now() + interval '15 seconds'
    WHERE id IN (
      SELECT id FROM payouts WHERE status = 'processing' AND due_at <= now()
      ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED
    )
    RETURNING ${payoutColumns}, attempts`
}

const recordSubmission = {
  name: "record_submission",
  text: `UPDATE payouts SET processed_at = coalesce(processed_at, $2), attempts = attempts + 1,
      due_at = now() + $3 * interval '1 millisecond'
    WHERE id = $1 AND status = 'processing'`
}

const settlePayout = {
  name: "settle_payout",
  text: `UPDATE payouts SET status = $2, end_to_end_id = $3, failure_reason = $4, sequence = sequence + 1,
      due_at = NULL
    WHERE id = $1 AND status = 'processing' AND sequence = $5`
}
