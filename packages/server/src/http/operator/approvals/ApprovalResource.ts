/** The approval resource of `/operator/v1`. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { ApprovalRow } from "../../../operators/approvals/ApprovalStore.ts"
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
  requested_by: { id: row.requested_by, name: row.requested_by_name },
  token_made_by: row.made_by === null ? null : { id: row.made_by, name: row.made_by_name ?? "" },
  decided_by: row.decided_at === null ? null : { id: row.decided_by, name: row.decided_by_name ?? "operator" },
  reason: row.reason,
  expires_at: row.expires_at.toISOString(),
  decided_at: row.decided_at?.toISOString() ?? null,
  done_at: row.used_at?.toISOString() ?? null,
  result_id: row.result_id,
  created_at: row.created_at.toISOString()
})
