/**
 * Approvals in PostgreSQL.
 *
 * Guarantees:
 * - A decision is one statement. It decides a pending, unexpired request, by an active operator who may approve, who did not
 *   request it and whom it does not concern. Whoever made a credential counts as its owner does. An approval needs a requester
 *   who may still request it.
 * - Of several decisions about one request at the same moment one is made, by the rights that operators have when it is made.
 * - An equal request that is pending is found instead of stored again.
 *
 * Rules: OPR-111 to OPR-116.
 */
import {
  type ApprovalAction,
  approvalActions,
  APPROVAL_HOURS,
  type ApprovalDecision,
  ApprovalStatus,
  approvalTransitions,
  isRepeated
} from "@pix-payments/domain/Approval"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { isDeepStrictEqual } from "node:util"
import { Ids } from "../../base/Ids.ts"
import { fingerprint } from "../Fingerprint.ts"
import { type List, type Page, readPage } from "../../database/statements/Paging.ts"
import { everyValue, is, isOneOf } from "../../database/statements/Seek.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { approverRolesSql, isFourEyesOn } from "./Authority.ts"

export type Fields = Readonly<Record<string, unknown>>

/** Who asks: an operator, with a credential that another one may have made (OPR-203). */
export interface Requester {
  readonly id: string
  readonly madeBy: string | null
}

/** Who decides: the same, or the installation's token. */
export interface Decider {
  readonly id: string | null
  readonly madeBy: string | null
}

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

/** What an operator asks for. */
export interface ApprovalRequest {
  readonly action: ApprovalAction
  readonly resourceId: string | null
  readonly accountId: string | null
  /** The operator whose rights it changes. */
  readonly concerns: string | null
  /** What was asked, without secrets. */
  readonly request: Fields
  readonly payout?: RequestedPayoutFacts | undefined
  /** Seals its secrets for the row of the approval. */
  readonly seal?: ((approvalId: string) => string) | undefined
  /** What tells two requests of the same kind apart; by default, what they ask. */
  readonly key?: string | undefined
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
  readonly decided_by: string | null
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

export class ApprovalStore extends Context.Service<
  ApprovalStore,
  {
    readonly isFourEyesOn: Effect.Effect<boolean, SqlError>
    /**
     * Stores a request with the facts that it is about, in the caller's transaction; `isNew` is false where an equal one is
     * pending.
     */
    readonly request: (
      by: Requester,
      request: ApprovalRequest,
      before: Fields
    ) => Effect.Effect<{ readonly approval: ApprovalRow; readonly isNew: boolean }, SqlError>
    /** The approved and unused request of this operator for an action that is repeated after its approval. */
    readonly findApproved: (
      by: Requester,
      request: ApprovalRequest,
      before: Fields
    ) => Effect.Effect<string | undefined, SqlError>
    /** Locks an approved, unused and unexpired approval, in the caller's transaction; false where there is none. */
    readonly lockApproved: (id: string) => Effect.Effect<boolean, SqlError>
    /** Decides, in the caller's transaction; `undefined` where the guard of the statement does not allow it. */
    readonly decide: (
      id: string,
      decision: ApprovalDecision,
      by: Decider,
      reason: string | null
    ) => Effect.Effect<ApprovalRow | undefined, SqlError>
    /** Marks an approved request as used, in the transaction of its effect. */
    readonly use: (id: string, resultId: string | null) => Effect.Effect<void, SqlError>
    /** Ends a pending request that cannot be done any more. */
    readonly expire: (id: string, reason: string) => Effect.Effect<void, SqlError>
    readonly get: (id: string) => Effect.Effect<ApprovalRow, NotFoundError | Unavailable>
    readonly list: (
      filters: { readonly status?: ApprovalStatus | undefined },
      page: Page
    ) => Effect.Effect<ReadonlyArray<ApprovalRow>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/ApprovalStore") {
  static readonly layer = Layer.effect(
    ApprovalStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const find = (id: string) => Effect.map(sql.unsafe<ApprovalRow>(...findOne({ id })), ([row]) => row)

      const got = (id: string) =>
        Effect.filterOrElse(
          find(id),
          (row) => row !== undefined,
          () => Effect.die(new Error("an approval is missing"))
        )

      return ApprovalStore.of({
        isFourEyesOn: Effect.map(
          sql.unsafe<{ is_on: boolean }>(`SELECT ${isFourEyesOn} AS is_on`),
          ([row]) => row?.is_on === true
        ),

        request: Effect.fn("ApprovalStore.request")(function* (by, request, before) {
          const of = fingerprintOf(by, request, before)
          while (true) {
            yield* sql.unsafe(...expireEqual({ fingerprint: of }))
            const { epochMs, id } = ids.next()
            const [stored] = yield* sql.unsafe<{ id: string }>(
              ...insertOne({
                id,
                action: request.action,
                resourceId: request.resourceId,
                accountId: request.accountId,
                concerns: request.concerns,
                request: JSON.stringify(request.request),
                before: Object.keys(before).length === 0 ? null : JSON.stringify(before),
                payout: request.payout === undefined ? null : JSON.stringify(request.payout),
                sealed: request.seal?.(id) ?? null,
                fingerprint: of,
                intent: intentOf(request),
                by: by.id,
                madeBy: by.madeBy,
                epochMs
              })
            )
            if (stored !== undefined) return { approval: yield* got(id), isNew: true }
            const [equal] = yield* sql.unsafe<{ id: string }>(...findEqual({ fingerprint: of }))
            if (equal !== undefined) return { approval: yield* got(equal.id), isNew: false }
            // The equal request was decided meanwhile.
          }
        }),

        findApproved: (by, request, before) =>
          Effect.map(
            sql.unsafe<{ id: string }>(
              ...findApprovedEqual({ fingerprint: fingerprintOf(by, request, before), by: by.id, madeBy: by.madeBy })
            ),
            ([row]) => row?.id
          ),

        lockApproved: (id) => Effect.map(sql.unsafe(...lockOne({ id })), ({ length }) => length > 0),

        decide: Effect.fn("ApprovalStore.decide")(function* (id, decision, by, reason) {
          // The decision's statement sees the operators as they are once it has the row, and not as they were before it waited.
          yield* sql.unsafe(...lockAny({ id }))
          const decided = yield* sql.unsafe(...decideOne[decision]({ id, by: by.id, madeBy: by.madeBy, reason }))
          return decided.length === 0 ? undefined : yield* got(id)
        }),

        use: (id, resultId) => Effect.asVoid(sql.unsafe(...useOne({ id, resultId }))),

        expire: (id, reason) => Effect.asVoid(sql.unsafe(...expireOne({ id, reason }))),

        get: Effect.fn("ApprovalStore.get")(function* (id) {
          return (yield* find(id)) ?? (yield* new NotFoundError())
        }, orUnavailable),

        list: ({ status }, page) =>
          readPage<ApprovalRow>(approvalList(status), page).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}

/** The fields whose values are not those `before`. */
export const changedFields = (before: Fields | null, now: Fields): ReadonlyArray<string> =>
  Object.entries(before ?? {}).flatMap(([name, seen]) => (isDeepStrictEqual(now[name] ?? null, seen) ? [] : [name]))

/** Equal for requests of the same thing as it is. Who asks counts where only they get the answer. */
const fingerprintOf = (
  by: Requester,
  { action, key, request, resourceId }: ApprovalRequest,
  before: Fields
): string => {
  const requester = isRepeated(action) ? [by.id, by.madeBy] : null
  return fingerprint([action, resourceId, requester, key ?? { request, before }])
}

const MAX_EQUAL_REQUESTS = 10

/**
 * Equal for payouts of the same account, recipient and amount, and for adjustments of the same account and amount. Only of what
 * the approval creates.
 */
const intentOf = ({ accountId, action, payout, request }: ApprovalRequest): string | null => {
  if (action === "adjustment.create") return fingerprint([action, accountId, request["amount"]])
  if (action !== "payout.create" || payout === undefined) return null
  return fingerprint([accountId, payout.amount, payout.recipient_key])
}

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
  a.decided_by, ${who("a.decided_by")} AS decider, ${status} AS status, a.decided_at, a.reason,
  a.expires_at, a.used_at, a.result_id, a.created_at,
  (SELECT l.balance FROM ledger_accounts l WHERE l.owner_id = ${ownerOf} AND l.kind = 'available') AS available,
  ${names} AS names, ${equalRequests} AS equal_requests, ${equalPayout} AS equal_payout`

const approvalList = (asked: ApprovalStatus | undefined): List => ({
  table: "approvals",
  as: "a",
  columns,
  account: "account_id",
  pathsOf: (accountIds) => [{ selective: isOneOf("account_id", accountIds) }],
  ...(asked !== undefined && {
    // A row that is shown as expired is stored as pending or approved until something writes it.
    paths: [{ columns: asked === "expired" ? [everyValue("status", "text")] : [is("status", "text", asked)] }],
    filters: [() => `${status} = '${asked}'`]
  })
})

const findOne = statement({ id: value("uuid") }, ({ id }) => `SELECT ${columns} FROM approvals a WHERE a.id = ${id}`)

const findEqual = statement(
  { fingerprint: value("text") },
  (p) => `SELECT id FROM approvals WHERE fingerprint = ${p.fingerprint} AND status = 'pending'`
)

const findApprovedEqual = statement(
  { fingerprint: value("text"), by: value("uuid"), madeBy: value("uuid") },
  (p) => `SELECT id FROM approvals WHERE fingerprint = ${p.fingerprint} AND status = 'approved' AND used_at IS NULL
    AND expires_at > now() AND requested_by = ${p.by} AND made_by IS NOT DISTINCT FROM ${p.madeBy} ORDER BY id LIMIT 1`
)

const expireEqual = statement(
  { fingerprint: value("text") },
  (p) => `UPDATE approvals SET status = 'expired'
    WHERE fingerprint = ${p.fingerprint} AND status = 'pending' AND expires_at <= now()`
)

const insertOne = statement(
  {
    id: value("uuid"),
    action: value("text"),
    resourceId: value("uuid"),
    accountId: value("uuid"),
    concerns: value("uuid"),
    request: value("text"),
    before: value("text"),
    payout: value("text"),
    sealed: value("text"),
    fingerprint: value("text"),
    intent: value("text"),
    by: value("uuid"),
    madeBy: value("uuid"),
    epochMs: value("double precision")
  },
  (p) => `INSERT INTO approvals (id, action, resource_id, account_id, concerns, request, before, payout, sealed,
      fingerprint, intent, requested_by, made_by, status, expires_at, created_at)
    VALUES (${p.id}, ${p.action}, ${p.resourceId}, ${p.accountId}, ${p.concerns}, ${p.request}::json, ${p.before}::json,
      ${p.payout}::json, ${p.sealed}, ${p.fingerprint}, ${p.intent}, ${p.by}, ${p.madeBy}, 'pending', now() + interval '${APPROVAL_HOURS} hours',
      to_timestamp(${p.epochMs} / 1000))
    ON CONFLICT (fingerprint) WHERE status = 'pending' DO NOTHING RETURNING id`
)

const lockAny = statement({ id: value("uuid") }, ({ id }) => `SELECT 1 FROM approvals WHERE id = ${id} FOR UPDATE`)

const lockOne = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT 1 FROM approvals WHERE id = ${id} AND status = 'approved' AND used_at IS NULL
    AND expires_at > now() FOR UPDATE`
)

/** The requester is active and has a role that may request the action. */
const mayStillRequest = `EXISTS (
    SELECT FROM operators o WHERE o.id = a.requested_by AND o.active AND (${Object.entries(approvalActions)
      .map(
        ([action, { requestedBy }]) =>
          `a.action = '${action}' AND o.role IN (${requestedBy.map((role) => `'${role}'`).join(", ")})`
      )
      .join(" OR ")})
      AND (o.account_ids IS NULL OR a.account_id = ANY (o.account_ids))
  )`

const decideStatement = (decision: ApprovalDecision) => {
  const { from, to } = approvalTransitions.find((transition) => transition.decision === decision)!
  return statement(
    { id: value("uuid"), by: value("uuid"), madeBy: value("uuid"), reason: value("text") },
    (p) => `UPDATE approvals a SET status = '${to}', decided_by = ${p.by}, decided_at = now(), reason = ${p.reason}
    WHERE a.id = ${p.id} AND a.status = '${from}' AND a.expires_at > now()
      AND NOT ARRAY[a.requested_by, a.made_by, a.concerns] && ARRAY[${p.by}, ${p.madeBy}]
      AND (${p.by} IS NULL OR EXISTS (
        SELECT FROM operators o WHERE o.id = ${p.by} AND o.active AND o.role IN (${approverRolesSql})
          AND (o.account_ids IS NULL OR a.account_id = ANY (o.account_ids))
      ))
      ${decision === "approve" ? `AND ${mayStillRequest}` : ""}
    RETURNING a.id`
  )
}

const decideOne = { approve: decideStatement("approve"), reject: decideStatement("reject") }

const useOne = statement(
  { id: value("uuid"), resultId: value("uuid") },
  (p) => `UPDATE approvals SET used_at = now(), result_id = ${p.resultId} WHERE id = ${p.id} AND used_at IS NULL`
)

const expireOne = statement(
  { id: value("uuid"), reason: value("text") },
  (p) => `UPDATE approvals SET status = 'expired', reason = ${p.reason} WHERE id = ${p.id} AND status = 'pending'`
)
