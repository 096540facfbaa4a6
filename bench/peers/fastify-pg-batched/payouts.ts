/**
 * Payouts, decided many at a time under one lock of their accounts' balances: the batching of our `PayoutStore`, on `pg`.
 *
 * They are handed over as the peer without batches does it: of what goes on behind the requests nothing is compared.
 */
// This is no Effect program.
// @effect-diagnostics globalDate:off
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { Pool, PoolClient } from "pg"
import { nextId } from "../fastify/guards.ts"
import { type Decision, type PayoutRow, type PayoutStore, type RequestedPayout, toPayout } from "../fastify/payouts.ts"
import { payoutStore } from "../fastify-pg/payouts.ts"
import { batched } from "./batched.ts"
import { rowsOf } from "./rows.ts"
import { TOLD_WIDTH, tellingCtes, toldValues } from "./outbox.ts"

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
  const owners = [...new Set(requests.map(({ row }) => row.account_id))]
  const { rows: locked } = await client.query<{ owner_id: string; kind: string; balance: string }>({
    ...lockBalances,
    values: [owners]
  })
  const available = new Map(
    locked.filter(({ kind }) => kind === "available").map(({ balance, owner_id }) => [owner_id, Number(balance)])
  )
  const { rows: taken } = await client.query<{ application_id: string; idempotency_key: string }>({
    ...findKnown,
    values: [
      ...keyRows.values(
        requests.map(({ idempotencyKey, row }) => ({
          application_id: row.application_id,
          idempotency_key: idempotencyKey
        }))
      )
    ]
  })
  const known = new Set(taken.map((row) => `${row.application_id} ${row.idempotency_key}`))
  const twins = await recentTwins(client, requests)

  const written: Array<{ readonly row: PayoutRow; readonly key: string; readonly duplicateOf: string | null }> = []
  const decisions = requests.map(({ autoPayout, duplicateWindow, idempotencyKey, row: requested }): Decision => {
    const key = `${requested.application_id} ${idempotencyKey}`
    if (known.has(key)) return "key is known"
    const [has, costs] = [available.get(requested.account_id) ?? 0, totalOf(requested)]
    if (has < costs) return "balance is too low"
    available.set(requested.account_id, has - costs)
    known.add(key)
    const duplicateOf = duplicateWindow > 0 ? (twins.get(intentOf(requested)) ?? null) : null
    if (duplicateWindow > 0) twins.set(intentOf(requested), requested.id)
    const goesOn = autoPayout && duplicateOf === null
    const row: PayoutRow = { ...requested, status: goesOn ? "processing" : "pending" }
    written.push({ row, key: idempotencyKey, duplicateOf })
    return row
  })
  if (written.length > 0) await store(client, written)
  return decisions
}

const store = (
  client: PoolClient,
  written: ReadonlyArray<{ readonly row: PayoutRow; readonly key: string; readonly duplicateOf: string | null }>
) =>
  client.query({
    ...insertMany,
    values: [
      ...newRows.values(
        written.map(({ duplicateOf, key, row }) => ({ ...row, idempotency_key: key, duplicate_of: duplicateOf }))
      ),
      ...toldValues(
        written.map(({ row }) => {
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
        written.map(({ row }) => {
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

/** The latest payout of each intent, where an account's guard asks for it. */
const recentTwins = async (client: PoolClient, requests: ReadonlyArray<RequestedPayout>) => {
  const asked = requests.filter(({ duplicateWindow }) => duplicateWindow > 0)
  if (asked.length === 0) return new Map<string, string>()
  const { rows } = await client.query<Parameters<typeof intentOf>[0] & { readonly id: string }>({
    ...findTwins,
    values: [
      ...twinRows.values(
        asked.map(({ duplicateWindow, row }) => ({
          ...row,
          since: lowestIdAt(+row.created_at - duplicateWindow * 1000)
        }))
      )
    ]
  })
  return new Map(rows.map((row) => [intentOf(row), row.id]))
}

const totalOf = ({ amount, fee }: PayoutRow): number => Number(amount) + Number(fee)

const intentOf = (row: Pick<PayoutRow, "account_id" | "pix_key_type" | "pix_key" | "amount">): string =>
  `${row.account_id} ${row.pix_key_type} ${row.amount} ${row.pix_key}`

// ---- statements ----

const lockBalances = {
  name: "lock_balances",
  text: `SELECT owner_id, kind, balance FROM ledger_accounts
    WHERE owner_id = ANY ($1::uuid[]) AND kind IN ('available', 'payouts_in_transit')
    ORDER BY owner_id, kind FOR NO KEY UPDATE`
}

const keyRows = rowsOf({ application_id: "uuid", idempotency_key: "text" })

const findKnown = {
  name: "find_known_payouts",
  text: `SELECT p.application_id, p.idempotency_key FROM ${keyRows.from(1)}
    JOIN payouts p ON coalesce(p.application_id, p.account_id) = r.application_id AND p.origin = 'api'
      AND p.idempotency_key = r.idempotency_key AND p.idempotency_key IS NOT NULL`
}

const twinRows = rowsOf({ account_id: "uuid", pix_key_type: "text", pix_key: "text", amount: "bigint", since: "uuid" })

const findTwins = {
  name: "find_twins",
  text: `SELECT DISTINCT ON (r.account_id, r.pix_key_type, r.pix_key, r.amount)
      t.id, r.account_id, r.pix_key_type, r.pix_key, r.amount
    FROM ${twinRows.from(1)} CROSS JOIN LATERAL (
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
        duplicate_of, created_at, sequence, origin, hand_over_at)
      SELECT r.*, 'api', CASE WHEN r.status = 'processing' THEN now() END FROM ${newRows.from(1)}
      RETURNING id
    ),
    ${tellingCtes(1 + newRows.width)},
    moved AS (
      INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at,
        posted)
      SELECT r.id, r.account_id, 'available', 'payouts_in_transit', r.amount, r.resource_id, 'payout.created',
        r.created_at, true
      FROM ${transferRows.from(1 + newRows.width + TOLD_WIDTH)}
      RETURNING account_id, amount
    ),
    sums AS MATERIALIZED (SELECT account_id, sum(amount)::bigint AS amount FROM moved GROUP BY account_id),
    balanced AS (
      UPDATE ledger_accounts l
      SET balance = l.balance + CASE WHEN l.kind = 'available' THEN -s.amount ELSE s.amount END
      FROM sums s WHERE l.owner_id = s.account_id AND l.kind IN ('available', 'payouts_in_transit')
    )
    SELECT id FROM changed`
}
