/** A dispute as it is stored, for tests of decisions. */
import { contestedCharge, newDispute } from "../../src/payments/disputes/DisputeResource.ts"
import type { StoredDispute } from "../../src/payments/disputes/DisputeTable.ts"
import { CREATED, paidCharge } from "./NewCharge.ts"

/** The open dispute of a MED of so many cents of a charge. */
export const openDispute = (id: string, amount: number, changes: Partial<StoredDispute> = {}): StoredDispute => ({
  ...newDispute(
    contestedCharge(paidCharge(1000)),
    { id, epochMs: CREATED },
    { amount, reason: "fraud", arrivedResolved: false }
  ),
  ...changes
})
