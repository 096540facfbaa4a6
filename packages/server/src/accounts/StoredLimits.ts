/**
 * The limits of accounts and API keys as they are stored.
 *
 * Guarantees:
 * - A change that loosens a limit is stored by an authority only. Changes of one owner are decided one after the other, on what
 *   the one before them stored.
 * - A change replaces the generation of cached callers (`Caller.ts`): it holds from the next request on, in every process.
 *
 * Rules: OPR-330, OPR-331.
 */
import type { ApprovalAction } from "@pix-payments/domain/Approval"
import { type LimitChanges, type Limits, loosenedLimits, noLimits, withChanges } from "@pix-payments/domain/Limits"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { NotFoundError } from "../base/Errors.ts"
import { ApprovalRequired, Authority, isAuthorized } from "../operators/approvals/Authority.ts"

/** The limits of an owner as a value of SQL; null where it never had one. */
export const limitsOf = (ownerId: string): string =>
  `(SELECT json_build_object(${Object.keys(noLimits)
    .map((name) => `'${name}', l.${name}`)
    .join(", ")}) FROM limits l WHERE l.owner_id = ${ownerId})`

/** Whether a row of `limits` concerns payouts. */
export const limitsPayouts = (row: string): string =>
  `num_nonnulls(${row}.payouts_per_hour, ${row}.payouts_per_day, ${row}.payout_cents_per_day, ${row}.recipients) > 0`

/** Changes the limits of an account or a key, in the transaction around it. */
export const changeLimits = Effect.fnUntraced(function* (
  sql: SqlClient,
  table: "accounts" | "api_keys",
  id: string,
  changes: LimitChanges
) {
  const owner = yield* sql.unsafe(`SELECT 1 FROM ${table} WHERE id = $1::uuid FOR NO KEY UPDATE`, [id])
  if (owner.length === 0) return yield* new NotFoundError()
  const [stored] = yield* sql.unsafe<{ readonly limits: Limits | null }>(`SELECT ${limitsOf("$1::uuid")} AS limits`, [
    id
  ])
  const before = stored?.limits ?? noLimits
  const after = withChanges(before, changes)
  if (loosenedLimits(before, after).length > 0) {
    const authority = yield* Authority
    const allowed = yield* sql`SELECT 1 FROM ${sql.literal(table)} o
      WHERE o.id = ${id}::uuid AND ${isAuthorized(sql, authority, actions[table], "o.id")}`
    if (allowed.length === 0) return yield* new ApprovalRequired()
  }
  const recipients = after.recipients === null ? null : after.recipients.join(" ")
  yield* sql`
    INSERT INTO limits (owner_id, requests_per_minute, payouts_per_hour, payouts_per_day, payout_cents_per_day, recipients)
    VALUES (${id}::uuid, ${after.requests_per_minute}::integer, ${after.payouts_per_hour}::integer,
      ${after.payouts_per_day}::integer, ${after.payout_cents_per_day}::bigint, string_to_array(${recipients}::text, ' '))
    ON CONFLICT (owner_id) DO UPDATE SET requests_per_minute = excluded.requests_per_minute,
      payouts_per_hour = excluded.payouts_per_hour, payouts_per_day = excluded.payouts_per_day,
      payout_cents_per_day = excluded.payout_cents_per_day, recipients = excluded.recipients`
})

const actions: Readonly<Record<"accounts" | "api_keys", ApprovalAction>> = {
  accounts: "account.update",
  api_keys: "key.update"
}
