/**
 * Money that waits in `pending` for its account's release delay.
 *
 * Guarantees: each payment is released once, in one commit with its transfer; what is due when no process runs is
 * released when one does.
 *
 * Source: decisions.md "Balance and ledger" (release delay).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../Ids.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { transfer, transferCtes, transferParameters } from "./Ledger.ts"

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
          const due = yield* sql<{ charge_id: string; account_id: string; amount: bigint }>`
            SELECT charge_id, account_id, amount FROM releases WHERE released_at IS NULL AND due_at <= now()
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
  WITH changed AS (
    UPDATE releases SET released_at = now() WHERE charge_id = ANY (string_to_array($1, ',')::uuid[])
    RETURNING charge_id AS id
  ),
  ${transferCtes(2)}
  SELECT count(*) FROM changed`
