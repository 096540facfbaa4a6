/**
 * Approvals in PostgreSQL.
 *
 * Guarantees:
 * - A decision is one statement. It decides a pending, unexpired request, by an active operator who may approve, who did not
 *   request it and whom it does not concern. The operator who made a credential counts as its owner does. An approval needs a requester
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
import { type Page, readPage } from "../../database/statements/Paging.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import {
  type ApprovalFilters,
  approvalList,
  type ApprovalRow,
  type Fields,
  findOne,
  type RequestedPayoutFacts
} from "./ApprovalRow.ts"
import { approverRolesSql, isFourEyesOn } from "./Authority.ts"

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
      filters: ApprovalFilters,
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

        list: (filters, page) =>
          readPage<ApprovalRow>(approvalList(filters), page).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
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

/**
 * Equal for payouts of the same account, recipient and amount, and for adjustments of the same account and amount. Only of what
 * the approval creates.
 */
const intentOf = ({ accountId, action, payout, request }: ApprovalRequest): string | null => {
  if (action === "adjustment.create") return fingerprint([action, accountId, request["amount"]])
  if (action !== "payout.create" || payout === undefined) return null
  return fingerprint([accountId, payout.amount, payout.recipient_key])
}

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
