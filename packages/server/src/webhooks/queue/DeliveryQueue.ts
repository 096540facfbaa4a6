/**
 * Due deliveries: found and claimed in batches, recorded in batches.
 *
 * Guarantees:
 * - A claim is a lease: while a delivery is in flight, `due_at` is the end of its lease, so that the deliveries of a dead
 *   process become due again.
 * - Only the holder of an attempt's lease records it, gives it back or fails the delivery. Attempt, health and next due time
 *   are one commit.
 * - A claim pauses deliveries of a paused endpoint, or of a disabled endpoint, application or account, and cancels those of a
 *   deleted endpoint. URL and secret of an endpoint are those at the claim.
 * - Deliveries to an endpoint that another transaction has locked stay due, and no others wait for them.
 * - One row never stops the others (`IsolatedClaims.ts`, `AttemptRecords.ts`): a delivery that fails alone ends `failed` with
 *   PostgreSQL's message as its reason.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Metrics } from "../../base/observability/Metrics.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { makeCooldown } from "../deliveries/Cooldown.ts"
import type { ClaimedDelivery, CompletedAttempt, Lane } from "../deliveries/Delivery.ts"
import { giveBackLeases } from "../deliveries/DeliveryOutcomes.ts"
import { makeAttemptRecords } from "./AttemptRecords.ts"
import { type DueDelivery, look, type Look, lookOf, type LookRow, type Position } from "./DeliveryClaims.ts"
import { sweep, type SweepRow } from "./DeliverySweeps.ts"
import { type Claimed, makeIsolatedClaims } from "./IsolatedClaims.ts"
import { makeFailures } from "./FailedAlone.ts"
import type { SentChange } from "./LeasedChangeStatements.ts"

export interface LookRequest {
  /** Where the last look ended. */
  readonly from: Position
  /** Whether what is newly due may be of any age; else it is of the last weeks. */
  readonly isOfAllTime: boolean
  /** Destinations with a backlog whose turn it is, and how many deliveries the look reads at each. */
  readonly backlogged: ReadonlyArray<string>
  readonly perDestination: number
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    /** Finds what became due since the last look, and what waits at some destinations. */
    readonly look: (lane: Lane, request: LookRequest) => Effect.Effect<Look, Unavailable>
    /** Claims those of these deliveries that are still due. */
    readonly claim: (due: ReadonlyArray<DueDelivery>, leaseMs: number) => Effect.Effect<Claimed, Unavailable>
    /** Finds destinations of some accounts with due deliveries. */
    readonly sweep: (
      lane: Lane,
      position: { readonly afterAccount: string; readonly resumed: ReadonlyArray<string> }
    ) => Effect.Effect<SweepRow, Unavailable>
    readonly record: (completed: CompletedAttempt) => Effect.Effect<void, Unavailable>
    /** Stores the deliveries of a leased change. If that fails, the fan-out inserts them, and they are sent again. */
    readonly store: (change: SentChange) => Effect.Effect<void, Unavailable>
    /** Ends leases, so that another process may claim the deliveries at once. */
    readonly giveBack: (claimed: ReadonlyArray<ClaimedDelivery>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/DeliveryQueue") {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const cooldown = makeCooldown(yield* Clock.Clock)
      const failAlone = makeFailures(sql, yield* Metrics, cooldown)
      const { record, store } = yield* makeAttemptRecords(sql, failAlone)

      return DeliveryQueue.of({
        look: (lane, { backlogged, from, isOfAllTime, perDestination }) => {
          const input = {
            fromDueAt: from.dueAt ?? null,
            fromId: from.id,
            isOfAllTime,
            backlogged,
            perDestination,
            excludedIds: cooldown.ids()
          }
          return Effect.flatMap(orUnavailable(sql.unsafe<LookRow>(...look[lane](input))), ([row]) =>
            row === undefined ? Effect.die(new Error("a look returned no row")) : Effect.succeed(lookOf(row))
          )
        },
        claim: yield* makeIsolatedClaims(sql, failAlone),
        sweep: (lane, position) =>
          Effect.flatMap(orUnavailable(sql.unsafe<SweepRow>(...sweep[lane](position))), ([row]) =>
            row === undefined ? Effect.die(new Error("a sweep returned no row")) : Effect.succeed(row)
          ),
        record,
        store,
        giveBack: (leases) => Effect.asVoid(runToCompletion(sql)(sql.unsafe(...giveBackLeases({ leases }))))
      })
    })
  )
}
