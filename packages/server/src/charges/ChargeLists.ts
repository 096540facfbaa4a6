/**
 * Lists of charges, and the index that each of them walks (migration `list_indexes`, `sql/Seek.ts`).
 *
 * `expired` is never kept, and no index knows what time it is. But how long a charge lives is fixed when it is stored,
 * and of those that live equally long, all that were created before one instant have expired and none since. So
 * `pending` and `expired` are one range of ids for each such length that occurs among the unpaid charges of an account.
 */
import type { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { List } from "../sql/Paging.ts"
import {
  type Bind,
  type Condition,
  everyValue,
  equals,
  equalsUnindexed,
  is,
  oneOf,
  type IndexPath,
  type AccessPath
} from "../sql/Seek.ts"

export interface ChargeFilters {
  readonly status?: ChargeStatus | undefined
  readonly method?: ChargeMethod | undefined
  readonly origin?: "api" | "checkout" | undefined
  readonly reference?: string | undefined
  readonly endToEndId?: string | undefined
  /** Epoch milliseconds, fractions included. */
  readonly createdAfterMs?: number | undefined
  readonly createdBeforeMs?: number | undefined
}

/** Charges of an account, or of all where `accountId` is undefined, narrowed by what is given. */
export const chargeList = (
  columns: string,
  accountId: string | undefined,
  filters: ChargeFilters,
  nowMs: number
): List => {
  const { createdAfterMs, createdBeforeMs, endToEndId, method, origin, reference, status } = filters
  const scope = [
    ...(accountId === undefined ? [] : [equals("account_id", "uuid", accountId)]),
    ...(origin === undefined ? [] : [equals("origin", "text", origin)])
  ]
  const kind = [
    ...(method === undefined ? [] : [equalsUnindexed("method", "text", method)]),
    ...(status === undefined ? [] : [hasStatus(status, nowMs)])
  ]
  const named = reference === undefined ? [] : [equals("reference", "text", reference)]
  const ways =
    endToEndId !== undefined
      ? { paths: [{ selective: equals("end_to_end_id", "text", endToEndId) }], filters: [...scope, ...named, ...kind] }
      : accountId !== undefined && origin === "api" && reference === undefined
        ? { paths: [ofAccount(accountId, filters, nowMs)], filters: kind }
        : { paths: ofAny(accountId, filters), filters: kind }
  return {
    table: "charges",
    columns,
    scope,
    // Ids carry the millisecond of creation: a range of time is a range of ids.
    from: createdAfterMs === undefined ? undefined : lowestIdAt(Math.floor(createdAfterMs) + 1),
    before: createdBeforeMs === undefined ? undefined : lowestIdAt(Math.ceil(createdBeforeMs)),
    // Of all accounts there may be many that have none: looked for first where most of them are.
    recent:
      accountId === undefined && origin !== undefined && endToEndId === undefined ? [...scope, ...named] : undefined,
    ...ways
  }
}

/** Of one account, what was created through the API. */
const ofAccount = (accountId: string, { method, status }: ChargeFilters, nowMs: number): AccessPath => {
  const account = is("account_id", "uuid", accountId)
  const unpaid: IndexPath = {
    columns: [account, everyValue(LIFETIME, "bigint")],
    predicate: "origin = 'api' AND status = 'pending'"
  }
  // Created through the API, all are Pix today: the others are none, and found to be none.
  if (method !== undefined && method !== "pix") {
    return { columns: [account, is("method", "text", method)], predicate: "origin = 'api' AND method <> 'pix'" }
  }
  switch (status) {
    case undefined:
      return { columns: [account, is("origin", "text", "api")] }
    case "pending":
      return { ...unpaid, from: ([, lifetime], bind) => lowestIdIn(`${bind(nowMs)}::bigint - ${lifetime} - 1`) }
    case "expired":
      return { ...unpaid, before: ([, lifetime], bind) => lowestIdIn(`${bind(nowMs)}::bigint - ${lifetime} + 2`) }
    case "processing":
      return { selective: (bind) => `${unanswered} AND ${equals("account_id", "uuid", accountId)(bind)}` }
    default:
      return { columns: [account, is("status", "text", status)], predicate: "origin = 'api' AND status <> 'pending'" }
  }
}

/** Of any account, as far as operators ask. */
const ofAny = (
  accountId: string | undefined,
  { origin, reference }: ChargeFilters
): ReadonlyArray<AccessPath> | undefined => {
  if (accountId === undefined && origin === undefined && reference === undefined) return undefined
  const account = accountId === undefined ? everyValue("account_id", "uuid") : is("account_id", "uuid", accountId)
  const from = origin === undefined ? oneOf("origin", ["api", "checkout"]) : is("origin", "text", origin)
  return reference === undefined
    ? [{ columns: [account, from] }]
    : [{ columns: [is("reference", "text", reference), account, from], predicate: "reference IS NOT NULL" }]
}

/** For how many milliseconds a charge can be paid; the largest number where there is no end. In the words of its index. */
export const LIFETIME = "coalesce((extract(epoch FROM expires_at - created_at) * 1000)::bigint, 9223372036854775807)"

/** The lowest id of a millisecond that is computed in SQL; of what is before the epoch, the lowest of all. */
const lowestIdIn = (epochMs: string): string =>
  `(lpad(to_hex(greatest(0, ${epochMs})), 12, '0') || '${lowestIdAt(0).replaceAll("-", "").slice(12)}')::uuid`

/** The charges of notes, and those that a release before 0004 left: what waits for the acquirer's answer. */
const unanswered = `(status = 'processing' OR (status = 'pending' AND NOT acquirer_answered)) AND id = ANY (ARRAY(
  SELECT unnest(charge_ids) FROM charge_recoveries UNION SELECT id FROM charges WHERE status = 'processing'
))`

const hasStatus =
  (status: ChargeStatus, nowMs: number): Condition =>
  (bind: Bind) => {
    const now = () => `${bind(formatInstant(nowMs))}::timestamptz`
    switch (status) {
      case "expired":
        return `status = 'pending' AND acquirer_answered AND expires_at <= ${now()}`
      case "pending":
        return `status = 'pending' AND acquirer_answered AND (expires_at IS NULL OR expires_at > ${now()})`
      case "processing":
        return "(status = 'processing' OR (status = 'pending' AND NOT acquirer_answered))"
      default:
        return equalsUnindexed("status", "text", status)(bind)
    }
  }
