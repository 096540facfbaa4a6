/**
 * Decides what a MED does to its charge, and the states of a dispute. Pure.
 *
 * Guarantees:
 * - a MED contests no more than is left of the charge, and blocks it as far as the account has it (DSP-7);
 * - a loss takes no more than the account has, first what is blocked. After a `won`, the money of a later MED stays blocked as
 *   far as the account has other money;
 * - a report that the transition table does not allow in the present state decides nothing (DSP-2).
 */
import { inAccount, leftOf, splitAccount, splitReturn } from "@pix-payments/domain/ChargeMoney"
import { type DisputeReport, disputeTransition } from "@pix-payments/domain/Dispute"
import type { Ids } from "../../base/Ids.ts"
import type { OutboxEntry } from "../../events/Outbox.ts"
import type { Reversal } from "../../providers/AcquirerNotification.ts"
import { afterStep, allowedReport, type ChargeStep, type LockedCharge } from "../charges/ChargeDecision.ts"
import { type DisputeClaims, movementsFrom, unreportedReturn } from "../refunds/RefundDecision.ts"
import type { StoredRefund } from "../refunds/RefundStore.ts"
import { contestedCharge, disputeEntry, newDispute } from "./DisputeResource.ts"
import type { StoredDispute } from "./DisputeStore.ts"

/** A dispute after a change, and its events. */
export interface DisputeChange {
  readonly dispute: StoredDispute
  readonly outbox: OutboxEntry | undefined
}

export const isOpen = ({ status }: StoredDispute): boolean => status === "open" || status === "under_review"

/** The cents that open disputes contest, without one of them. */
export const contestedByOthers = (disputes: ReadonlyArray<StoredDispute>, id: string | undefined): number =>
  sumOf(disputes.filter((dispute) => isOpen(dispute) && dispute.id !== id))

/** The next state of a dispute; `undefined` where its state does not allow the report. */
export const decideReport = (
  dispute: StoredDispute,
  report: DisputeReport,
  nowMs: number,
  ids: Ids["Service"]
): DisputeChange | undefined => {
  const transition = disputeTransition(report, dispute.status)
  if (transition === undefined) return undefined
  const moved: StoredDispute = {
    ...dispute,
    status: transition.to,
    sequence: dispute.sequence + 1,
    resolvedAtMs: report === "defended" ? dispute.resolvedAtMs : nowMs
  }
  return { dispute: moved, outbox: disputeEntry(moved, transition.events, ids) }
}

/** A new MED; `undefined` where the charge cannot be contested. */
export const decideOpening = (
  { charge, funds }: LockedCharge,
  med: Extract<Reversal, { readonly _tag: "med.opened" }>,
  ids: Ids["Service"]
): (DisputeChange & { readonly step: ChargeStep }) | undefined => {
  const report = allowedReport(charge, "infraction")
  if (charge.method !== "pix" || report === undefined) return undefined
  const amount = Math.min(med.amount ?? charge.amount, leftOf(funds))
  const parts = splitAccount(Math.min(amount, inAccount(funds)), funds)
  const dispute = newDispute(contestedCharge(charge), ids.next(), { ...med, amount, arrivedResolved: false })
  return {
    step: { report, reason: "charge.infraction", movements: movementsFrom(parts, "blocked") },
    dispute,
    outbox: disputeEntry(dispute, ["opened"], ids)
  }
}

/** The money of a MED that is won: it is available again. */
export const decideWin = ({ charge, funds }: LockedCharge, dispute: StoredDispute): ChargeStep => {
  const report = allowedReport(charge, "dispute_won")
  // Another dispute of the charge may have ended it, and this one's money is still blocked.
  const amount = report === undefined ? Math.min(dispute.amount, funds.blocked) : funds.blocked
  return { report, reason: "charge.dispute_won", movements: [{ debit: "blocked", credit: "available", amount }] }
}

/** The money of a MED that is lost; `undefined` where the loss changes nothing. */
export const decideLoss = (
  locked: LockedCharge,
  dispute: StoredDispute
):
  | {
      readonly step: ChargeStep
      /** Cents that go back, and of these the ones that were not released yet. */
      readonly amount: number
      readonly pending: number
      /** Nothing is left of the charge. */
      readonly isEmpty: boolean
    }
  | undefined => {
  const { charge, funds } = locked
  const report = allowedReport(charge, "charged_back")
  const amount = Math.min(dispute.amount, inAccount(funds) + funds.blocked)
  // After a `won`, the money may have gone back another way.
  if (!isOpen(dispute) && report === undefined && amount <= 0) return undefined
  // What a later MED contests stays contested, as far as the account has the money.
  const released = Math.min(amount, inAccount(funds))
  const parts = isOpen(dispute)
    ? splitReturn(amount, funds)
    : { ...splitAccount(released, funds), blocked: amount - released }
  const step = { report, reason: "charge.charged_back", movements: movementsFrom(parts, "acquirer") }
  return { step, amount, pending: parts.pending, isEmpty: leftOf(afterStep(locked, step).funds) === 0 }
}

/**
 * What MEDs claim of the money of a refund that fails (OPR-73).
 *
 * Compares no times: the clocks of servers differ. A refund is ordered of a paid charge only, so what is lost while a refund is
 * open was lost since; and a MED that arrived lost, before or since, arrived with a return of the same amount.
 */
export const claimsOn = (
  { charge, funds }: LockedCharge,
  disputes: ReadonlyArray<StoredDispute>,
  refunds: ReadonlyArray<StoredRefund>
): DisputeClaims => {
  if (charge.status === "infraction") {
    const contested = disputes.find(isOpen)?.amount ?? charge.amount
    return { contested: Math.max(0, contested - funds.blocked), lost: 0, taken: undefined }
  }
  const lost = disputes.filter(({ status }) => status === "lost")
  const returns = refunds.filter(({ nature }) => nature === "dispute")
  // Once the provider has reported the return of a MED, its amount is known and nothing is missing.
  const reported = returns.filter(({ providerId }) => providerId !== null)
  const isReported = reported.length > lost.filter(({ arrivedResolved }) => arrivedResolved).length
  if (charge.status !== "charged_back" || isReported) return { contested: 0, lost: 0, taken: undefined }
  return { contested: 0, lost: Math.max(0, sumOf(lost) - sumOf(returns)), taken: unreportedReturn(returns) }
}

const sumOf = (all: ReadonlyArray<{ readonly amount: number }>) => all.reduce((sum, { amount }) => sum + amount, 0)
