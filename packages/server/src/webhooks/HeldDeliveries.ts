/**
 * Deliveries that were parked because their endpoint, application or account is not active: rescheduled when it is.
 *
 * Guarantees: in batches, in any process, so that resuming takes no longer for a million of them than for one, and a
 * process that dies leaves none behind; what fell due meanwhile is due now, the rest as it was. Parked deliveries of a
 * deleted endpoint are canceled. A round that fails is done in halves; one that fails alone is left out for a while.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Nudge } from "../events/Nudge.ts"
import { forever } from "../Loops.ts"
import { attempted, inHalves, type StatementFailed } from "../sql/Isolation.ts"
import { orUnavailable } from "../sql/Unavailable.ts"
import { arrayOf } from "./Claimed.ts"
import { isActiveOwner } from "./DeliveryStatements.ts"
import { makeSkipped } from "./Skipped.ts"

export class HeldDeliveries extends Context.Service<
  HeldDeliveries,
  {
    /** Looks at once: an endpoint, an application or an account is active again. */
    readonly wake: () => void
    readonly await: Effect.Effect<void>
    readonly rest: Effect.Effect<void>
  }
>()("@pix-payments/server/HeldDeliveries") {
  static readonly layer = Layer.sync(HeldDeliveries, () => {
    const woken = Latch.makeUnsafe(false)
    return HeldDeliveries.of({
      wake: () => void woken.openUnsafe(),
      await: woken.await,
      rest: Effect.asVoid(woken.close)
    })
  })
}

/** Lets go what is held for nothing, until the service stops. */
export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const nudge = yield* Nudge
    const held = yield* HeldDeliveries
    const skipped = makeSkipped(yield* Clock.Clock)
    const isolated = (skip: string, failure: StatementFailed) =>
      Effect.gen(function* () {
        yield* Effect.logWarning(`rescheduling parked deliveries failed and is done in halves: ${failure.message}`)
        const found = yield* orUnavailable(sql.unsafe<{ readonly id: string }>(candidates, [skip]))
        const done = yield* inHalves(
          found.map(({ id }) => id),
          (ids) => attempted(sql.unsafe(letGoThese, [arrayOf(ids)])),
          (id, { message }) =>
            Effect.andThen(
              Effect.sync(() => skipped.add(id)),
              Effect.logError(`parked delivery ${id} cannot be rescheduled: ${message}`)
            )
        )
        return done.flat()
      })
    const round = Effect.gen(function* () {
      yield* held.rest
      const skip = arrayOf(skipped.ids())
      const rows = yield* attempted(sql.unsafe(letGo, [skip])).pipe(
        Effect.catchTag("StatementFailed", (failure) => isolated(skip, failure))
      )
      if (rows.length > 0) nudge.wake()
      return rows.length
    })
    yield* Effect.forkScoped(forever("held deliveries", round, Effect.timeoutOption(held.await, WHAT_IS_LEFT_BEHIND)))
  })
)

/** Most that one statement reschedules. */
const AT_ONCE = 2000

/** How soon another process lets go what one left when it died. */
const WHAT_IS_LEFT_BEHIND = "15 seconds"

// All parked deliveries of an owner have the same endpoint, application and account, so that one of them is judged.
// From one owner of parked deliveries to the next, through their index: an endpoint, or for those without one an
// application, or for those without either an account.
const owner = "coalesce(endpoint_id, application_id, account_id)"

const parked = (condition: string) => `
  SELECT ${owner} AS owner FROM deliveries WHERE held_due_at IS NOT NULL ${condition} ORDER BY ${owner} LIMIT 1`

const free = (lock: string) => `
  holding AS (
    (${parked("")})
    UNION ALL
    SELECT (${parked(`AND ${owner} > h.owner`)}) FROM holding h WHERE h.owner IS NOT NULL
  ),
  free AS MATERIALIZED (
    SELECT t.id, o.deleted_at FROM holding h
    CROSS JOIN LATERAL (
      SELECT w.deleted_at, w.deleted_at IS NOT NULL OR (
        coalesce(w.active AND w.disabled_at IS NULL, true)
        AND ${isActiveOwner("d.account_id", "coalesce(w.application_id, d.application_id)")}
      ) AS is_free
      FROM (
        SELECT endpoint_id, application_id, account_id FROM deliveries
        WHERE held_due_at IS NOT NULL AND ${owner} = h.owner LIMIT 1
      ) d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    ) o
    CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE held_due_at IS NOT NULL AND ${owner} = h.owner AND id <> ALL ($1::uuid[])
      LIMIT ${AT_ONCE} ${lock}
    ) t
    WHERE o.is_free
    LIMIT ${AT_ONCE}
  )`

const rescheduling = `
  UPDATE deliveries d SET
    status = CASE WHEN f.deleted_at IS NULL THEN d.status ELSE 'canceled' END,
    reason = CASE WHEN f.deleted_at IS NULL THEN d.reason ELSE 'endpoint deleted' END,
    due_at = CASE WHEN f.deleted_at IS NULL THEN greatest(d.held_due_at, now()) END,
    held_due_at = NULL
  FROM free f WHERE d.id = f.id
  RETURNING d.id`

const letGo = `WITH RECURSIVE ${free("FOR UPDATE SKIP LOCKED")} ${rescheduling}`

const candidates = `WITH RECURSIVE ${free("")} SELECT id FROM free`

const letGoThese = `
  WITH free AS MATERIALIZED (
    SELECT d.id, w.deleted_at FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.id = ANY ($1::uuid[]) AND d.held_due_at IS NOT NULL FOR UPDATE OF d SKIP LOCKED
  ) ${rescheduling}`
