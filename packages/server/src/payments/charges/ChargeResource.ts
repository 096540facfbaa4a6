/** A charge as the API and its events show it. */
import type { Cents } from "@pix-payments/domain/Cents"
import { type Charge, chargeStatusAt } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { changedFieldsOf } from "../../events/EventData.ts"
import type { Changed } from "../../events/Outbox.ts"
import { customerOf, type ShownCharge, type StoredCharge } from "./ChargeTable.ts"

/** A charge as `GET` answers it at an instant (CHG-5, CHG-22). */
export const toCharge = (charge: ShownCharge, nowMs: number): Charge => ({
  id: charge.id,
  object: "charge",
  status: chargeStatusAt(charge.status, charge.expiresAtMs, nowMs),
  // A CHECK of the column enforces the brand.
  amount: charge.amount as Cents,
  currency: "BRL",
  method: charge.method,
  description: charge.description,
  reference: charge.reference,
  customer: customerOf(charge),
  pix: { br_code: charge.brCode, end_to_end_id: charge.endToEndId },
  receiver: charge.receiver,
  webhook_url: charge.webhookUrl,
  expires_at: charge.expiresAtMs === null ? null : formatInstant(charge.expiresAtMs),
  paid_at: charge.paidAtMs === null ? null : formatInstant(charge.paidAtMs),
  // What is returned of a charge is at most its amount.
  refunded_amount: charge.refundedAmount as Cents,
  failure_reason: charge.failureReason,
  created_at: formatInstant(charge.createdAtMs),
  sequence: charge.sequence
})

/** A charge after a change, for its events (EVT-5), whose other fields are read from the charge (`events/EventData.ts`). */
export const changedCharge = (charge: StoredCharge, nowMs: number): Changed => ({
  id: charge.id,
  accountId: charge.accountId,
  applicationId: charge.applicationId,
  status: charge.status,
  sequence: charge.sequence,
  webhookUrl: charge.webhookUrl,
  sealedWebhookSecret: charge.sealedWebhookSecret,
  data: changedFieldsOf(toCharge(charge, nowMs))
})
