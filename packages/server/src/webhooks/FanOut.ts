/**
 * The second step of the transactional outbox: inserts the deliveries of committed changes.
 *
 * Guarantees:
 * - outbox rows are taken round robin over accounts, in any process; deliveries are inserted and outbox rows deleted in
 *   one synchronous commit, before the first byte is sent;
 * - deliveries go to the endpoints that were subscribed when the change was committed, at their current address; none to
 *   an endpoint deleted since, and a `webhook_url` that was folded into such an endpoint gets its own;
 * - where places are free, deliveries are inserted leased to this process and go straight to the sender; others are
 *   inserted `scheduled`, or parked, so that the fan-out goes on when no place is free;
 * - delivery ids are derived, so that a fan-out done again makes the same ids and bytes;
 * - a round that fails is done again in halves of its accounts; an account that fails by itself is done apart from the
 *   others for a while (`FanOutApart.ts`).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Metrics } from "../observability/Metrics.ts"
import { attemptWrite, bisect, type StatementFailed } from "../sql/Bisection.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { arrayOf, type Claimed, placeParameters, type TakenRow, toClaimed } from "./Claimed.ts"
import { NONE } from "./DeliveryStatements.ts"
import * as statements from "./FanOutStatements.ts"
import { CHANGES, type Change, DELIVERIES, makeFanOutApart } from "./FanOutApart.ts"
import type { Room } from "./InFlightDeliveries.ts"

export interface FanOutRequest {
  /** Undefined where no place is free. */
  readonly room: Room | undefined
  readonly leaseMs: number
  /** Destinations that get no lease: they have as much under way as they may, or more that waits. */
  readonly except: ReadonlyArray<string>
}

export interface FannedOut {
  readonly claimed: ReadonlyArray<Claimed>
  /** Destinations for which some were inserted `scheduled`. */
  readonly left: ReadonlyArray<string>
  /** Whether there may be more to do at once. */
  readonly isMore: boolean
  /** How many changes wait for an endpoint that is locked. */
  readonly waiting: number
}

export interface FannedOutApart {
  readonly left: ReadonlyArray<string>
  /** How many changes were ended. */
  readonly ended: number
}

export class FanOut extends Context.Service<
  FanOut,
  {
    readonly round: (request: FanOutRequest) => Effect.Effect<FannedOut, Unavailable>
    /** Serves each account that failed by itself, with a bounded number of statements. */
    readonly apart: Effect.Effect<FannedOutApart, Unavailable>
  }
>()("@pix-payments/server/FanOut") {
  static readonly layer = Layer.effect(
    FanOut,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      const apart = makeFanOutApart(sql, metrics, yield* Clock.Clock)
      // The account behind which the next round begins.
      let after = NONE

      const places = ({ except, leaseMs, room }: FanOutRequest) => [
        room?.limit ?? 0,
        leaseMs,
        room?.perDestination ?? 0,
        room?.perAccount ?? 0,
        arrayOf(room?.fullAccounts ?? []),
        ...placeParameters(except),
        arrayOf(room?.fullOrigins ?? []),
        room?.perOrigin ?? 0
      ]
      /** In halves of the accounts, so that those that fail are found with few statements and cost the others no more. */
      const isolated = (taken: ReadonlyArray<unknown>, failure: StatementFailed) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`a fan-out failed and is done in halves: ${failure.code}`)
          const changes = yield* orUnavailable(
            sql.unsafe<Change & Pick<Row, "walked_to">>(statements.candidates, taken)
          )
          const accounts = Map.groupBy(changes, ({ account_id }) => account_id)
          const rounds = yield* bisect(
            [...accounts.values()],
            (some) => attemptWrite(sql, sql.unsafe<Row>(statements.fanOutThese, apart.these(some.flat()))),
            ([change], { code }) => apart.add(change!.account_id, code)
          )
          const walked_to = changes[0]?.walked_to ?? null
          return rounds.flat().map((row) => ({ ...row, walked_to }))
        })

      return FanOut.of({
        round: (request) =>
          Effect.gen(function* () {
            const taken = [after, CHANGES, DELIVERIES, ...apart.leftOut()]
            const rows = yield* attemptWrite(
              sql,
              sql.unsafe<Row>(statements.fanOutInTurn, [...places(request), ...taken])
            ).pipe(Effect.catchTag("StatementFailed", (failure) => isolated(taken, failure)))
            // Accounts before the first of this round are looked at in the next.
            const walkedTo = rows[0]?.walked_to ?? NONE
            const isAround = after === NONE && walkedTo === NONE
            after = walkedTo
            return {
              claimed: rows.flatMap((row) => (row.id === null ? [] : [toClaimed(row)])),
              left: [...new Set(rows.flatMap(({ left_at }) => left_at ?? []))],
              isMore: !isAround || (rows[0]?.is_more ?? true),
              waiting: Math.max(0, ...rows.map(({ waiting }) => waiting))
            }
          }),
        apart: apart.round
      })
    })
  )
}

/** One row at least, without a delivery where none was leased. */
type Row = (TakenRow | { readonly id: null }) & {
  readonly waiting: number
  /** Whether an account may have more than its share of the round. */
  readonly is_more: boolean
  readonly left_at: ReadonlyArray<string> | null
  /** The last account, where there may be others behind it. */
  readonly walked_to: string | null
}
