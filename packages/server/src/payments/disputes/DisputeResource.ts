/** A dispute: a new one, and as the API and its events show it. */
import type { Cents } from "@pix-payments/domain/Cents"
import { DEFENSE_PERIOD_MS, type Dispute } from "@pix-payments/domain/Dispute"
import { formatInstant } from "@pix-payments/domain/Instant"
import type { Generated } from "@pix-payments/domain/Uuid"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import type { Ids } from "../../base/Ids.ts"
import { type Changed, type OutboxEntry, outboxEntry } from "../../events/Outbox.ts"
import type { StoredDispute } from "./DisputeTable.ts"

/** A dispute as its events and the operator interface show it (DSP-11). Only one of a charge has events. */
export const toDispute = (
  dispute: StoredDispute
): Omit<Dispute, "charge_id"> & { readonly charge_id: string | null } => ({
  object: "dispute",
  id: dispute.id,
  charge_id: dispute.chargeId,
  status: dispute.status,
  // A CHECK of the column enforces the brand.
  amount: dispute.amount as Cents,
  currency: "BRL",
  reason: dispute.reason,
  reference: dispute.reference,
  opened_at: formatInstant(dispute.openedAtMs),
  defense_deadline_at: dispute.defenseDeadlineAtMs === null ? null : formatInstant(dispute.defenseDeadlineAtMs),
  resolved_at: dispute.resolvedAtMs === null ? null : formatInstant(dispute.resolvedAtMs),
  arrived_resolved: dispute.arrivedResolved,
  sequence: dispute.sequence
})

/** Whose money is contested: a charge, or an exception that an account accepted. */
export interface Contested extends Pick<
  StoredDispute,
  "chargeId" | "exceptionId" | "accountId" | "applicationId" | "connectionId" | "reference"
> {}

export const contestedCharge = (charge: StoredCharge): Contested => ({
  ...charge,
  chargeId: charge.id,
  exceptionId: null
})

/** A dispute of these cents: open, or lost from the first (DSP-5). */
export const newDispute = (
  { accountId, applicationId, chargeId, connectionId, exceptionId, reference }: Contested,
  { epochMs, id }: Generated,
  med: {
    readonly amount: number
    readonly reason: string
    readonly externalId?: string | undefined
    readonly defenseDeadlineAtMs?: number | undefined
    /** When the provider opened it. */
    readonly atMs?: number | undefined
    readonly arrivedResolved: boolean
  }
): StoredDispute => ({
  id,
  chargeId,
  exceptionId,
  accountId,
  applicationId,
  connectionId,
  externalId: med.externalId ?? null,
  status: med.arrivedResolved ? "lost" : "open",
  amount: med.amount,
  reason: med.reason,
  reference,
  openedAtMs: med.atMs ?? epochMs,
  defenseDeadlineAtMs: med.arrivedResolved
    ? null
    : (med.defenseDeadlineAtMs ?? (med.atMs ?? epochMs) + DEFENSE_PERIOD_MS),
  resolvedAtMs: med.arrivedResolved ? epochMs : null,
  arrivedResolved: med.arrivedResolved,
  sequence: 1,
  returned: 0,
  returnId: null
})

/** The events of a change of a dispute. One of an exception has none. */
export const disputeEntry = (
  dispute: StoredDispute,
  actions: ReadonlyArray<string>,
  ids: Ids["Service"],
  message?: string
): OutboxEntry | undefined =>
  dispute.chargeId === null
    ? undefined
    : outboxEntry("dispute.pix", actions, changedDispute(dispute, message), ids.next)

/** A dispute after a change (DSP-9: its events go to registered endpoints only). */
const changedDispute = (dispute: StoredDispute, message?: string): Changed => ({
  id: dispute.id,
  accountId: dispute.accountId,
  applicationId: dispute.applicationId,
  status: dispute.status,
  sequence: dispute.sequence,
  webhookUrl: null,
  sealedWebhookSecret: null,
  data: message === undefined ? toDispute(dispute) : { ...toDispute(dispute), message }
})
