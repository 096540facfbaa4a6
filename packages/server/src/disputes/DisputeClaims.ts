/** What MEDs claim of the money of a refund that fails (OPR-73). Pure. */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import type { StoredRefund } from "../refunds/RefundStore.ts"
import type { StoredDispute } from "./DisputeStore.ts"

export interface DisputeClaims {
  /** Cents that the open MED contests and that are not blocked. */
  readonly contested: number
  /** Cents of a MED that was lost while they were in the refund. */
  readonly lost: number
  /** The return of that MED, as far as it was taken; undefined where nothing was. */
  readonly taken: StoredRefund | undefined
}

export const isOpen = ({ status }: StoredDispute): boolean => status === "open" || status === "under_review"

/** The return of a lost MED that the provider has not reported yet. */
export const unreportedReturn = (refunds: ReadonlyArray<StoredRefund>): StoredRefund | undefined =>
  refunds.find(({ nature, providerId }) => nature === "dispute" && providerId === null)

export const claimsOn = (
  { charge, funds }: LockedCharge,
  orderId: string,
  disputes: ReadonlyArray<StoredDispute>,
  refunds: ReadonlyArray<StoredRefund>
): DisputeClaims => {
  if (charge.status === "infraction") {
    const contested = disputes.find(isOpen)?.amount ?? charge.amount
    return { contested: Math.max(0, contested - funds.blocked), lost: 0, taken: undefined }
  }
  const since = refunds.filter(({ id, nature }) => nature === "dispute" && id > orderId)
  // Once the provider has reported the return of a MED, its amount is known and nothing is missing.
  const isReported = since.some(({ providerId }) => providerId !== null)
  if (charge.status !== "charged_back" || isReported) return { contested: 0, lost: 0, taken: undefined }
  const isLate = ({ resolvedAtMs, status }: StoredDispute) =>
    status === "lost" && resolvedAtMs !== null && lowestIdAt(resolvedAtMs + 1) > orderId
  return {
    contested: 0,
    lost: Math.max(0, sumOf(disputes.filter(isLate)) - sumOf(since)),
    taken: unreportedReturn(since)
  }
}

const sumOf = (all: ReadonlyArray<{ readonly amount: number }>) => all.reduce((sum, { amount }) => sum + amount, 0)
