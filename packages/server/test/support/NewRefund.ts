/** The facts of refunds and returns of a charge of 1000 cents, and what is decided, for tests of decisions. */
import type { LockedCharge } from "../../src/payments/charges/ChargeDecision.ts"
import type { ContestedMoney } from "../../src/payments/refunds/DisputedMoney.ts"
import {
  orderedRefund,
  providerRefund,
  type RefundChange,
  type RefundFacts
} from "../../src/payments/refunds/RefundDecision.ts"
import type { StoredRefund } from "../../src/payments/refunds/RefundStore.ts"
import type { ChargeOrder } from "../../src/providers/OrderStore.ts"
import { CREATED, movementsOf, paidCharge } from "./NewCharge.ts"

export const NOW = CREATED + 60_000
export const ids = { next: () => ({ id: "new", epochMs: NOW }) }

export const ORDER = "01900000-0000-7000-8000-000000000001"

/** The open order of a refund of so many cents, of which so many were not released. */
export const orderOf = (amount: number, pending = 0): ChargeOrder => ({
  id: ORDER,
  kind: "refund",
  chargeId: "charge",
  accountId: "account",
  exceptionId: null,
  disputeId: null,
  connectionId: null,
  endToEndId: null,
  amount,
  pending,
  attempts: 1,
  acceptedAtMs: null
})

/** The refund of an order. */
export const refundOf = (order: ChargeOrder, changes: Partial<StoredRefund> = {}): StoredRefund => ({
  ...orderedRefund(paidCharge(1000), order, null, CREATED),
  ...changes
})

/** The return of a MED. Without the provider's id, only its loss was reported. */
export const returnOf = (id: string, amount: number, changes: Partial<StoredRefund> = {}): StoredRefund => ({
  ...providerRefund(
    paidCharge(1000),
    { id, epochMs: CREATED },
    { amount, pending: 0, isMed: true, disputeId: `med-of-${id}`, providerId: null }
  ),
  ...changes
})

/** An open MED of so many cents. */
export const openMed = (id: string, amount: number) => ({ id, amount, openedAtMs: CREATED })

export const factsOf = (
  locked: LockedCharge,
  refunds: ReadonlyArray<StoredRefund> = [],
  claims: Partial<ContestedMoney> = {}
): RefundFacts => ({ locked, refunds, claims: { contested: 0, open: [], lost: [], ...claims } })

/** The movements of each step. */
export const stepsOf = ({ steps }: RefundChange) =>
  steps.map(({ movements, reason }) => [reason, ...movementsOf(movements)!])

/** The refunds that are stored. */
export const shown = ({ refunds }: RefundChange) =>
  refunds.map(({ amount, disputeId, id, providerId, status }) => ({ id, status, amount, disputeId, providerId }))
