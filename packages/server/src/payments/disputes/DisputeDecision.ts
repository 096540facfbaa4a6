/**
 * Decides what a MED does to its charge, and the states of a dispute. Pure.
 *
 * Guarantees:
 * - a MED contests no more than is left of the charge and no other MED contests, and blocks it as far as the account has it
 *   (DSP-7);
 * - a loss takes no more than the account has, first what is blocked for it. What other MEDs contest stays blocked as far as the
 *   account has other money;
 * - a MED that is lost is paired with a return that was booked before and that no MED is known for: the money goes back once,
 *   whichever list of the provider is read first. A return alone ends no MED of which something is left;
 * - the charge is `paid` again with the last open dispute, if it is won and none was lost;
 * - a report that the transition table does not allow in the present state decides nothing (DSP-2).
 */
import {
  blockedAgain,
  blockedBeyond,
  contestedBy,
  inAccount,
  leftOf,
  splitAccount,
  splitLoss
} from "@pix-payments/domain/ChargeMoney"
import { type DisputeReport, disputeTransition } from "@pix-payments/domain/Dispute"
import type { Ids } from "../../base/Ids.ts"
import type { OutboxEntry } from "../../events/Outbox.ts"
import type { Med } from "../../providers/AcquirerNotification.ts"
import { afterStep, allowedReport, type ChargeStep, type LockedCharge } from "../charges/ChargeDecision.ts"
import type { ContestedMoney } from "../refunds/DisputedMoney.ts"
import { movementsFrom, wasPaid } from "../refunds/RefundDecision.ts"
import type { StoredRefund } from "../refunds/RefundStore.ts"
import { contestedCharge, disputeEntry, newDispute } from "./DisputeResource.ts"
import type { StoredDispute } from "./DisputeTable.ts"

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

/** A new MED; `undefined` where nothing of the charge can be contested. */
export const decideOpening = (
  { charge, funds }: LockedCharge,
  disputes: ReadonlyArray<StoredDispute>,
  med: Med,
  ids: Ids["Service"]
): (DisputeChange & { readonly step: ChargeStep }) | undefined => {
  if (charge.method !== "pix" || !wasPaid(charge)) return undefined
  const amount = contestedBy(med.amount, funds, contestedByOthers(disputes, undefined))
  if (amount === 0) return undefined
  // A second MED while one is open changes no state.
  const report = allowedReport(charge, "infraction")
  const parts = splitAccount(Math.min(amount, inAccount(funds)), funds)
  const dispute = newDispute(contestedCharge(charge), ids.next(), { ...med, amount, arrivedResolved: false })
  return {
    step: { report, reason: "charge.infraction", sourceId: dispute.id, movements: movementsFrom(parts, "blocked") },
    dispute,
    outbox: disputeEntry(dispute, ["opened"], ids)
  }
}

/** The MED that arrived with a return of these cents, and that no MED is known for; `undefined` where there is none. */
export const arrivedWith = (amount: number, disputes: ReadonlyArray<StoredDispute>): StoredDispute | undefined =>
  disputes
    .filter(({ arrivedResolved, externalId }) => arrivedResolved && externalId === null)
    .toSorted((one, other) => Math.abs(one.amount - amount) - Math.abs(other.amount - amount))[0]

/** A MED that is lost, and whose return was booked before: no money goes back, and what others contest is blocked. */
export const decideKnownLoss = ({ charge, funds }: LockedCharge, contestedByOthers: number): ChargeStep => {
  const { blocked, released } = blockedAgain(contestedByOthers, funds)
  return {
    report: allowedReport(charge, "charged_back"),
    reason: "charge.charged_back",
    movements: [...movementsFrom(blocked, "blocked"), { debit: "blocked", credit: "available", amount: released }]
  }
}

/** The money of a MED that is won: what no other contests is available again. */
export const decideWin = (
  { charge, funds }: LockedCharge,
  dispute: StoredDispute,
  disputes: ReadonlyArray<StoredDispute>
): ChargeStep => {
  const others = contestedByOthers(disputes, dispute.id)
  const report = others > 0 ? undefined : allowedReport(charge, "dispute_won")
  const amount = blockedBeyond(funds, others)
  const movements = [{ debit: "blocked", credit: "available", amount } as const]
  return { report, reason: "charge.dispute_won", sourceId: dispute.id, movements }
}

/** The money of a MED that is lost; `undefined` where the loss changes nothing. */
export const decideLoss = (
  locked: LockedCharge,
  dispute: StoredDispute,
  disputes: ReadonlyArray<StoredDispute>
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
  const parts = splitLoss(amount, funds, contestedByOthers(disputes, dispute.id))
  const movements = [
    ...movementsFrom(parts, "acquirer"),
    { debit: "blocked", credit: "available", amount: parts.released } as const
  ]
  const step = { report, reason: "charge.charged_back", sourceId: dispute.id, movements } as const
  return { step, amount, pending: parts.pending, isEmpty: leftOf(afterStep(locked, step).funds) === 0 }
}

/**
 * What MEDs claim of the money of a refund that fails (OPR-73).
 *
 * Compares no times: the clocks of servers differ. No refund is ordered once a MED is lost, so what is lost while a refund is open
 * was lost since; and a MED that arrived lost, before or since, arrived with a return of the same amount.
 */
export const claimsOn = (
  { charge, funds }: LockedCharge,
  disputes: ReadonlyArray<StoredDispute>,
  refunds: ReadonlyArray<StoredRefund>
): ContestedMoney => {
  const oldestFirst = disputes.toReversed()
  const open = oldestFirst.filter(isOpen)
  const contested = Math.max(0, sumOf(open) - funds.blocked)
  const lost = oldestFirst
    .filter(({ arrivedResolved, status }) => status === "lost" && !arrivedResolved && charge.status === "charged_back")
    .map(({ amount, id }) => {
      const taken = refunds.find(({ disputeId }) => disputeId === id)
      // Once the provider has reported the return of a MED, its amount is known and nothing is missing.
      const isReported = taken !== undefined && taken.providerId !== null
      return { disputeId: id, missing: isReported ? 0 : Math.max(0, amount - (taken?.amount ?? 0)), taken }
    })
  return { contested, open, lost: lost.filter(({ missing }) => missing > 0) }
}

const sumOf = (all: ReadonlyArray<{ readonly amount: number }>) => all.reduce((sum, { amount }) => sum + amount, 0)
