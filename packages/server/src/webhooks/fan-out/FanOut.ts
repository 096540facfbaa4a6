/**
 * The second step of the transactional outbox: inserts the deliveries of committed changes.
 *
 * Guarantees:
 * - accounts take turns, in any process;
 * - deliveries go to the endpoints that were subscribed when the change was committed, at their current address; none to
 *   an endpoint deleted since, and a `webhook_url` that was folded into such an endpoint gets its own;
 * - a change is leased to this process, which sends its deliveries and then stores them (`LeasedChanges.ts`). While too many
 *   wait for capacity, deliveries are inserted `scheduled`, so that the fan-out of others does not wait. Those that may not be
 *   sent now are inserted paused;
 * - an outbox row is deleted in the commit that inserts the last delivery of its change;
 * - delivery ids are derived, so that a repeated fan-out makes the same ids and bytes;
 * - a change is leased once. If its lease expires, its deliveries are inserted before they are sent;
 * - a round that fails is bisected by account; an account that fails alone is quarantined for a while
 *   (`FanOutQuarantine.ts`).
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Metrics } from "../../base/observability/Metrics.ts"
import { attemptWrite, bisect, type StatementFailed } from "../../database/batching/Bisection.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import {
  type ClaimedDelivery,
  type ClaimedRow,
  toClaimedDelivery,
  type UnstoredDelivery
} from "../deliveries/Delivery.ts"
import { type Change, makeFanOutQuarantine, MAX_CHANGES, MAX_DELIVERIES } from "./FanOutQuarantine.ts"
import * as statements from "./FanOutStatements.ts"

export interface FanOutRequest {
  /** Else all deliveries are inserted. */
  readonly mayLease: boolean
  readonly leaseMs: number
}

export interface FanOutRound {
  /** Deliveries of changes that are leased. They are not stored. */
  readonly leased: ReadonlyArray<ClaimedDelivery>
  /** Whether deliveries were inserted `scheduled`: they wait for a claim. */
  readonly hasScheduled: boolean
  /** Whether there may be more to do at once. */
  readonly isMore: boolean
  /** How many changes wait for a locked endpoint. */
  readonly waiting: number
}

export class FanOut extends Context.Service<
  FanOut,
  {
    readonly round: (request: FanOutRequest) => Effect.Effect<FanOutRound, Unavailable>
    /** Serves each quarantined account, with a bounded number of statements. Returns how many changes were completed. */
    readonly quarantine: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/FanOut") {
  static readonly layer = Layer.effect(
    FanOut,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      const quarantine = makeFanOutQuarantine(sql, metrics, yield* Clock.Clock)
      // The account after which the next round begins.
      let afterAccount = NIL_UUID

      const bisectRound = ([find, parameters]: readonly [string, ReadonlyArray<unknown>], failure: StatementFailed) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`the fan-out failed and is bisected: ${failure.code}`)
          const changes = yield* orUnavailable(sql.unsafe<Change & Pick<RoundRow, "last_account">>(find, parameters))
          const rounds = yield* bisect(
            [...Map.groupBy(changes, ({ account_id }) => account_id).values()],
            (some) => attemptWrite(sql, sql.unsafe<RoundRow>(...statements.fanOutChanges({ picked: some.flat() }))),
            ([change], { code }) => quarantine.add(change!.account_id, code)
          )
          const last_account = changes[0]?.last_account ?? null
          return rounds.flat().map((row) => ({ ...row, last_account }))
        })

      return FanOut.of({
        round: ({ leaseMs, mayLease }) =>
          Effect.gen(function* () {
            const changes = {
              afterAccount,
              changes: MAX_CHANGES,
              deliveries: MAX_DELIVERIES,
              ...quarantine.excluded()
            }
            const rows = yield* attemptWrite(
              sql,
              sql.unsafe<RoundRow>(...statements.fanOutRound({ mayLease, leaseMs, ...changes }))
            ).pipe(
              Effect.catchTag("StatementFailed", (failure) => bisectRound(statements.roundCandidates(changes), failure))
            )
            const lastAccount = rows[0]?.last_account ?? NIL_UUID
            // A round that began after the first account has not seen the accounts before it.
            const isComplete = afterAccount === NIL_UUID && lastAccount === NIL_UUID
            afterAccount = lastAccount
            return {
              leased: rows.flatMap((row) => (row.id === null ? [] : [toClaimedDelivery(row, unstoredOf(row))])),
              hasScheduled: rows.some(({ has_scheduled }) => has_scheduled),
              isMore: !isComplete || (rows[0]?.is_more ?? true),
              waiting: Math.max(0, ...rows.map(({ waiting }) => waiting))
            }
          }),
        quarantine: quarantine.round
      })
    })
  )
}

const unstoredOf = (row: LeasedRow): UnstoredDelivery => ({
  changeId: row.change_id,
  applicationId: row.application_id,
  origin: row.origin,
  createdAtMs: row.created_at.getTime()
})

/** A delivery to send. */
interface LeasedRow extends ClaimedRow {
  readonly change_id: string
  readonly application_id: string | null
  readonly origin: string
}

/** A delivery to send, or the only row of a round that has none. */
type RoundRow = (LeasedRow | { readonly id: null }) & {
  readonly waiting: number
  readonly has_scheduled: boolean
  /** Whether an account may have more than its share of the round. */
  readonly is_more: boolean
  /** The last account, if there may be others after it. */
  readonly last_account: string | null
}
