/**
 * Reschedules deliveries that were paused because their endpoint, application or account was not active.
 *
 * Guarantees:
 * - in batches, in any process: resuming takes no longer for a million deliveries than for one, and a process that dies
 *   leaves none paused;
 * - a delivery that fell due while it was paused is due now; any other keeps its due time;
 * - paused deliveries of a deleted endpoint are canceled;
 * - a round that fails is bisected, and a delivery that fails alone is skipped for a while;
 * - a round visits a bounded number of owners and is shared by their accounts, however much one of them resumes.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { attemptWrite, bisect, type StatementFailed } from "../../database/batching/Bisection.ts"
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import { orUnavailable } from "../../database/Unavailable.ts"
import { makeCooldown } from "./Cooldown.ts"
import { isActiveOwner } from "./OwnerStatus.ts"

export class PausedDeliveries extends Context.Service<
  PausedDeliveries,
  {
    /** Starts a round at once: an endpoint, an application or an account may be active again. */
    readonly wake: () => void
    /** Waits for the next `wake` since `rest`. */
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

/** Reschedules until the service stops. */
export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const signal = yield* DeliverySignal
    const paused = yield* PausedDeliveries
    const cooldown = makeCooldown(yield* Clock.Clock)
    // The owner after which the next round begins, and how many were rescheduled since the first owner.
    let afterOwner = NIL_UUID
    let total = 0
    const bisectRound = ([find, parameters]: readonly [string, ReadonlyArray<unknown>], failure: StatementFailed) =>
      Effect.gen(function* () {
        yield* Effect.logWarning(`rescheduling paused deliveries failed and is bisected: ${failure.code}`)
        const rows = yield* orUnavailable(sql.unsafe<Row>(find, parameters))
        const rescheduled = yield* bisect(
          rows.flatMap(({ id }) => (id === null ? [] : [id])),
          (ids) => attemptWrite(sql, sql.unsafe<Row>(...rescheduleByIds({ ids }))),
          (id, { code }) =>
            Effect.andThen(
              Effect.sync(() => cooldown.add(id)),
              Effect.logError(`paused delivery ${id} cannot be rescheduled: ${code}`)
            )
        )
        return [...rows.slice(0, 1).map((row) => ({ ...row, id: null })), ...rescheduled.flat()]
      })
    const round = Effect.gen(function* () {
      // A wake during the rounds over all owners starts them again at the end.
      if (afterOwner === NIL_UUID) {
        yield* paused.rest
        total = 0
      }
      const input = { excludedIds: cooldown.ids(), afterOwner }
      const rows = yield* attemptWrite(sql, sql.unsafe<Row>(...reschedulePaused(input))).pipe(
        Effect.catchTag("StatementFailed", (failure) => bisectRound(pausedCandidates(input), failure))
      )
      const count = rows.filter(({ id }) => id !== null).length
      total += count
      afterOwner = rows[0]?.last_owner ?? NIL_UUID
      if (count > 0) signal.wake()
      return afterOwner === NIL_UUID ? total : 1
    })
    yield* Effect.forkScoped(
      BackgroundLoop.run("paused deliveries", round, Effect.timeoutOption(paused.await, POLL_INTERVAL))
    )
  })
)

/** Deliveries that one statement reschedules. */
const MAX_DELIVERIES = 2000

/** Owners that one statement visits. */
const MAX_OWNERS = 2000

/** A rescheduled delivery, or a row without one. */
interface Row {
  readonly id: string | null
  /** The last owner, if there may be others after it. */
  readonly last_owner: string | null
}

/** How soon another process continues the work of one that died. */
const POLL_INTERVAL = "15 seconds"

// All paused deliveries of an owner have the same endpoint, application and account, so that one of them is checked. The
// index has the owner: the endpoint, or the application of a delivery without one, or the account of one without either.
const owner = "coalesce(endpoint_id, application_id, account_id)"

const nextOwner = (condition: string) => `
  SELECT ${owner} AS owner FROM deliveries WHERE paused_due_at IS NOT NULL ${condition} ORDER BY ${owner} LIMIT 1`

const parts = { excludedIds: uuids, afterOwner: value("uuid") }

const resumable = (p: { readonly [Name in keyof typeof parts]: string }, lock: string) => `
  paused_owners AS (
    (${nextOwner(`AND ${owner} > ${p.afterOwner}`)})
    UNION ALL
    SELECT (${nextOwner(`AND ${owner} > h.owner`)}) FROM paused_owners h WHERE h.owner IS NOT NULL
  ),
  visited AS MATERIALIZED (SELECT owner FROM paused_owners WHERE owner IS NOT NULL LIMIT ${MAX_OWNERS}),
  owners AS MATERIALIZED (
    SELECT h.owner, o.account_id, o.deleted_at, row_number() OVER (PARTITION BY o.account_id ORDER BY h.owner) AS nth,
      count(*) OVER (PARTITION BY o.account_id) AS of_account
    FROM visited h
    CROSS JOIN LATERAL (
      SELECT d.account_id, w.deleted_at, w.deleted_at IS NOT NULL OR (
        coalesce(w.active AND w.disabled_at IS NULL, true)
        AND ${isActiveOwner("d.account_id", "coalesce(w.application_id, d.application_id)")}
      ) AS is_resumable
      FROM (
        SELECT endpoint_id, application_id, account_id FROM deliveries
        WHERE paused_due_at IS NOT NULL AND ${owner} = h.owner LIMIT 1
      ) d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    ) o
    WHERE o.is_resumable
  ),
  resumable AS MATERIALIZED (
    SELECT t.id, o.deleted_at
    FROM (
      SELECT o.owner, o.deleted_at, greatest(1, ${MAX_DELIVERIES} / (s.accounts * o.of_account)) AS share
      FROM owners o CROSS JOIN (SELECT count(DISTINCT account_id) AS accounts FROM owners) s
      ORDER BY o.nth
    ) o
    CROSS JOIN LATERAL (
      SELECT id FROM deliveries
      WHERE paused_due_at IS NOT NULL AND ${owner} = o.owner AND id <> ALL (${p.excludedIds})
      LIMIT o.share ${lock}
    ) t
    LIMIT ${MAX_DELIVERIES}
  )`

const lastOwner = `(SELECT owner FROM visited OFFSET ${MAX_OWNERS - 1} LIMIT 1)`

const rescheduled = `
  rescheduled AS (
    UPDATE deliveries d SET
      status = CASE WHEN f.deleted_at IS NULL THEN d.status ELSE 'canceled' END,
      reason = CASE WHEN f.deleted_at IS NULL THEN d.reason ELSE 'endpoint deleted' END,
      due_at = CASE WHEN f.deleted_at IS NULL THEN greatest(d.paused_due_at, now()) END,
      paused_due_at = NULL
    FROM resumable f WHERE d.id = f.id
    RETURNING d.id
  )`

const reschedulePaused = statement(
  parts,
  (p) => `
  WITH RECURSIVE ${resumable(p, "FOR UPDATE SKIP LOCKED")},${rescheduled}
  SELECT r.id, w.last_owner FROM (SELECT ${lastOwner} AS last_owner) w LEFT JOIN rescheduled r ON true`
)

/** Finds what the next round would reschedule, without locks. */
const pausedCandidates = statement(
  parts,
  (p) => `
  WITH RECURSIVE ${resumable(p, "")}
  SELECT f.id, w.last_owner FROM (SELECT ${lastOwner} AS last_owner) w LEFT JOIN resumable f ON true`
)

const rescheduleByIds = statement(
  { ids: uuids },
  ({ ids }) => `
  WITH resumable AS MATERIALIZED (
    SELECT d.id, w.deleted_at FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.id = ANY (${ids}) AND d.paused_due_at IS NOT NULL FOR UPDATE OF d SKIP LOCKED
  ),${rescheduled}
  SELECT id, NULL::uuid AS last_owner FROM rescheduled`
)
