/**
 * Deliveries that a claim put aside, since their endpoint was paused: let go when it is active again.
 *
 * Guarantees: in batches, in whichever process, so that ending a pause takes no longer for a million of them than for
 * one, and a process that dies leaves none behind; what was due in the pause is due now, the rest as it was. What waited
 * for an endpoint that is deleted is canceled.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Nudge } from "../events/Nudge.ts"
import { forever } from "../Loops.ts"
import { orUnavailable } from "../sql/Unavailable.ts"

export class HeldDeliveries extends Context.Service<
  HeldDeliveries,
  {
    /** Looks at once, for an endpoint is active again. */
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
    const round = Effect.gen(function* () {
      yield* held.rest
      const rows = yield* orUnavailable(sql.unsafe(letGo))
      if (rows.length > 0) nudge.wake()
      return rows.length
    })
    yield* Effect.forkScoped(forever("held deliveries", round, Effect.timeoutOption(held.await, WHAT_IS_LEFT_BEHIND)))
  })
)

/** How soon another process lets go what one left when it died. */
const WHAT_IS_LEFT_BEHIND = "15 seconds"

// From one endpoint that something is held for to the next, through their index.
const letGo = `
  WITH RECURSIVE holding AS (
    (SELECT endpoint_id FROM deliveries WHERE held_due_at IS NOT NULL ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT n.endpoint_id FROM deliveries n
      WHERE n.held_due_at IS NOT NULL AND n.endpoint_id > h.endpoint_id ORDER BY n.endpoint_id LIMIT 1
    )
    FROM holding h WHERE h.endpoint_id IS NOT NULL
  ),
  free AS MATERIALIZED (
    SELECT t.id, w.deleted_at FROM holding h
    JOIN webhook_endpoints w ON w.id = h.endpoint_id AND (w.active OR w.deleted_at IS NOT NULL)
    CROSS JOIN LATERAL (
      SELECT id FROM deliveries WHERE endpoint_id = w.id AND held_due_at IS NOT NULL LIMIT 2000 FOR UPDATE SKIP LOCKED
    ) t
    LIMIT 2000
  )
  UPDATE deliveries d SET
    status = CASE WHEN f.deleted_at IS NULL THEN d.status ELSE 'canceled' END,
    due_at = CASE WHEN f.deleted_at IS NULL THEN greatest(d.held_due_at, now()) END,
    held_due_at = NULL
  FROM free f WHERE d.id = f.id
  RETURNING d.id`
