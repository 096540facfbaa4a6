/**
 * Decides the change of a payout by an operator's decision or a provider's report: the row, its outbox entry and its ledger
 * transfers, for one commit. Pure.
 *
 * Guarantees:
 * - A report that the transition table does not allow in the present state decides nothing.
 * - Amount and fee return to `available` with `failed` and `canceled`, and leave transit with `completed`.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import { type PayoutReport, payoutTransition } from "@pix-payments/domain/Payout"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import type { OutboxEntry } from "../../events/Outbox.ts"
import type { Ids } from "../../base/Ids.ts"
import { type LedgerKind, type Transfer, transfer } from "../../ledger/Ledger.ts"
import { payoutEvents } from "./PayoutResource.ts"
import type { StoredPayout } from "./PayoutTable.ts"

/** A payout after a change that was decided on it at `sequence - 1`. */
export interface PayoutChange {
  readonly payout: StoredPayout
  readonly outbox: OutboxEntry
  readonly transfers: ReadonlyArray<Transfer>
  /** The notification that caused it, recorded with it. */
  readonly received?: ReceivedNotification | undefined
  /** The claim whose request was refused, where that is the cause. */
  readonly refusedAttempts?: number | undefined
}

/** What a notification adds to its payout. */
export interface PayoutFacts {
  readonly endToEndId?: string | undefined
  readonly reason?: string | undefined
}

/** The change that `report` makes; `undefined` where the transition table has none from the payout's status. */
export const decideChange = (
  payout: StoredPayout,
  report: PayoutReport,
  facts: PayoutFacts,
  nowMs: number,
  ids: Ids["Service"]
): PayoutChange | undefined => {
  const found = payoutTransition(report, payout.status)
  if (found === undefined) return undefined
  const isOutcome = report === "completed" || report === "failed"
  const moved: StoredPayout = {
    ...payout,
    status: found.to,
    sequence: payout.sequence + 1,
    endToEndId: report === "completed" ? (facts.endToEndId ?? null) : payout.endToEndId,
    failureReason: report === "failed" ? (facts.reason ?? "refused by the provider") : payout.failureReason,
    // An outcome proves that the acquirer received it.
    processedAtMs: payout.processedAtMs ?? (isOutcome ? nowMs : null)
  }
  return {
    payout: moved,
    outbox: payoutEvents(moved, found.events, ids),
    transfers: fromTransit[report].flatMap(({ cents, credit, reason }) =>
      transfer(ids, {
        accountId: moved.accountId,
        debit: "payouts_in_transit",
        credit,
        amount: cents(moved),
        resourceId: moved.id,
        connectionId: moved.connectionId ?? SIMULATOR_CONNECTION,
        fee: credit === "acquirer" ? 0 : moved.fee,
        reason
      })
    )
  }
}

/** Where the money in transit goes. */
const fromTransit: Record<
  PayoutReport,
  ReadonlyArray<{
    readonly reason: TransferReason
    readonly credit: LedgerKind
    readonly cents: (payout: StoredPayout) => number
  }>
> = {
  approved: [],
  completed: [
    { reason: "payout.completed", credit: "acquirer", cents: ({ amount }) => amount },
    { reason: "payout.completed", credit: "fees", cents: ({ fee }) => fee }
  ],
  failed: [{ reason: "payout.failed", credit: "available", cents: ({ amount, fee }) => amount + fee }],
  canceled: [{ reason: "payout.canceled", credit: "available", cents: ({ amount, fee }) => amount + fee }]
}
