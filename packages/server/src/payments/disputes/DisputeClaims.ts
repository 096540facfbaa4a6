/** What MEDs claim of the money of a refund that fails (OPR-73). Pure. */
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

/**
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
