/**
 * Final outcomes of payouts and returns that have ended before: what payouts, refunds and reports ask for. `payments/exceptions`
 * implements it, in one place for all of them (`ContradictoryOutcomes.ts`).
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Unavailable } from "../database/Unavailable.ts"
import type { ReturnOutcome } from "./Acquirer.ts"
import type { Outcome } from "./AcquirerNotification.ts"

export interface LateOutcome {
  readonly outcome: "completed" | "failed"
  /** The provider's id of the payment or return. */
  readonly externalId?: string | undefined
  /** Why it failed. */
  readonly reason?: string | undefined
}

/** The money of a MED that the books have as returned. */
export interface Loss {
  /** Of the refund; of accepted money, of the dispute. */
  readonly id: string
  readonly connectionId: string
  readonly accountId: string
  readonly chargeId: string | null
  /** Cents. */
  readonly amount: number
}

/** A provider's answer, as an outcome. */
export const lateFrom = (answer: ReturnOutcome): LateOutcome =>
  answer._tag === "Completed" ? { outcome: "completed" } : { outcome: "failed", reason: answer.reason }

/**
 * True of an exception of a contradictory outcome that holds: it is open, accepted or dismissed. The index of contradictions has
 * this condition.
 */
export const IN_FORCE = "kind = 'contradictory_outcome' AND (status = 'open' OR action IS NOT NULL)"

/** What the provider says of a payout or order where it contradicts the books, as SQL; else null. */
export const contradictionOf = (subjectId: string, condition = "true"): string =>
  `(SELECT provider_outcome FROM acquirer_exceptions
    WHERE coalesce(payout_id, refund_id) = ${subjectId} AND ${IN_FORCE} AND ${condition})`

/** The order was ended, or its exception was accepted, while it was examined: the transaction is repeated. */
export class ChangedMeanwhile extends Data.TaggedError("ChangedMeanwhile")<{}> {}

export class LateOutcomes extends Context.Service<
  LateOutcomes,
  {
    /**
     * Of a payout, in the caller's transaction, which has locked nothing. `ignored` where the books agree, and of one that has not
     * ended.
     */
    readonly ofPayout: (payoutId: string, late: LateOutcome) => Effect.Effect<Outcome, SqlError>
    /** Of the order of a return, in such a transaction. */
    readonly ofReturn: (orderId: string, late: LateOutcome) => Effect.Effect<Outcome, ChangedMeanwhile | SqlError>
    /**
     * Of a MED that is lost, in a transaction that has locked its ledger accounts: `failed` where the provider lists no return of
     * it, `completed` once it does.
     */
    readonly ofLoss: (loss: Loss, late: LateOutcome) => Effect.Effect<Outcome, SqlError>
    /** Answers of providers to what this process asked, each in a transaction of its own. */
    readonly answered: {
      readonly payout: (payoutId: string, late: LateOutcome) => Effect.Effect<void, Unavailable>
      readonly return: (orderId: string, late: LateOutcome) => Effect.Effect<void, Unavailable>
    }
  }
>()("@pix-payments/server/LateOutcomes") {}
