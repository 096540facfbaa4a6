/** The statements of `PayoutStore`. */
import { pagesOf } from "../../accounts/AccountPages.ts"
import type { Written } from "../../database/batching/Batching.ts"
import { integer, nullable } from "../../database/statements/Column.ts"
import type { LockMode } from "../../database/statements/LockMode.ts"
import { oneOfIds, type Updates, updatesOf } from "../../database/statements/PrunedIds.ts"
import { CHANGED, statement } from "../../database/statements/Statement.ts"
import type { ChangedRow } from "../../events/DeliverySignal.ts"
import { outbox, type OutboxPart } from "../../events/Outbox.ts"
import { lockedTransfers, type LockedTransfers } from "../../ledger/Ledger.ts"
import { authorityPart, type IsAuthorized } from "../../operators/approvals/Authority.ts"
import { notifications } from "../../providers/NotificationStore.ts"
import type { PayoutChange } from "./PayoutDecision.ts"
import { allowedTransitions, payoutColumns, payoutTable } from "./PayoutTable.ts"

export const findPayouts = statement(
  { ids: oneOfIds },
  ({ ids }) => `SELECT ${payoutColumns} FROM payouts WHERE ${ids("id")}`
)

/** Pages of the payouts of accounts. */
export const payoutPages = pagesOf("payouts", payoutTable)

/** A stored payout, or an account whose balance was locked by somebody else. */
export type WrittenRow = Omit<ChangedRow, "id"> & Written

export const isChanged = (row: WrittenRow): row is WrittenRow & ChangedRow => row.id !== null

/** Selects the payouts that a statement wrote, and the accounts that it passed by because their balance was locked. */
export const written = (p: { readonly outbox: OutboxPart; readonly transfers: LockedTransfers }): string => `
  SELECT id, ${p.outbox.rows}, NULL::uuid AS passed_by FROM ${CHANGED}
  UNION ALL SELECT NULL, 0, p.owner_id FROM (${p.transfers.passedBy}) p`

const changed = ["id", "status", "endToEndId", "failureReason", "processedAtMs", "sequence"] as const

const ofApprovals = { payouts: updatesOf(payoutTable.rows(changed)), outbox, transfers: lockedTransfers }

const ofChanges = {
  ...ofApprovals,
  payouts: updatesOf(payoutTable.rows(changed, { refusedAttempts: nullable(integer()) }))
}

const changeCtes = (
  p: {
    readonly payouts: Updates
    readonly outbox: OutboxPart
    readonly transfers: LockedTransfers
  },
  lockMode: LockMode,
  guard: string
) => `
  WITH ${p.transfers.lock(lockMode)},
  ${CHANGED} AS (
    UPDATE payouts p SET status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      due_at = CASE WHEN i.status = 'processing' THEN now() END
    FROM ${p.payouts.rows} AS i
    WHERE ${p.payouts.isRow("p", "i")} AND p.sequence = i.sequence - 1 AND p.status || '>' || i.status IN (${allowedTransitions})
      AND ${guard}
      AND ${p.transfers.isLocked("p.account_id")}
    RETURNING p.id
  ),
  ${p.outbox.insert(CHANGED)},
  ${p.transfers.insert(CHANGED)}`

// The refusal of a request ends no payout that was accepted, or that another process sends by now.
const NO_APPROVAL = `i.status <> 'processing'
      AND (i.refused_attempts IS NULL OR (p.attempts = i.refused_attempts AND p.processed_at IS NULL))`

const change = (lockMode: LockMode) =>
  statement(ofChanges, (p) => `${changeCtes(p, lockMode, NO_APPROVAL)} ${written(p)}`)

const changes = { wait: change("wait"), skip: change("skip") }

const mayBeApproved = (isAuthorized: IsAuthorized) => `EXISTS (
        SELECT 1 FROM accounts a WHERE a.id = p.account_id AND a.status = 'active'
          AND (a.approval_limit IS NULL OR p.amount <= a.approval_limit OR ${isAuthorized("payout.approve", "p.id")})
      )`

/** Stores the approval of a payout of an active account, up to its limit or with the authority to exceed it (OPR-112). */
export const approvePayouts = statement(
  { ...ofApprovals, authority: authorityPart },
  (p) => `${changeCtes(p, "wait", mayBeApproved(p.authority))} ${written(p)}`
)

const changeByNotification = (lockMode: LockMode) =>
  statement(
    { ...ofChanges, notifications },
    (p) => `${changeCtes(p, lockMode, NO_APPROVAL)},
  ${p.notifications.insert(CHANGED)}
  ${written(p)}`
  )

const changesByNotification = { wait: changeByNotification("wait"), skip: changeByNotification("skip") }

/**
 * Stores changes other than approvals, each where its payout has the status and the sequence that it was decided on, and records
 * the notifications that caused them.
 */
export const changePayouts = (unordered: ReadonlyArray<PayoutChange>, lockMode: LockMode) => {
  // Rows are locked in the order of their ids, so that two processes never wait for each other.
  const ordered = unordered.toSorted((one, other) => (one.payout.id < other.payout.id ? -1 : 1))
  const received = ordered.flatMap(({ payout, received: notification }) =>
    notification === undefined ? [] : [{ resourceId: payout.id, received: notification }]
  )
  const changed = {
    payouts: ordered.map(({ payout, refusedAttempts = null }) => ({ ...payout, refusedAttempts })),
    outbox: ordered.map(({ outbox }) => outbox),
    transfers: ordered.flatMap(({ transfers }) => transfers)
  }
  return received.length === 0
    ? changes[lockMode](changed)
    : changesByNotification[lockMode]({ ...changed, notifications: received })
}
