/**
 * Money that waits in `pending` for its account's release delay.
 *
 * Guarantees: each payment is released once, in one commit with its transfer; what is due when no process runs is
 * released when one does; an account whose balance somebody has locked is left to a later round, and holds up no other.
 *
 * Source: decisions.md "Balance and ledger" (release delay).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../Ids.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { isLocked, ledgerLockCtes, transfer, transferCtes, transferParameters } from "./Ledger.ts"

export class Releases extends Context.Service<
  Releases,
  {
    /** Releases what is due; how many payments that were. */
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
          const accounts = yield* sql<{ id: string }>`
            SELECT l.owner_id AS id FROM (
              SELECT DISTINCT account_id FROM releases WHERE released_at IS NULL AND due_at <= now()
            ) d JOIN ledger_accounts l ON l.owner_id = d.account_id AND l.kind = 'available'
            ORDER BY l.owner_id LIMIT 100 FOR NO KEY UPDATE OF l SKIP LOCKED`
          if (accounts.length === 0) return 0
          const due = yield* sql<{ charge_id: string; account_id: string; amount: bigint }>`
            SELECT charge_id, account_id, amount FROM releases WHERE released_at IS NULL AND due_at <= now()
              AND account_id = ANY (string_to_array(${accounts.map(({ id }) => id).join(",")}, ',')::uuid[])
            ORDER BY due_at LIMIT 500 FOR UPDATE SKIP LOCKED`
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
          yield* sql.unsafe(release, [
            due.map(({ charge_id }) => charge_id).join(","),
            ...transferParameters(transfers)
          ])
          return due.length
        }).pipe(sql.withTransaction, orUnavailable)
      })
    })
  )
}

const release = `
  WITH ${ledgerLockCtes(2)},
  changed AS (
    UPDATE releases r SET released_at = now()
    WHERE charge_id = ANY (string_to_array($1, ',')::uuid[]) AND ${isLocked("r.account_id")}
    RETURNING charge_id AS id
  ),
  ${transferCtes(2)}
  SELECT count(*) FROM changed`
