/** Accounts, applications and keys as `/operator/v1` shows them. */
import type { OperatorAccount } from "@pix-payments/api/operator/Accounts"
import type { Application } from "@pix-payments/api/operator/Applications"
import type { ApiKey } from "@pix-payments/api/operator/Keys"
import { noLimits } from "@pix-payments/domain/Limits"
import type { AccountRow, ApplicationRow } from "../../../accounts/Accounts.ts"
import type { ApiKeyRow } from "../../../accounts/ApiKeys.ts"
import { toAccount } from "../../public/AccountHandlers.ts"

/** The account resource of `/operator/v1`. */
export const toOperatorAccount = (row: AccountRow): OperatorAccount => ({
  ...toAccount(row),
  status: row.moved_to === null ? row.status : "moved",
  moved_to: row.moved_to,
  payout_fee: { fixed: Number(row.payout_fee_fixed), basis_points: row.payout_fee_basis_points },
  default_expires_in: row.default_expires_in,
  release_delay: row.release_delay,
  statement_account: row.statement_account,
  payout_duplicate_window: row.payout_duplicate_window,
  payouts_paused: row.payouts_paused,
  charges_paused: row.charges_paused,
  connection_id: row.connection_id,
  approval_limit: row.approval_limit === null ? null : Number(row.approval_limit),
  limits: row.limits ?? noLimits,
  balance: {
    object: "balance",
    currency: "BRL",
    available: Number(row.available),
    pending: Number(row.pending),
    total: Number(row.available + row.pending)
  }
})

export const toApplication = (row: ApplicationRow): Application => ({
  id: row.id,
  object: "application",
  account_id: row.account_id,
  name: row.name,
  active: row.active,
  created_at: row.created_at.toISOString()
})

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  object: "api_key",
  application_id: row.application_id,
  name: row.name,
  prefix: row.prefix,
  scopes: row.scopes,
  limits: row.limits ?? noLimits,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString()
})
