/** The approval resource of `/operator/v1`. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { ApprovalRow } from "../../../operators/approvals/ApprovalRow.ts"
import { objectOf, summaryOf } from "./ApprovalSummary.ts"

export const toApproval = (row: ApprovalRow): Approval => ({
  id: row.id,
  object: "approval",
  action: row.action,
  status: row.status,
  resource: row.resource_id === null ? null : { object: objectOf[row.action], id: row.resource_id },
  account_id: row.account_id,
  request: row.request,
  before: row.before,
  summary: summaryOf(row),
  requested_by: row.requester,
  token_made_by: row.maker,
  decided_by: row.decided_at === null ? null : (row.decider ?? theInstallation),
  reason: row.reason,
  expires_at: row.expires_at.toISOString(),
  decided_at: row.decided_at?.toISOString() ?? null,
  done_at: row.used_at?.toISOString() ?? null,
  result_id: row.result_id,
  created_at: row.created_at.toISOString()
})

/** The installation's token, as the operator that it is. */
const theInstallation = { id: null, name: "operator", email: null }
