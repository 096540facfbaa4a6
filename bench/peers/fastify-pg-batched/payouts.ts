/**
 * The batched payout store: many payouts are decided under one row lock of their accounts' balances.
 *
 * Payouts are submitted as in the peer without batches, because the bench does not compare that.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { Pool, PoolClient } from "pg"
import { nextId } from "../fastify/ids.ts"
import { type Decision, type PayoutRow, type PayoutStore, type RequestedPayout, toPayout } from "../fastify/payout.ts"
import { payoutStore } from "../fastify-pg/payouts.ts"
import { batched } from "./batched.ts"
import { rowsOf } from "./rows.ts"
import { OUTBOX_WIDTH, outboxCtes, outboxParameters } from "./outbox.ts"

export const batchedPayoutStore = (pool: Pool): PayoutStore => ({
  ...payoutStore(pool),

  decide: batched<RequestedPayout, Decision>(200, async (requests) => {
    const client = await pool.connect()
    try {
      await client.query("BEGIN")
      const decisions = await decideAll(client, requests)
      await client.query("COMMIT")
      return decisions
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {})
      throw error
    } finally {
      client.release()
    }
  })
})

const decideAll = async (client: PoolClient, requests: ReadonlyArray<RequestedPayout>) => {
  const accountIds = [...new Set(requests.map(({ row }) => row.account_id))]
  const { rows: locked } = await client.query<{ owner_id: string; kind: string; balance: string }>({
    ...lockBalances,
    values: [accountIds]
  })
  const available = new Map(
    locked.filter(({ kind }) => kind === "available").map(({ balance, owner_id }) => [owner_id, Number(balance)])
  )
  const { rows: replayed } = await client.query<{ application_id: string; idempotency_key: string }>({
    ...findTakenKeys,
    values: [
      ...keyRows.values(
        requests.map(({ idempotencyKey, row }) => ({
          application_id: row.application_id,
          idempotency_key: idempotencyKey
        }))
      )
    ]
  })
  const takenKeys = new Set(replayed.map((row) => `${row.application_id} ${row.idempotency_key}`))
  const duplicates = await recentDuplicates(client, requests)

  const accepted: Array<{ readonly row: PayoutRow; readonly key: string; readonly duplicateOf: string | null }> = []
  const decisions = requests.map(({ autoPayout, duplicateWindow, idempotencyKey, row: requested }): Decision => {
    const key = `${requested.application_id} ${idempotencyKey}`
    if (takenKeys.has(key)) return "key is taken"
    const [balance, total] = [available.get(requested.account_id) ?? 0, totalOf(requested)]
    if (balance < total) return "insufficient balance"
    available.set(requested.account_id, balance - total)
    takenKeys.add(key)
    const duplicateOf = duplicateWindow > 0 ? (duplicates.get(duplicateKey(requested)) ?? null) : null
    if (duplicateWindow > 0) duplicates.set(duplicateKey(requested), requested.id)
    const isApproved = autoPayout && duplicateOf === null
    const row: PayoutRow = { ...requested, status: isApproved ? "processing" : "pending" }
    accepted.push({ row, key: idempotencyKey, duplicateOf })
    return row
  })
  if (accepted.length > 0) await insertAll(client, accepted)
  return decisions
}

const insertAll = (
  client: PoolClient,
  accepted: ReadonlyArray<{ readonly row: PayoutRow; readonly key: string; readonly duplicateOf: string | null }>
) =>
  client.query({
    ...insertMany,
    values: [
      ...newRows.values(
        accepted.map(({ duplicateOf, key, row }) => ({ ...row, idempotency_key: key, duplicate_of: duplicateOf }))
      ),
      ...outboxParameters(
        accepted.map(({ row }) => {
          const { epochMs, id } = nextId()
          return {
            id,
            row,
            kind: "payment.pix",
            actions: row.status === "processing" ? ["created", "processing"] : ["created"],
            data: JSON.stringify({ ...toPayout(row), object: "payment" }),
            createdAt: new Date(epochMs)
          }
        })
      ),
      ...transferRows.values(
        accepted.map(({ row }) => {
          const { epochMs, id } = nextId()
          return {
            id,
            account_id: row.account_id,
            amount: totalOf(row),
            resource_id: row.id,
            created_at: new Date(epochMs)
          }
        })
      )
    ]
  })

/** The latest payout by account, Pix key and amount, for accounts with a duplicate window. */
const recentDuplicates = async (client: PoolClient, requests: ReadonlyArray<RequestedPayout>) => {
  const guarded = requests.filter(({ duplicateWindow }) => duplicateWindow > 0)
  if (guarded.length === 0) return new Map<string, string>()
  const { rows } = await client.query<Parameters<typeof duplicateKey>[0] & { readonly id: string }>({
    ...findDuplicates,
    values: [
      ...duplicateRows.values(
        guarded.map(({ duplicateWindow, row }) => ({
          ...row,
          since: lowestIdAt(+row.created_at - duplicateWindow * 1000)
        }))
      )
    ]
  })
  return new Map(rows.map((row) => [duplicateKey(row), row.id]))
}

const totalOf = ({ amount, fee }: PayoutRow): number => Number(amount) + Number(fee)

const duplicateKey = (row: Pick<PayoutRow, "account_id" | "pix_key_type" | "pix_key" | "amount">): string =>
  `${row.account_id} ${row.pix_key_type} ${row.amount} ${row.pix_key}`

// ---- statements ----

const lockBalances = {
  name: "lock_balances",
  text: `SELECT owner_id, kind, balance FROM ledger_accounts
    WHERE owner_id = ANY ($1::uuid[]) AND kind IN ('available', 'payouts_in_transit')
    ORDER BY owner_id, kind FOR NO KEY UPDATE`
}

const keyRows = rowsOf({ application_id: "uuid", idempotency_key: "text" })

const findTakenKeys = {
  name: "find_taken_keys",
  text: `SELECT p.application_id, p.idempotency_key FROM ${keyRows.from(1)}
    JOIN payouts p ON coalesce(p.application_id, p.account_id) = r.application_id AND p.origin = 'api'
      AND p.idempotency_key = r.idempotency_key AND p.idempotency_key IS NOT NULL`
}

const duplicateRows = rowsOf({
  account_id: "uuid",
  pix_key_type: "text",
  pix_key: "text",
  amount: "bigint",
  since: "uuid"
})

const findDuplicates = {
  name: "find_duplicates",
  text: `SELECT DISTINCT ON (r.account_id, r.pix_key_type, r.pix_key, r.amount)
      t.id, r.account_id, r.pix_key_type, r.pix_key, r.amount
    FROM ${duplicateRows.from(1)} CROSS JOIN LATERAL (
      SELECT p.id FROM payouts p
      WHERE p.account_id = r.account_id AND p.id >= r.since AND p.pix_key_type = r.pix_key_type
        AND p.pix_key = r.pix_key AND p.amount = r.amount AND p.status NOT IN ('failed', 'canceled')
      ORDER BY p.id DESC LIMIT 1
    ) t`
}

const newRows = rowsOf({
  id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  idempotency_key: "text",
  status: "text",
  method: "text",
  amount: "bigint",
  fee: "bigint",
  description: "text",
  reference: "text",
  recipient_name: "text",
  recipient_document: "text",
  pix_key_type: "text",
  pix_key: "text",
  webhook_url: "text",
  webhook_secret: "text",
  duplicate_of: "uuid",
  created_at: "timestamptz",
  sequence: "integer"
})

const transferRows = rowsOf({
  id: "uuid",
  account_id: "uuid",
  amount: "bigint",
  resource_id: "uuid",
  created_at: "timestamptz"
})

const insertMany = {
  name: "insert_payouts",
  text: `WITH changed AS (
      INSERT INTO payouts (id, account_id, application_id, idempotency_key, status, method, amount, fee, description,
        reference, recipient_name, recipient_document, pix_key_type, pix_key, webhook_url, webhook_secret,
        duplicate_of, created_at, sequence, origin, due_at)
      SELECT r.*, 'api', CASE WHEN r.status = 'processing' THEN now() END FROM ${newRows.from(1)}
      RETURNING id
    ),
    ${outboxCtes(1 + newRows.width)},
    inserted_transfers AS (
      INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at)
      SELECT r.id, r.account_id, 'available', 'payouts_in_transit', r.amount, r.resource_id, 'payout.created',
        r.created_at
      FROM ${transferRows.from(1 + newRows.width + OUTBOX_WIDTH)}
      RETURNING account_id, amount
    ),
    sums AS MATERIALIZED (SELECT account_id, sum(amount)::bigint AS amount FROM inserted_transfers GROUP BY account_id),
    updated_balances AS (
      UPDATE ledger_accounts l
      SET balance = l.balance + CASE WHEN l.kind = 'available' THEN -s.amount ELSE s.amount END
      FROM sums s WHERE l.owner_id = s.account_id AND l.kind IN ('available', 'payouts_in_transit')
    )
    SELECT id FROM changed`
}
