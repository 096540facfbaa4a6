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
 * - a round that fails is done again in halves, a change that fails alone is done endpoint by endpoint, and what still
 *   fails is set aside in `outbox_failures`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Metrics } from "../operations/Metrics.ts"
import { attempted, inHalves, type StatementFailed } from "../sql/Isolation.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { arrayOf, type Claimed, placeParameters, type TakenRow, toClaimed } from "./Claimed.ts"
import { NONE } from "./DeliveryStatements.ts"
import * as statements from "./FanOutStatements.ts"
import { makeSkipped } from "./Skipped.ts"
import type { Room } from "./UnderWay.ts"

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

export class FanOut extends Context.Service<
  FanOut,
  { readonly round: (request: FanOutRequest) => Effect.Effect<FannedOut, Unavailable> }
>()("@pix-payments/server/FanOut") {
  static readonly layer = Layer.effect(
    FanOut,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      const skipped = makeSkipped(yield* Clock.Clock)
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
      /** Without leases: claims find what it inserts. */
      const noPlaces = places({ room: undefined, leaseMs: 0, except: [] })

      /** A change that failed alone: each of its endpoints by itself, and what fails is kept apart. */
      const alone = (change: Change, failure: StatementFailed) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`the fan-out of change ${change.change_id} fails by itself: ${failure.message}`)
          // Too slow is not wrong: it is tried again later.
          if (failure.isTimeout) return skipped.add(change.change_id)
          const { account_id, change_id } = change
          const failures: Array<{ readonly endpointId: string | null; readonly error: string }> = []
          const targets = yield* attempted(
            sql.unsafe<{ readonly endpoint_id: string | null }>(statements.targetsOf, [account_id, change_id])
          ).pipe(Effect.catchTag("StatementFailed", () => Effect.void))
          if (targets === undefined) failures.push({ endpointId: null, error: failure.message })
          for (const { endpoint_id } of targets ?? []) {
            yield* attempted(
              sql.unsafe(statements.fanOutToOne, [
                ...noPlaces,
                arrayOf([account_id]),
                arrayOf([change_id]),
                endpoint_id
              ])
            ).pipe(
              Effect.catchTag("StatementFailed", ({ message }) =>
                Effect.sync(() => void failures.push({ endpointId: endpoint_id, error: message }))
              )
            )
          }
          for (const { endpointId, error } of failures) {
            metrics.fanOutSetAside()
            yield* Effect.logError(
              `the fan-out of change ${change_id} to ${endpointId ?? "its own address"} is set aside: ${error}`
            )
          }
          yield* attempted(
            sql.unsafe(statements.setAside, [
              account_id,
              change_id,
              `{${failures.map(({ endpointId }) => endpointId ?? "NULL").join(",")}}`,
              JSON.stringify(failures.map(({ error }) => error))
            ])
          ).pipe(
            Effect.catchTag("StatementFailed", (again) => {
              skipped.add(change_id)
              return Effect.logError(`change ${change_id} cannot be set aside: ${again.message}`)
            })
          )
        })

      const isolated = (taken: ReadonlyArray<unknown>, failure: StatementFailed) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`a fan-out failed and is done in halves: ${failure.message}`)
          const changes = yield* orUnavailable(sql.unsafe<Change>(statements.candidates, taken))
          const rounds = yield* inHalves(
            changes,
            (some) =>
              attempted(
                sql.unsafe<Row>(statements.fanOutThese, [
                  ...noPlaces,
                  arrayOf(some.map(({ account_id }) => account_id)),
                  arrayOf(some.map(({ change_id }) => change_id))
                ])
              ),
            alone
          )
          return rounds.flat()
        })

      return FanOut.of({
        round: (request) =>
          Effect.gen(function* () {
            const taken = [after, CHANGES, DELIVERIES, arrayOf(skipped.ids())]
            const rows = yield* attempted(
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
              waiting: rows[0]?.waiting ?? 0
            }
          })
      })
    })
  )
}

interface Change {
  readonly account_id: string
  readonly change_id: string
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

/** Most changes of one round, and most deliveries that it makes, unless one change makes more. */
const CHANGES = 100
const DELIVERIES = 1000
