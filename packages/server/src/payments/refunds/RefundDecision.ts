/**
 * Decides refunds: which ones an operator may order, and where the money goes when one ends or the provider returns money of
 * a paid charge by itself. Pure.
 *
 * Guarantees:
 * - A refund takes no more than the account has of the charge (BAL-10), first what is not released (BAL-6), and never takes
 *   `available` below zero (BAL-5).
 * - A charge gives back at most what was paid. What the provider reports beyond that is `unmatched`.
 * - The completed refunds of a charge add up to what went back to its payer. One return that is reported twice, by a list of
 *   returns and by a list of disputes, is one refund (DSP-4, DSP-7).
 *
 * Rules: CHG-26, OPR-20, BAL-5, BAL-6, BAL-9, BAL-10, DSP-4, DSP-5, DSP-7, OPR-70 to OPR-73.
 */
import {
  inAccount,
  isCovered,
  leftOf,
  type ReversalParts,
  splitAccount,
  splitLoss,
  splitReturn
} from "@pix-payments/domain/ChargeMoney"
import { medOfReturn } from "@pix-payments/domain/Dispute"
import type { Generated } from "@pix-payments/domain/Uuid"
import type { Ids } from "../../base/Ids.ts"
import { providerIdOf, type ReturnOutcome } from "../../providers/Acquirer.ts"
import type { ChargeOrder } from "../../providers/OrderStore.ts"
import { afterStep, allowedReport, type ChargeStep, type LockedCharge } from "../charges/ChargeDecision.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import type { ContestedMoney } from "./DisputedMoney.ts"
import type { StoredRefund } from "./RefundStore.ts"

/** A charge, its refunds and what disputes claim of it, read under the charge's lock. */
export interface RefundFacts {
  readonly locked: LockedCharge
  /** Oldest first. */
  readonly refunds: ReadonlyArray<StoredRefund>
  readonly claims: ContestedMoney
}

/** A return that the provider reports. */
export interface ReportedReturn {
  readonly as: "refunded" | "charged_back"
  readonly isMed: boolean
  /** Cents. Absent: all that is left. */
  readonly amount: number | undefined
  readonly externalId: string | undefined
  /** What its requester chose: its name where the provider has none yet. */
  readonly requestId?: string | undefined
  readonly atMs: number | undefined
}

export interface Reversed {
  /** False where nothing changed. */
  readonly isApplied: boolean
  /** Cents of the reported amount beyond what was left of the charge. */
  readonly unmatched: number
}

/** What is stored, in one commit. */
export interface RefundChange extends Reversed {
  /** The charge after all steps. */
  readonly after: LockedCharge
  readonly steps: ReadonlyArray<ChargeStep>
  /** New refunds, and the next states of known ones. */
  readonly refunds: ReadonlyArray<StoredRefund>
  /** How the charge's open order ends; undefined where it stays open. */
  readonly orderEnd: "done" | "refused" | undefined
  /** Nothing is left of the charge: every open dispute is lost. */
  readonly isEmpty: boolean
  /** Cents of a MED of which the return is the first news (DSP-5). */
  readonly arrivedLost: number
}

export type OrderDecision =
  | { readonly _tag: "Ordered"; readonly amount: number; readonly pending: number; readonly step: ChargeStep }
  | { readonly _tag: "InvalidState" }
  | { readonly _tag: "InsufficientBalance"; readonly needed: number }

/** An operator's refund of `requested` cents, or of all that the account has. `availableCents`: the account's balance. */
export const decideOrder = (
  { charge, funds, order }: LockedCharge,
  requested: number | undefined,
  availableCents: number
): OrderDecision => {
  const isRefundable = charge.status === "paid" || charge.status === "infraction"
  if (!isRefundable || order !== undefined) return { _tag: "InvalidState" }
  const amount = requested ?? inAccount(funds)
  if (amount <= 0 || amount > inAccount(funds)) return { _tag: "InvalidState" }
  const parts = splitAccount(amount, funds)
  if (!isCovered(parts, availableCents)) return { _tag: "InsufficientBalance", needed: parts.available }
  const movements = [
    { debit: "pending", credit: "returns_in_transit", amount: parts.pending },
    { debit: "available", credit: "returns_in_transit", amount: parts.available }
  ] as const
  return { _tag: "Ordered", amount, pending: parts.pending, step: { reason: "charge.refund_ordered", movements } }
}

/** The end of the charge's open refund. */
export const decideEnd = (
  facts: RefundFacts,
  order: ChargeOrder,
  outcome: ReturnOutcome,
  ids: Ids["Service"]
): RefundChange => {
  if (outcome._tag === "Failed") return failed(facts, order, outcome.reason, ids)
  const isOther = facts.refunds.some(({ providerId }) => providerId !== null && providerId === outcome.returnId)
  if (!isOther) return completed(facts, order, ids, outcome.returnId)
  return { ...failed(facts, order, "the provider reported it as another return", ids), orderEnd: "done" }
}

/** A return of the charge's money that the provider reports: the end of the open refund, or one without an order. */
export const decideReturn = (facts: RefundFacts, report: ReportedReturn, ids: Ids["Service"]): RefundChange => {
  const { amount, externalId, isMed, requestId } = report
  const { claims, locked, refunds } = facts
  if (!wasPaid(locked.charge)) return nothing(locked)
  const { order } = locked
  const isReported = (id: string) => externalId === id || externalId === providerIdOf(id)
  if (order?.kind === "refund" && isReported(order.id)) return completed(facts, order, ids)
  const isKnown = ({ id, providerId, status }: StoredRefund) =>
    providerId === externalId ||
    (requestId !== undefined && providerId === requestId) ||
    (isReported(id) && status === "completed")
  if (refunds.some(isKnown)) return nothing(locked)
  const meant = isMed ? medOfReturn(report, unreportedReturns(refunds), claims.open) : {}
  const loss = meant.lost
  const missing = (amount ?? loss?.amount ?? leftOf(locked.funds)) - (loss?.amount ?? 0)
  // The provider has no money left for the open refund.
  if (order?.kind !== "refund" || missing <= inAccount(locked.funds) + locked.funds.blocked) {
    return loss === undefined
      ? returned(locked, report, claims, meant.open, ids)
      : matched(locked, loss, report, claims)
  }
  const first = failed(facts, order, "the provider returned the money otherwise", ids)
  const left = first.isEmpty ? { ...claims, open: [] } : claims
  const late = loss === undefined && isMed ? medOfReturn(report, unreportedReturns(first.refunds), left.open) : meant
  const taken = first.refunds.find(({ id }) => id === late.lost?.id) ?? late.lost
  const then =
    taken === undefined
      ? returned(first.after, report, left, late.open, ids)
      : matched(first.after, taken, report, left)
  return {
    ...then,
    isApplied: true,
    isEmpty: first.isEmpty || then.isEmpty,
    orderEnd: first.orderEnd,
    steps: [...first.steps, ...then.steps],
    refunds: [...first.refunds, ...then.refunds]
  }
}

/** The returns of MEDs that no MED is known for yet. */
export const unnamedReturns = (
  refunds: ReadonlyArray<StoredRefund>
): ReadonlyArray<StoredRefund & { readonly atMs: number }> =>
  refunds
    .filter(({ disputeId, nature, providerId }) => nature === "dispute" && providerId !== null && disputeId === null)
    .map((refund) => ({ ...refund, atMs: refund.completedAtMs ?? refund.createdAtMs }))

/** The returns of lost MEDs that the provider has not reported yet. */
const unreportedReturns = (refunds: ReadonlyArray<StoredRefund>): ReadonlyArray<StoredRefund> =>
  refunds.filter(({ nature, providerId }) => nature === "dispute" && providerId === null)

/** The refund of a new order. */
export const orderedRefund = (
  charge: StoredCharge,
  order: ChargeOrder,
  description: string | null,
  createdAtMs: number
): StoredRefund => ({
  id: order.id,
  chargeId: charge.id,
  accountId: charge.accountId,
  connectionId: charge.connectionId,
  origin: "operator",
  status: "processing",
  amount: order.amount,
  pending: order.pending,
  description,
  nature: null,
  disputeId: null,
  providerId: null,
  failureReason: null,
  createdAtMs,
  completedAtMs: null
})

/** The refund of a return that the provider made without an order. */
export const providerRefund = (
  charge: StoredCharge,
  { epochMs, id }: Generated,
  made: {
    readonly amount: number
    /** Of these, the cents that were not released yet. */
    readonly pending: number
    readonly isMed: boolean
    readonly disputeId?: string | undefined
    /** The provider's id of the return; null where only the loss of the dispute was reported. */
    readonly providerId: string | null | undefined
    readonly atMs?: number | undefined
  }
): StoredRefund => ({
  id,
  chargeId: charge.id,
  accountId: charge.accountId,
  connectionId: charge.connectionId,
  origin: "provider",
  status: "completed",
  amount: made.amount,
  pending: made.pending,
  description: null,
  nature: made.isMed ? "dispute" : null,
  disputeId: made.disputeId ?? null,
  providerId: made.providerId === undefined ? id : made.providerId,
  failureReason: null,
  createdAtMs: epochMs,
  completedAtMs: made.atMs ?? epochMs
})

/** The movements of money that leaves the account. */
export const movementsFrom = ({ available, blocked, pending }: ReversalParts, credit: "blocked" | "acquirer") => [
  { debit: "blocked", credit, amount: blocked } as const,
  { debit: "pending", credit, amount: pending } as const,
  { debit: "available", credit, amount: available } as const
]

const completed = (
  { locked, refunds }: RefundFacts,
  order: ChargeOrder,
  ids: Ids["Service"],
  returnId: string | null = null
): RefundChange => {
  const refund = refundOf(refunds, order)
  const step: ChargeStep = {
    report: leftOf(locked.funds) === order.amount ? allowedReport(locked.charge, "refunded") : undefined,
    reason: "charge.refunded",
    sourceId: order.id,
    movements: [{ debit: "returns_in_transit", credit: "acquirer", amount: order.amount }]
  }
  return {
    ...applied(locked, [step]),
    refunds: [
      {
        ...refund,
        status: "completed",
        providerId: refund.providerId ?? returnId,
        failureReason: null,
        completedAtMs: ids.next().epochMs
      }
    ],
    orderEnd: "done"
  }
}

/** The money goes back where it was, or to the MED that claims it by now. */
const failed = (
  { claims, locked, refunds }: RefundFacts,
  order: ChargeOrder,
  reason: string,
  ids: Ids["Service"]
): RefundChange => {
  const refund = refundOf(refunds, order)
  const ended: StoredRefund = { ...refund, status: "failed", failureReason: reason, completedAtMs: null }
  let left = order.amount
  const losses = claims.lost.map(({ disputeId, missing, taken }) => {
    const amount = Math.min(left, missing)
    left -= amount
    return { amount, disputeId, taken }
  })
  const lost = order.amount - left
  const blocked = Math.min(left, claims.contested)
  const rest = left - blocked
  // What MEDs claim is of `pending` first (BAL-6).
  const pending = Math.max(0, order.pending - lost - blocked)
  const given: ChargeStep = {
    reason: "charge.refund_failed",
    sourceId: order.id,
    movements: [
      { debit: "returns_in_transit", credit: "blocked", amount: blocked },
      { debit: "returns_in_transit", credit: "pending", amount: pending },
      { debit: "returns_in_transit", credit: "available", amount: rest - pending }
    ]
  }
  const claimed = losses.filter(({ amount }) => amount > 0)
  const taken = claimed.map(({ amount, disputeId }) => ({
    reason: "charge.charged_back" as const,
    sourceId: disputeId,
    movements: [{ debit: "returns_in_transit", credit: "acquirer", amount } as const]
  }))
  // One MED is one return, which the provider may report later.
  const returns = claimed.map(({ amount, disputeId, taken: before }) =>
    before === undefined
      ? providerRefund(locked.charge, ids.next(), { amount, pending: 0, isMed: true, disputeId, providerId: null })
      : withAmount(before, before.amount + amount)
  )
  return { ...applied(locked, [given, ...taken]), refunds: [ended, ...returns], orderEnd: "refused" }
}

/**
 * The return of a MED whose loss was reported before: the money that the loss took, of which only the difference moves. Without one it is
 * applied, too, so that it is known by all its names.
 */
const matched = (
  locked: LockedCharge,
  taken: StoredRefund,
  { amount = taken.amount, externalId = taken.id }: ReportedReturn,
  { open }: ContestedMoney
): RefundChange => {
  const { funds } = locked
  const more = Math.max(0, Math.min(amount - taken.amount, inAccount(funds) + funds.blocked))
  const less = Math.max(0, taken.amount - amount)
  const kept = Math.min(less, Math.max(0, sumOf(open) - funds.blocked))
  const step: ChargeStep = {
    reason: "charge.charged_back",
    sourceId: taken.id,
    movements: [
      ...movementsFrom(splitLoss(more, funds, sumOf(open)), "acquirer"),
      { debit: "acquirer", credit: "available", amount: less },
      // What open MEDs contest, and the account had not.
      ...movementsFrom(splitAccount(kept, funds), "blocked")
    ]
  }
  return {
    ...applied(locked, [step]),
    unmatched: Math.max(0, amount - taken.amount - more),
    refunds: [{ ...withAmount(taken, taken.amount + more - less), providerId: externalId }]
  }
}

/** A return of which nothing was known. */
const returned = (
  locked: LockedCharge,
  { amount, as, atMs, externalId, isMed }: ReportedReturn,
  { open }: ContestedMoney,
  /** The open MED that it is probably of, which the provider has to decide yet: it takes what is blocked for it. */
  probable: ContestedMoney["open"][number] | undefined,
  ids: Ids["Service"]
): RefundChange => {
  const { charge, funds } = locked
  const wanted = amount ?? leftOf(funds)
  const given = Math.min(wanted, inAccount(funds) + funds.blocked)
  if (given <= 0) return { ...nothing(locked), unmatched: amount ?? 0 }
  const others = open.filter(({ id }) => id !== probable?.id)
  const parts = isMed ? splitLoss(given, funds, sumOf(others)) : splitReturn(given, funds)
  const isEmpty = leftOf(funds) === given
  const isFinal = isEmpty || probable !== undefined || (isMed && as === "charged_back")
  // Where nothing is left, every MED ends with it.
  const disputeId = isEmpty ? probable?.id : undefined
  const made = { amount: given, pending: parts.pending, isMed, disputeId, providerId: externalId, atMs }
  const refund = providerRefund(charge, ids.next(), made)
  const step: ChargeStep = {
    // BAL-10: `refunded` once nothing is left.
    report: isFinal ? allowedReport(charge, isEmpty ? as : "charged_back") : undefined,
    reason: `charge.${as}`,
    sourceId: refund.id,
    movements: movementsFrom(parts, "acquirer")
  }
  return {
    ...applied(locked, [step]),
    unmatched: amount === undefined ? 0 : wanted - given,
    refunds: [refund],
    // Disputes are of Pix only: other returns emit the charge's event alone.
    arrivedLost: isMed && probable === undefined && charge.method === "pix" ? given : 0
  }
}

export const wasPaid = ({ status }: StoredCharge) =>
  status === "paid" || status === "infraction" || status === "refunded" || status === "charged_back"

const nothing = (locked: LockedCharge): RefundChange => ({ ...applied(locked, []), isApplied: false })

const applied = (locked: LockedCharge, steps: ReadonlyArray<ChargeStep>): RefundChange => {
  const after = steps.reduce(afterStep, locked)
  return {
    isApplied: true,
    unmatched: 0,
    after,
    steps,
    refunds: [],
    orderEnd: undefined,
    isEmpty: leftOf(after.funds) === 0,
    arrivedLost: 0
  }
}

const sumOf = (all: ReadonlyArray<{ readonly amount: number }>) => all.reduce((sum, { amount }) => sum + amount, 0)

const withAmount = (refund: StoredRefund, amount: number): StoredRefund => ({
  ...refund,
  amount,
  pending: Math.min(refund.pending, amount)
})

/** The refund of an order, which was stored with it. */
const refundOf = (refunds: ReadonlyArray<StoredRefund>, order: ChargeOrder): StoredRefund => {
  const refund = refunds.find(({ id }) => id === order.id)
  if (refund === undefined) throw new Error(`order ${order.id} has no refund`)
  return refund
}
