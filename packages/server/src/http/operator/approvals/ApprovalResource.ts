/** The approval resource of `/operator/v1`, and what requests store. */
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { OperatorRecipient } from "@pix-payments/api/operator/Recipient"
import type { ApprovalAction } from "@pix-payments/domain/Approval"
import type { Cents } from "@pix-payments/domain/Cents"
import type { ApprovalRow, RequestedPayoutFacts } from "../../../operators/approvals/ApprovalStore.ts"

export const toApproval = (row: ApprovalRow): Approval => ({
  id: row.id,
  object: "approval",
  action: row.action,
  status: row.status,
  resource: row.resource_id === null ? null : { object: resourceOf[row.action], id: row.resource_id },
  account_id: row.account_id,
  request: row.request,
  before: row.before,
  payout: row.payout === null ? null : toApprovalPayout(row, row.payout),
  requested_by: { id: row.requested_by, name: row.requested_by_name },
  decided_by: row.decided_at === null ? null : { id: row.decided_by, name: row.decided_by_name ?? "operator" },
  reason: row.reason,
  expires_at: row.expires_at.toISOString(),
  decided_at: row.decided_at?.toISOString() ?? null,
  done_at: row.used_at?.toISOString() ?? null,
  result_id: row.result_id,
  created_at: row.created_at.toISOString()
})

/** The `object` of the resource that an action names. */
const resourceOf: Readonly<Record<ApprovalAction, string>> = {
  "payout.release": "payout",
  "payout.create": "account",
  "key.create": "application",
  "connection.create": "connection",
  "connection.update": "connection",
  "account.update": "account",
  "operator.create": "operator",
  "operator.update": "operator",
  "operator_token.create": "operator",
  "installation.update": "installation",
  "installation.confirm_outward": "installation",
  "exception.accept": "exception"
}

const toApprovalPayout = (row: ApprovalRow, payout: RequestedPayoutFacts): Approval["payout"] => {
  const cost = payout.amount + payout.fee
  const available = row.status === "pending" && row.available !== null ? Number(row.available) : null
  // A payout that exists has left `available` already.
  const after = available === null ? null : row.action === "payout.release" ? available : available - cost
  return {
    id: payout.id ?? (row.action === "payout.create" ? row.result_id : null),
    method: payout.method,
    // CHECKs of the payout's columns enforce the brand.
    amount: payout.amount as Cents,
    fee: payout.fee as Cents,
    currency: "BRL",
    description: payout.description,
    reference: payout.reference,
    recipient: payout.recipient as OperatorRecipient,
    duplicate_of: payout.duplicate_of,
    balance_before: after === null ? null : after + cost,
    balance_after: after
  }
}
