/**
 * An approval as it is read: the row, who is behind it, the names of what it points to, and what it repeats.
 *
 * Guarantee: a list of them reads as little beside each row, whatever the number of payouts.
 */
import { type ApprovalAction, APPROVAL_HOURS, ApprovalStatus } from "@pix-payments/domain/Approval"
import { type CreatedBetween, idsBetween, type List } from "../../database/statements/Paging.ts"
import { isOneOf } from "../../database/statements/Condition.ts"
import { everyValue, is } from "../../database/statements/Seek.ts"
import { statement, value } from "../../database/statements/Statement.ts"

export type Fields = Readonly<Record<string, unknown>>

/** The payout of a request, as it was when it was requested. Amounts are cents. */
export interface RequestedPayoutFacts {
  readonly id: string | null
  readonly method: string
  readonly amount: number
  readonly fee: number
  readonly description: string | null
  readonly reference: string | null
  readonly recipient: Fields
  /** `recipientKeyOf` it. */
  readonly recipient_key: string
  /** A payout to the same recipient with the same amount, within the account's window before it. */
  readonly duplicate_of: string | null
}

export interface ApprovalRow {
  readonly id: string
  readonly action: ApprovalAction
  readonly resource_id: string | null
  readonly account_id: string | null
  readonly concerns: string | null
  readonly request: Fields
  readonly before: Fields | null
  readonly payout: RequestedPayoutFacts | null
  readonly sealed: string | null
  readonly requested_by: string
  readonly requester: Who
  readonly made_by: string | null
  readonly maker: Who | null
  readonly status: ApprovalStatus
  readonly decider: Who | null
  readonly decided_at: Date | null
  readonly reason: string | null
  readonly expires_at: Date
  readonly used_at: Date | null
  readonly result_id: string | null
  readonly created_at: Date
  /** The `available` of the account whose money moves, now; null without an account. */
  readonly available: bigint | null
  /** The names of the resource, the account, and of what the request names by an id. */
  readonly names: Readonly<Record<string, string>>
  /** The latest payout of the last 72 hours to the same recipient with the same amount, before or after the request. */
  readonly equal_payout: string | null
  /** Requests of the last 72 hours for the same payout or adjustment, which are not rejected. */
  readonly equal_requests: ReadonlyArray<string>
}

/** An operator behind a request. */
interface Who {
  readonly id: string
  readonly name: string
  readonly email: string | null
}

const MAX_EQUAL_REQUESTS = 10

/** The status as it is shown: `approvalStatusAt` of `domain`. */
const status = `CASE WHEN a.used_at IS NULL AND a.status <> 'rejected' AND a.expires_at <= now() THEN 'expired'
  ELSE a.status END`

/** The ids in a field of the request or of the values before it. */
const idsIn = (
  field: string
) => `ARRAY(SELECT e.id::uuid FROM (VALUES (a.request -> '${field}'), (a.before -> '${field}')) v (ids),
      json_array_elements_text(CASE json_typeof(v.ids) WHEN 'array' THEN v.ids WHEN 'string' THEN json_build_array(v.ids) END)
      e (id))`

const names = `(SELECT coalesce(json_object_agg(n.id, n.name), '{}') FROM (
    SELECT id, name FROM accounts WHERE id = ANY (ARRAY[a.account_id, a.resource_id] || ${idsIn("account_ids")} || ${idsIn("account_id")})
    UNION ALL SELECT id, customer_name FROM charges WHERE id = ANY (${idsIn("charge_id")}) AND customer_name IS NOT NULL
    UNION ALL SELECT id, name FROM applications WHERE id = a.resource_id
    UNION ALL SELECT id, name FROM api_keys WHERE id = a.resource_id
    UNION ALL SELECT id, name FROM operators WHERE id = a.resource_id
    UNION ALL SELECT id, name FROM acquirer_connections
      WHERE id = ANY (ARRAY[a.resource_id] || ${idsIn("connection_id")})) n)`

const equalRequests = `ARRAY(SELECT e.id FROM approvals e WHERE e.intent = a.intent AND e.id <> a.id
    AND e.created_at > now() - interval '${APPROVAL_HOURS} hours'
    AND (e.status = 'approved' OR (e.status = 'pending' AND e.expires_at > now()))
    ORDER BY e.id DESC LIMIT ${MAX_EQUAL_REQUESTS})`

/** Of the newest 1000 payouts to the recipient in that time. */
const equalPayout = `(SELECT e.id FROM (
    SELECT p.id, p.amount, p.status FROM payouts p
    WHERE p.pix_key = a.payout ->> 'recipient_key' AND p.account_id = a.account_id
      AND p.id > (SELECT uuidv7(interval '-${APPROVAL_HOURS} hours'))
    ORDER BY p.id DESC LIMIT 1000
  ) e WHERE e.amount = (a.payout ->> 'amount')::bigint AND e.status NOT IN ('failed', 'canceled')
    AND e.id NOT IN (coalesce((a.payout ->> 'id')::uuid, a.id), coalesce(a.result_id, a.id))
  ORDER BY e.id DESC LIMIT 1)`

/** The account whose money moves, also where the request concerns another one too. */
const ownerOf = `CASE WHEN a.action = 'exception.accept' THEN (a.request ->> 'account_id')::uuid ELSE a.account_id END`

const who = (column: string) =>
  `(SELECT json_build_object('id', o.id, 'name', o.name, 'email', o.email) FROM operators o WHERE o.id = ${column})`

const columns = `a.id, a.action, a.resource_id, a.account_id, a.concerns, a.request, a.before, a.payout, a.sealed,
  a.requested_by, ${who("a.requested_by")} AS requester, a.made_by, ${who("a.made_by")} AS maker,
  ${who("a.decided_by")} AS decider, ${status} AS status, a.decided_at, a.reason,
  a.expires_at, a.used_at, a.result_id, a.created_at,
  (SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = ${ownerOf} AND l.kind = 'available') AS available,
  ${names} AS names, ${equalRequests} AS equal_requests, ${equalPayout} AS equal_payout`

export interface ApprovalFilters extends CreatedBetween {
  readonly status?: ApprovalStatus | undefined
}

export const approvalList = ({ status: asked, ...created }: ApprovalFilters): List => ({
  table: "approvals",
  as: "a",
  columns,
  account: "account_id",
  ...idsBetween(created),
  pathsOf: (accountIds) => [{ selective: isOneOf("account_id", accountIds) }],
  ...(asked !== undefined && {
    // A row that is shown as expired is stored as pending or approved until something writes it.
    paths: [{ columns: asked === "expired" ? [everyValue("status", "text")] : [is("status", "text", asked)] }],
    filters: [() => `${status} = '${asked}'`]
  })
})

export const findOne = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT ${columns} FROM approvals a WHERE a.id = ${id}`
)
