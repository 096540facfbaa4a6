/**
 * What charges have of one payer, and its erasure.
 *
 * Guarantees:
 * - An erasure changes charges that were never paid and have ended. What was paid is kept as it is.
 * - Events, deliveries and repeated answers read the columns of the charge, and no copy of them. The words by which a search finds
 *   the charge go with them.
 * - Statements change `BATCH` charges each. An erasure is one transaction, by the `Authority` around it.
 *
 * Rules: OPR-337, OPR-338.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { removedPayerWords } from "../payments/words/Words.ts"
import { ApprovalRequired, Authority, isAuthorized } from "../operators/approvals/Authority.ts"

/** By one of both. */
export interface Payer {
  readonly document: string | null
  readonly email: string | null
}

export interface PayerCharge {
  readonly charge_id: string
  readonly account_id: string
  readonly status: string
  readonly amount: bigint
  readonly description: string | null
  readonly reference: string | null
  readonly name: string | null
  readonly email: string | null
  readonly document: string | null
  readonly phone: string | null
  readonly created_at: Date
  readonly paid_at: Date | null
}

export interface Erasure {
  readonly anonymised: number
  readonly kept: number
  readonly open: number
}

export class Payers extends Context.Service<
  Payers,
  {
    /** `MAX_EXPORTED` charges and one more, newest first. */
    readonly charges: (
      payer: Payer,
      startingAfter: string | null
    ) => Effect.Effect<ReadonlyArray<PayerCharge>, Unavailable>
    /** It needs the `Authority` around it. `audited` runs in its transaction. */
    readonly anonymise: <R>(
      payer: Payer,
      audited: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<Erasure, ApprovalRequired | Unavailable, R>
  }
>()("@pix-payments/server/Payers") {
  static readonly layer = Layer.effect(
    Payers,
    Effect.map(SqlClient, (sql) => {
      /** By the column that names the payer, so that its index is read. */
      const isOf = ({ document, email }: Payer) =>
        document === null ? sql`c.customer_email = ${email}` : sql`c.customer_document = ${document}`

      return Payers.of({
        charges: (payer, startingAfter) =>
          orUnavailable(sql<PayerCharge>`
            SELECT c.id AS charge_id, c.account_id, ${sql.literal(statusNow)} AS status, c.amount, c.description, c.reference,
              c.customer_name AS name, c.customer_email AS email, c.customer_document AS document, c.customer_phone AS phone,
              c.created_at, c.paid_at
            FROM charges c WHERE ${isOf(payer)} AND c.id < coalesce(${startingAfter}::uuid, ${HIGHEST}::uuid)
            ORDER BY c.id DESC LIMIT ${sql.literal(String(MAX_EXPORTED + 1))}`),

        anonymise: (payer, audited) =>
          Effect.gen(function* () {
            const authority = yield* Authority
            const allowed = yield* sql`SELECT 1 FROM installation_settings
              WHERE ${isAuthorized(sql, authority, "payer.anonymise", "NULL::uuid")}`
            if (allowed.length === 0) return yield* new ApprovalRequired()
            let anonymised = 0
            for (let changed = BATCH; changed === BATCH; anonymised += changed) {
              changed = (yield* erase(sql, isOf(payer), BATCH)).length
            }
            yield* audited
            const [left] = yield* sql<{ kept: bigint; open: bigint }>`
              SELECT count(*) FILTER (WHERE NOT ${sql.literal(isOpen)}) AS kept, count(*) FILTER (WHERE ${sql.literal(isOpen)}) AS open
              FROM charges c WHERE ${isOf(payer)}`
            return { anonymised, kept: Number(left?.kept), open: Number(left?.open) }
          }).pipe(sql.withTransaction, runToCompletion(sql))
      })
    })
  )
}

/** Empties what charges have of their payers: of `limit` charges `c` with this condition at most, and none that may be paid or was. */
export const erase = (sql: SqlClient, condition: Fragment, limit: number) =>
  sql<{ id: string }>`
    WITH erased AS MATERIALIZED (
      SELECT c.id, c.customer_name, c.customer_phone, c.reference FROM charges c
      WHERE ${condition} AND ${sql.literal(isErasable)} LIMIT ${sql.literal(String(limit))}
    ), ${sql.literal(removedPayerWords("erased"))}
    UPDATE charges c SET customer_name = NULL, customer_email = NULL, customer_document = NULL,
      customer_phone = NULL, description = NULL
    FROM erased e WHERE c.id = e.id RETURNING c.id`

export const MAX_EXPORTED = 1000
const BATCH = 1000
const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"

/** The condition of a charge `c` that may still be paid. */
export const isOpen =
  "(c.status = 'processing' OR (c.status = 'pending' AND (c.expires_at IS NULL OR c.expires_at > now())))"
const isErasable = `c.status IN ('failed', 'canceled', 'pending') AND NOT ${isOpen}`
const statusNow = `CASE WHEN c.status = 'pending' AND NOT ${isOpen} THEN 'expired' ELSE c.status END`
