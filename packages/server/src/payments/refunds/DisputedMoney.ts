/**
 * What refunds ask of disputes. Disputes depend on refunds, not refunds on disputes: `payments/disputes` implements it.
 *
 * Every effect here runs in a transaction that has locked the charge.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import type { StoredRefund } from "./RefundStore.ts"

/** What disputes claim of a charge's money. */
export interface ContestedMoney {
  /** Cents that open MEDs contest and that are not blocked. */
  readonly contested: number
  /** The open MEDs. */
  readonly open: ReadonlyArray<{ readonly id: string; readonly amount: number; readonly openedAtMs: number }>
  /** MEDs that were lost while their cents were in the refund. `taken`: the return of what was there. */
  readonly lost: ReadonlyArray<{
    readonly disputeId: string
    readonly missing: number
    readonly taken: StoredRefund | undefined
  }>
}

export class DisputedMoney extends Context.Service<
  DisputedMoney,
  {
    readonly claimsOn: (
      locked: LockedCharge,
      refunds: ReadonlyArray<StoredRefund>
    ) => Effect.Effect<ContestedMoney, SqlError>
    /** Ends the open disputes of a charge as lost. */
    readonly loseOpen: (chargeId: string) => Effect.Effect<void, SqlError>
    /** Stores a dispute that is lost from the first: its return is the first news of it. */
    readonly addLost: (charge: StoredCharge, amount: number) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/DisputedMoney") {}
