/** Rows that a restore loses. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Takes the books back to the moment before a charge or payout, as a restore does. */
export const forgotten = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  yield* sql.withTransaction(
    Effect.gen(function* () {
      // A restore fires no trigger.
      yield* sql`SET LOCAL session_replication_role = replica`
      // What the service posts meanwhile is read below, or finds nothing left to change.
      const owner = sql`owner_id = (
        SELECT account_id FROM charges WHERE id = ${id}::uuid UNION ALL SELECT account_id FROM payouts WHERE id = ${id}::uuid
      )`
      yield* sql`SELECT 1 FROM ledger_accounts WHERE ${owner} ORDER BY kind <> 'available', kind FOR UPDATE`
      yield* sql`
        UPDATE ledger_accounts a SET balance = balance - m.amount
        FROM (
          SELECT ends.kind, sum(ends.amount) AS amount FROM ledger_transfers t
          CROSS JOIN LATERAL (VALUES (t.credit, t.amount), (t.debit, -t.amount)) AS ends (kind, amount)
          WHERE t.resource_id = ${id}::uuid GROUP BY ends.kind
        ) m WHERE ${owner} AND a.kind = m.kind`
      for (const table of ["ledger_transfers", "changes", "idempotency_keys"]) {
        yield* sql`DELETE FROM ${sql(table)} WHERE resource_id = ${id}::uuid`
      }
      yield* sql`
        UPDATE ledger_accounts a SET position = (
          SELECT coalesce(max(position), 0) FROM ledger_transfers t WHERE t.account_id = a.owner_id
        ) WHERE ${owner} AND position > 0`
      for (const table of ["charges", "payouts"]) yield* sql`DELETE FROM ${sql(table)} WHERE id = ${id}::uuid`
      yield* sql`DELETE FROM charge_states WHERE charge_id = ${id}::uuid`
    })
  )
})
