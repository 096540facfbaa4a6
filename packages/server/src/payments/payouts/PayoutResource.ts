/** A payout as `/v1` and its events show it. */
import type { Cents } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import type { Payout } from "@pix-payments/domain/Payout"
import type { Ids } from "../../base/Ids.ts"
import { type OutboxEntry, outboxEntry } from "../../events/Outbox.ts"
import type { StoredPayout } from "./PayoutTable.ts"

export const toPayout = (payout: StoredPayout): Payout => ({
  id: payout.id,
  object: "payout",
  status: payout.status,
  method: payout.method,
  // The columns' CHECKs guarantee what the brand says.
  amount: payout.amount as Cents,
  fee: payout.fee as Cents,
  currency: "BRL",
  description: payout.description,
  reference: payout.reference,
  recipient: {
    name: payout.recipientName,
    document: payout.recipientDocument,
    pix_key_type: payout.pixKeyType,
    pix_key: payout.pixKey
  },
  end_to_end_id: payout.endToEndId,
  failure_reason: payout.failureReason,
  webhook_url: payout.webhookUrl,
  processed_at: payout.processedAtMs === null ? null : formatInstant(payout.processedAtMs),
  created_at: formatInstant(payout.createdAtMs),
  sequence: payout.sequence
})

/** The events of a change, whose resource is a `payment`. */
export const payoutEvents = (payout: StoredPayout, actions: ReadonlyArray<string>, ids: Ids["Service"]): OutboxEntry =>
  outboxEntry(
    `payment.${payout.method}`,
    actions,
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
