/**
 * Deliveries that were parked because their endpoint, application or account is not active: rescheduled when it is.
 *
 * Guarantees: in batches, in any process, so that resuming takes no longer for a million of them than for one, and a
 * process that dies leaves none behind; what fell due meanwhile is due now, the rest as it was. Parked deliveries of a
 * deleted endpoint are canceled. A round that fails is done in halves; one that fails alone is left out for a while. A
 * round looks at a bounded number of owners, and is shared by their accounts, whatever one of them resumes.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { DeliverySignal } from "../events/DeliverySignal.ts"
import * as BackgroundLoop from "../observability/BackgroundLoop.ts"
import { attemptWrite, bisect, type StatementFailed } from "../sql/Bisection.ts"
import { orUnavailable } from "../sql/Unavailable.ts"
import { arrayOf } from "./Claimed.ts"
import { isActiveOwner, NONE } from "./DeliveryStatements.ts"
import { makeSkipped } from "./Skipped.ts"

export class PausedDeliveries extends Context.Service<
  PausedDeliveries,
  {
    /** Looks at once: an endpoint, an application or an account is active again. */
    readonly wake: () => void
    readonly await: Effect.Effect<void>
    readonly rest: Effect.Effect<void>
  }
>()("@pix-payments/server/PausedDeliveries") {
  static readonly layer = Layer.sync(PausedDeliveries, () => {
    const woken = Latch.makeUnsafe(false)
    return PausedDeliveries.of({
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
    const signal = yield* DeliverySignal
    const held = yield* PausedDeliveries
    const skipped = makeSkipped(yield* Clock.Clock)
    // The owner behind which the next round begins, and how many were rescheduled since the first owner.
    let after = NONE
    let found = 0
    const isolated = (parameters: ReadonlyArray<unknown>, failure: StatementFailed) =>
      Effect.gen(function* () {
        yield* Effect.logWarning(`rescheduling parked deliveries failed and is done in halves: ${failure.code}`)
        const rows = yield* orUnavailable(sql.unsafe<Row>(candidates, parameters))
        const done = yield* bisect(
          rows.flatMap(({ id }) => (id === null ? [] : [id])),
          (ids) => attemptWrite(sql, sql.unsafe<Row>(letGoThese, [arrayOf(ids)])),
          (id, { code }) =>
            Effect.andThen(
              Effect.sync(() => skipped.add(id)),
              Effect.logError(`parked delivery ${id} cannot be rescheduled: ${code}`)
            )
        )
        return [...rows.slice(0, 1).map((row) => ({ ...row, id: null })), ...done.flat()]
      })
    const round = Effect.gen(function* () {
      // What wakes it in the midst has it begin again at the end.
      if (after === NONE) {
        yield* held.rest
        found = 0
      }
      const parameters = [arrayOf(skipped.ids()), after]
      const rows = yield* attemptWrite(sql, sql.unsafe<Row>(rescheduleParked, parameters)).pipe(
        Effect.catchTag("StatementFailed", (failure) => isolated(parameters, failure))
      )
      const count = rows.filter(({ id }) => id !== null).length
      found += count
      after = rows[0]?.walked_to ?? NONE
      if (count > 0) signal.wake()
      return after === NONE ? found : 1
    })
    yield* Effect.forkScoped(
      BackgroundLoop.run("held deliveries", round, Effect.timeoutOption(held.await, WHAT_IS_LEFT_BEHIND))
    )
  })
)

/** Most that one statement reschedules. */
const AT_ONCE = 2000

/** Most owners that one statement steps to. */
const OWNERS = 2000

/** One row at least, without a delivery where nothing was rescheduled. */
interface Row {
  readonly id: string | null
  /** The last owner, where there may be others behind it. */
  readonly walked_to: string | null
}

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
    (${parked(`AND ${owner} > $2::uuid`)})
    UNION ALL
    SELECT (${parked(`AND ${owner} > h.owner`)}) FROM holding h WHERE h.owner IS NOT NULL
  ),
  walked AS MATERIALIZED (SELECT owner FROM holding WHERE owner IS NOT NULL LIMIT ${OWNERS}),
  owners AS MATERIALIZED (
    SELECT h.owner, o.account_id, o.deleted_at, row_number() OVER (PARTITION BY o.account_id ORDER BY h.owner) AS nth,
      count(*) OVER (PARTITION BY o.account_id) AS of_account
    FROM walked h
    CROSS JOIN LATERAL (
      SELECT d.account_id, w.deleted_at, w.deleted_at IS NOT NULL OR (
        coalesce(w.active AND w.disabled_at IS NULL, true)
        AND ${isActiveOwner("d.account_id", "coalesce(w.application_id, d.application_id)")}
      ) AS is_free
      FROM (
        SELECT endpoint_id, application_id, account_id FROM deliveries
        WHERE held_due_at IS NOT NULL AND ${owner} = h.owner LIMIT 1
      ) d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    ) o
    WHERE o.is_free
  ),
  free AS MATERIALIZED (
    SELECT t.id, o.deleted_at
    FROM (
      SELECT o.owner, o.deleted_at, greatest(1, ${AT_ONCE} / (s.accounts * o.of_account)) AS share
      FROM owners o CROSS JOIN (SELECT count(DISTINCT account_id) AS accounts FROM owners) s
      ORDER BY o.nth
    ) o
    CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE held_due_at IS NOT NULL AND ${owner} = o.owner AND id <> ALL ($1::uuid[])
      LIMIT o.share ${lock}
    ) t
    LIMIT ${AT_ONCE}
  )`

const walkedTo = `(SELECT owner FROM walked OFFSET ${OWNERS - 1} LIMIT 1)`

const rescheduled = `
  rescheduled AS (
    UPDATE deliveries d SET
      status = CASE WHEN f.deleted_at IS NULL THEN d.status ELSE 'canceled' END,
      reason = CASE WHEN f.deleted_at IS NULL THEN d.reason ELSE 'endpoint deleted' END,
      due_at = CASE WHEN f.deleted_at IS NULL THEN greatest(d.held_due_at, now()) END,
      held_due_at = NULL
    FROM free f WHERE d.id = f.id
    RETURNING d.id
  )`

const rescheduleParked = `
  WITH RECURSIVE ${free("FOR UPDATE SKIP LOCKED")},${rescheduled}
  SELECT r.id, w.walked_to FROM (SELECT ${walkedTo} AS walked_to) w LEFT JOIN rescheduled r ON true`

const candidates = `
  WITH RECURSIVE ${free("")}
  SELECT f.id, w.walked_to FROM (SELECT ${walkedTo} AS walked_to) w LEFT JOIN free f ON true`

const letGoThese = `
  WITH free AS MATERIALIZED (
    SELECT d.id, w.deleted_at FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.id = ANY ($1::uuid[]) AND d.held_due_at IS NOT NULL FOR UPDATE OF d SKIP LOCKED
  ),${rescheduled}
  SELECT id, NULL::uuid AS walked_to FROM rescheduled`
