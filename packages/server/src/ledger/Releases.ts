/**
 * Releases: money of payments that waits in `pending` for the account's release delay (BAL-2).
 *
 * Guarantees:
 * - each payment is released once, in one commit with its transfer, by any process;
 * - an account whose balance is locked is skipped until the next round and delays no other.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../base/Ids.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { CHANGED, statement, uuids, value } from "../database/statements/Statement.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { lockedTransfers, transfer } from "./Ledger.ts"

export class Releases extends Context.Service<
  Releases,
  {
    /** Releases payments that are due; how many. */
    readonly releaseDue: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/Releases") {
  static readonly layer = Layer.effect(
    Releases,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      return Releases.of({
        releaseDue: Effect.gen(function* () {
          const accounts = yield* sql.unsafe<{ id: string }>(lockAccounts)
          if (accounts.length === 0) return 0
          const due = yield* sql.unsafe<{ charge_id: string; account_id: string; amount: bigint }>(
            ...lockDue({ accounts: accounts.map(({ id }) => id), share: Math.ceil(AT_ONCE / accounts.length) })
          )
          if (due.length === 0) return 0
          const transfers = due.flatMap((row) =>
            transfer(ids, {
              accountId: row.account_id,
              debit: "pending",
              credit: "available",
              amount: Number(row.amount),
              resourceId: row.charge_id,
              reason: "charge.released"
            })
          )
          yield* sql.unsafe(...release({ charges: due.map(({ charge_id }) => charge_id), transfers }))
          return due.length
        }).pipe(sql.withTransaction, runToCompletion(sql))
      })
    })
  )
}

/** The most payments of one commit, shared by the accounts. */
const AT_ONCE = 500

// Steps from account to account along the index by account. The row comparison keeps the planner from the index of all due
// times.
const lockAccounts = `
  WITH RECURSIVE waiting AS (
    (SELECT account_id FROM releases WHERE released_at IS NULL ORDER BY account_id, due_at LIMIT 1)
    UNION ALL
    SELECT (
      SELECT r.account_id FROM releases r WHERE r.released_at IS NULL AND r.account_id > w.account_id
      ORDER BY r.account_id, r.due_at LIMIT 1
    )
    FROM waiting w WHERE w.account_id IS NOT NULL
  )
  SELECT l.owner_id AS id FROM waiting w JOIN ledger_accounts l ON l.owner_id = w.account_id AND l.kind = 'available'
  WHERE (
    SELECT r.due_at FROM releases r
    WHERE r.released_at IS NULL AND (r.account_id, r.due_at) >= (w.account_id, '-infinity')
    ORDER BY r.account_id, r.due_at LIMIT 1
  ) <= now()
  ORDER BY l.owner_id LIMIT 100 FOR NO KEY UPDATE OF l SKIP LOCKED`

const lockDue = statement(
  { accounts: uuids, share: value("integer") },
  ({ accounts, share }) => `
  SELECT d.* FROM unnest(${accounts}) AS a(id) CROSS JOIN LATERAL (
    SELECT charge_id, account_id, amount FROM releases
    WHERE released_at IS NULL AND (account_id, due_at) >= (a.id, '-infinity') AND (account_id, due_at) <= (a.id, now())
    ORDER BY account_id, due_at LIMIT ${share} FOR UPDATE SKIP LOCKED
  ) d`
)

const release = statement(
  { charges: uuids, transfers: lockedTransfers },
  ({ charges, transfers }) => `
  WITH ${transfers.lock("wait")},
  ${CHANGED} AS (
    UPDATE releases r SET released_at = now()
    WHERE charge_id = ANY (${charges}) AND ${transfers.isLocked("r.account_id")}
    RETURNING charge_id AS id
  ),
  ${transfers.insert(CHANGED)}
  SELECT count(*) FROM ${CHANGED}`
)
