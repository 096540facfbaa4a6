/**
 * Payouts that a brake stopped when they were claimed: they are rescheduled once they may be sent.
 *
 * Guarantees: after a brake the accounts take turns again. A round reschedules an equal share of some accounts, and the next one
 * goes on from there. What a round reads is bounded, and while all payouts are stopped it reads nothing.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { allPayoutsStopped, areConnectionPayoutsStopped } from "../../accounts/Brakes.ts"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type AcquirerKind, isStopped, routeOf } from "./PayoutClaims.ts"

export class PausedPayouts extends Context.Service<
  PausedPayouts,
  {
    /**
     * Reschedules paused payouts that may be sent again, some of each account in turn. `isWalkComplete` is false where the
     * next round looks at further accounts.
     */
    readonly reschedule: Effect.Effect<{ readonly rescheduled: number; readonly isWalkComplete: boolean }, Unavailable>
  }
>()("@pix-payments/server/PausedPayouts") {
  static readonly layer = Layer.effect(
    PausedPayouts,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { acquirer } = yield* Settings
      let after = START_OF_PAUSED

      return PausedPayouts.of({
        reschedule: Effect.suspend(() =>
          sql.unsafe<RescheduledRow>(...reschedulePaused[acquirer](after)).pipe(
            Effect.map(([round]) => {
              const { last_account: accountId = null, last_connection: connectionId = null } = round ?? {}
              const isWalkComplete = accountId === null || connectionId === null
              after = isWalkComplete ? START_OF_PAUSED : { accountId, connectionId }
              return { rescheduled: Number(round?.rescheduled ?? 0n), isWalkComplete }
            }),
            runToCompletion(sql)
          )
        )
      })
    })
  )
}

/** Reschedules what may be sent again until its scope closes. */
export const loop = Layer.effectDiscard(
  PausedPayouts.use(({ reschedule }) =>
    Effect.forkScoped(
      BackgroundLoop.run(
        "paused payouts",
        // A round that found nothing to send goes on while accounts are left.
        Effect.map(reschedule, ({ isWalkComplete, rescheduled }) => rescheduled + (isWalkComplete ? 0 : 1)),
        Effect.sleep("1 second")
      )
    )
  )
)

const RESCHEDULED_PER_ROUND = 1000

/** How many accounts, or connections of accounts, a round looks at. */
const PLACES_PER_ROUND = 200

/** In the index of paused payouts, the connection of those that follow their account's. */
const ACCOUNTS_CONNECTION = NIL_UUID

/** Where a walk over paused payouts begins. */
export const START_OF_PAUSED = { accountId: NIL_UUID, connectionId: ACCOUNTS_CONNECTION }

/** The connection that a paused payout waits for; `ACCOUNTS_CONNECTION` where it was never claimed. */
const pausedFor = `(CASE WHEN p.attempts > 0 THEN coalesce(p.connection_id, '${SIMULATOR_CONNECTION}'::uuid)
        ELSE '${ACCOUNTS_CONNECTION}'::uuid END)`

const isPaused = "p.status || '' = 'processing' AND p.due_at IS NULL"

const pausedPlaceAfter = (account: string, connection: string) => `
      SELECT p.account_id, ${pausedFor} AS connection_id FROM payouts p
      WHERE ${isPaused} AND (p.account_id, ${pausedFor}) > (${account}, ${connection})
      ORDER BY p.account_id, ${pausedFor} LIMIT 1`

// A place is a connection that payouts of an account wait for: one range of an index.
const rescheduleStatement = (acquirer: AcquirerKind) =>
  statement(
    { accountId: value("uuid"), connectionId: value("uuid") },
    (p) => `
  WITH RECURSIVE places(account_id, connection_id, n) AS (
    (SELECT f.*, 1 FROM (${pausedPlaceAfter(p.accountId, p.connectionId)}) f WHERE NOT ${allPayoutsStopped})
    UNION ALL
    SELECT f.account_id, f.connection_id, w.n + 1 FROM places w
    CROSS JOIN LATERAL (${pausedPlaceAfter("w.account_id", "w.connection_id")}) f
    WHERE w.n < ${PLACES_PER_ROUND}
  ),
  free AS MATERIALIZED (
    SELECT w.account_id, w.connection_id, ${RESCHEDULED_PER_ROUND} / count(*) OVER () AS share
    FROM places w JOIN accounts a ON a.id = w.account_id AND NOT ${isStopped[acquirer]}
    WHERE NOT ${areConnectionPayoutsStopped(`CASE WHEN w.connection_id = '${ACCOUNTS_CONNECTION}' THEN ${routeOf(acquirer)} ELSE w.connection_id END`)}
  ),
  due AS MATERIALIZED (
    SELECT d.id FROM free f CROSS JOIN LATERAL (
      SELECT p.id FROM payouts p
      WHERE ${isPaused}
        AND p.account_id = f.account_id AND ${pausedFor} = f.connection_id
      ORDER BY p.id LIMIT f.share FOR UPDATE SKIP LOCKED
    ) d
  ),
  rescheduled AS (UPDATE payouts p SET due_at = now() FROM due d WHERE p.id = d.id RETURNING p.id)
  SELECT (SELECT count(*) FROM rescheduled) AS rescheduled, l.account_id AS last_account, l.connection_id AS last_connection
  FROM (SELECT 1) s LEFT JOIN (SELECT * FROM places WHERE n = ${PLACES_PER_ROUND}) l ON true`
  )

export const reschedulePaused = {
  simulator: rescheduleStatement("simulator"),
  connections: rescheduleStatement("connections")
}

interface RescheduledRow {
  readonly rescheduled: bigint
  /** Where the walk stopped; null at its end. */
  readonly last_account: string | null
  readonly last_connection: string | null
}
