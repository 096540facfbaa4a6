/**
 * By what right a statement acts that needs four eyes, as SQL.
 *
 * Guarantees:
 * - A statement with `isAuthorized` does nothing while four eyes is on, unless its approval is approved, unexpired, unused,
 *   and of this action and resource, as the transaction sees it.
 * - Without an `Authority` around it, an effect acts by no approval.
 *
 * Rules: OPR-110, OPR-112.
 */
import { type ApprovalAction, approverRoles, APPROVERS_FOR_FOUR_EYES } from "@pix-payments/domain/Approval"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { type Part, part, value } from "../../database/statements/Statement.ts"

export interface AuthorityOf {
  /** The approval that the action uses. */
  readonly approvalId: string | null
  /** True for what acts outside of four eyes: the installation's token. */
  readonly isExempt: boolean
}

/** The authority of the effects within. */
export const Authority = Context.Reference<AuthorityOf>("@pix-payments/server/Authority", {
  defaultValue: () => ({ approvalId: null, isExempt: false })
})

/** A statement did nothing, because it needs an approval. */
export class ApprovalRequired extends Data.TaggedError("ApprovalRequired")<{}> {}

/** The roles that approve, as a list of SQL texts. */
export const approverRolesSql = approverRoles.map((role) => `'${role}'`).join(", ")

/** True since two active operators could approve (OPR-110), for the row `installation_settings`. */
export const isAutomaticallyOn = `(four_eyes_since IS NOT NULL OR (
      SELECT count(*) FROM operators o WHERE o.active AND o.role IN (${approverRolesSql}) AND o.account_ids IS NULL
    ) >= ${APPROVERS_FOR_FOUR_EYES})`

/** True while four eyes is on. */
export const isFourEyesOn = `EXISTS (
    SELECT FROM installation_settings WHERE four_eyes = 'on' OR (four_eyes = 'auto' AND ${isAutomaticallyOn})
  )`

/** The condition that the statement may do `action` to the resource, an SQL expression of type uuid. */
export type IsAuthorized = (action: ApprovalAction, resourceId: string) => string

const isUsable = (action: ApprovalAction, resourceId: string) => `a.action = '${action}' AND a.status = 'approved'
      AND a.used_at IS NULL AND a.expires_at > now() AND a.resource_id IS NOT DISTINCT FROM ${resourceId}`

/** The authority as a part of a statement. */
export const authorityPart: Part<AuthorityOf, IsAuthorized> = part(
  { approvalId: value("uuid"), isExempt: value("boolean") },
  (p): IsAuthorized =>
    (action, resourceId) =>
      `(${p.isExempt} OR NOT ${isFourEyesOn}
    OR EXISTS (SELECT FROM approvals a WHERE a.id = ${p.approvalId} AND ${isUsable(action, resourceId)}))`,
  (authority: AuthorityOf) => authority
)

/** The same condition in a template of `sql`. */
export const isAuthorized = (
  sql: SqlClient,
  { approvalId, isExempt }: AuthorityOf,
  action: ApprovalAction,
  resourceId: string
) =>
  sql`(${isExempt}::boolean OR NOT ${sql.literal(isFourEyesOn)}
    OR EXISTS (SELECT FROM approvals a WHERE a.id = ${approvalId}::uuid AND ${sql.literal(isUsable(action, resourceId))}))`

/** Fails unless the authority around it may do `action` to this resource, as the transaction sees it. */
export const authorize = Effect.fnUntraced(function* (sql: SqlClient, action: ApprovalAction, resourceId: string) {
  const [row] = yield* sql<{ may: boolean }>`
    SELECT ${isAuthorized(sql, yield* Authority, action, "asked.id")} AS may FROM (SELECT ${resourceId}::uuid AS id) AS asked`
  if (row?.may !== true) return yield* new ApprovalRequired()
})
