/**
 * What a change of a payout consists of: the row, its outbox entry and its ledger transfers, for one commit. Pure.
 *
 * Guarantees: amount and fee leave `available` with the creation. They return with `failed` and `canceled`, and leave
 * transit with `completed`.
 */
import { type PayoutReport, payoutTransition } from "@pix-payments/domain/Payout"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import { type OutboxEntry, outboxEntry } from "../../events/Outbox.ts"
import type { Ids } from "../../base/Ids.ts"
import { type LedgerKind, type Transfer, transfer } from "../../ledger/Ledger.ts"
import { toPayout } from "./PayoutResource.ts"
import type { StoredPayout } from "./PayoutTable.ts"

/** A payout after a change that was decided on it at `sequence - 1`. */
export interface PayoutChange {
  readonly payout: StoredPayout
  readonly outbox: OutboxEntry
  readonly transfers: ReadonlyArray<Transfer>
  /** The notification that caused it, recorded with it. */
  readonly received?: ReceivedNotification | undefined
}

/** What a notification adds to its payout. */
export interface PayoutFacts {
  readonly endToEndId?: string | undefined
  readonly reason?: string | undefined
}

export const creation = (payout: StoredPayout, events: ReadonlyArray<string>, ids: Ids["Service"]): PayoutChange => ({
  payout,
  outbox: entryOf(payout, events, ids),
  transfers: transfer(ids, {
    accountId: payout.accountId,
    debit: "available",
    credit: "payouts_in_transit",
    amount: payout.amount + payout.fee,
    resourceId: payout.id,
    reason: "payout.created"
  })
})

/** The change that `report` makes; `undefined` where the transition table has none from the payout's status. */
export const transition = (
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
    outbox: entryOf(moved, found.events, ids),
    transfers: fromTransit[report].flatMap(({ cents, credit }) =>
      transfer(ids, {
        accountId: moved.accountId,
        debit: "payouts_in_transit",
        credit,
        amount: cents(moved),
        resourceId: moved.id,
        reason: `payout.${report}`
      })
    )
  }
}

/** Where the money in transit goes. */
const fromTransit: Record<
  PayoutReport,
  ReadonlyArray<{ readonly credit: LedgerKind; readonly cents: (payout: StoredPayout) => number }>
> = {
  approved: [],
  completed: [
    { credit: "acquirer", cents: ({ amount }) => amount },
    { credit: "fees", cents: ({ fee }) => fee }
  ],
  failed: [{ credit: "available", cents: ({ amount, fee }) => amount + fee }],
  canceled: [{ credit: "available", cents: ({ amount, fee }) => amount + fee }]
}

const entryOf = (payout: StoredPayout, events: ReadonlyArray<string>, ids: Ids["Service"]): OutboxEntry =>
  outboxEntry(
    `payment.${payout.method}`,
    events,
    {
      id: payout.id,
      accountId: payout.accountId,
      applicationId: payout.applicationId,
      status: payout.status,
      sequence: payout.sequence,
      webhookUrl: payout.webhookUrl,
      sealedWebhookSecret: payout.sealedWebhookSecret,
      data: { ...toPayout(payout), object: "payment" }
    },
    ids.next
  )
