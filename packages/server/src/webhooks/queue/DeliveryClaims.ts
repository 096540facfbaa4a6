/**
 * The SQL that finds deliveries that are due, and the SQL that claims those of them that are admitted (`Admission.ts`).
 *
 * Guarantees:
 * - A look reads on from where the last one ended, in the order of due times, and reads what is due longest at some
 *   destinations with a backlog. It locks nothing.
 * - A claim leases a delivery only while it is due, so that two processes never claim it at once.
 * - In the order of due times a look reads the partitions of the last weeks, and all of them where older deliveries may have
 *   been made due. Of destinations with a backlog it reads all partitions.
 *
 * Measured: a look costs the same with ten thousand and with a million waiting, for one destination or for a hundred. With
 * 18 months of partitions an idle look reads 35 pages, and 83 where it reads all of them.
 */
import { lowestIdAt, NIL_UUID } from "@pix-payments/domain/Uuid"
import { eventData, traceOfChange } from "../../events/EventData.ts"
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import { type ClaimedRow, DESTINATION_KEY, destinations, type Lane } from "../deliveries/Delivery.ts"
import { isActiveOwnerIn } from "../deliveries/OwnerStatus.ts"

/** A point in the order of due times: an instant in microseconds, and the id of a delivery. */
export interface Position {
  /** Undefined: the time of the look. */
  readonly dueAt: string | undefined
  readonly id: string
}

/** Before everything that falls due from now on. */
export const now: Position = { dueAt: undefined, id: NIL_UUID }

/** A delivery that was due when it was read. */
export interface DueDelivery {
  readonly id: string
  readonly destination: string
  /** Found in the order of due times, not at a destination that was asked for. */
  readonly isNewlyDue: boolean
}

export interface Look {
  /** In the order of due times. */
  readonly due: ReadonlyArray<DueDelivery>
  /** Where the next look begins. */
  readonly reached: Position
  /** Whether there is nothing newly due after it. */
  readonly isCaughtUp: boolean
  /** Milliseconds until the next of the deliveries that the look reads falls due; undefined if none waits. */
  readonly nextInMs: number | undefined
}

/** The partial indexes of each lane: deliveries that are scheduled or in flight, before or after the first attempt. */
const lanes: Readonly<Record<Lane, string>> = {
  first: "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0",
  retries: "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0"
}

export const forLanes = <S>(make: (lane: string) => S): Readonly<Record<Lane, S>> => ({
  first: make(lanes.first),
  retries: make(lanes.retries)
})

/** Deliveries that one look reads in the order of due times. */
const SCAN_LIMIT = 300

/** A month and a week: no look reads more than two months of the past. */
const RECENT_DAYS = 38

/**
 * The next look begins at least this long before now. A delivery becomes visible at its commit, and commits are not in
 * the order of due times. A slower commit is left to a sweep.
 */
const COMMIT_SKEW = "interval '100 milliseconds'"

/**
 * Claims commit asynchronously: if PostgreSQL crashes, a lost claim is claimed again. With a synchronous standby they
 * wait for it, so that nothing is sent that a failover erases. (Outcomes always wait.)
 */
export const commitMode =
  "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'off' ELSE 'on' END, true)"

/**
 * Ids of the last weeks are not below this one. Retries end within days, so an older delivery is due only after a resend,
 * or after a long pause of its endpoint. PostgreSQL evaluates it once, and then skips the partitions of earlier months.
 */
const lowestRecentId = `(lpad(to_hex((extract(epoch FROM now() - interval '${RECENT_DAYS} days') * 1000)::bigint), 12, '0')
        || '${lowestIdAt(0).replaceAll("-", "").slice(12)}')::uuid`

const lookParts = {
  fromDueAt: value("text"),
  fromId: value("uuid"),
  isOfAllTime: value("boolean"),
  backlogged: destinations,
  perDestination: value("integer"),
  excludedIds: uuids
}

/** The lane's deliveries that a look reads in the order of due times. Those of a backlog are of any age. */
const inTime = (lane: string, isOfAllTime: string): string =>
  `${lane} AND id >= CASE WHEN ${isOfAllTime} THEN '${NIL_UUID}' ELSE ${lowestRecentId} END`

/** Finds what fell due after a position, and what is due longest at each of some destinations. */
// LIMIT (SELECT n): for an unknown number the planner assumes a tenth of the rows, and walks the index of due times. If it
// knew the number and planned while few rows were due, it would read and sort everything that is due later.
export const look = forLanes((lane) =>
  statement(
    lookParts,
    (p) => `
  WITH newly_due AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at FROM deliveries
    WHERE ${inTime(lane, p.isOfAllTime)} AND due_at <= now()
      AND (due_at, id) > (coalesce(${p.fromDueAt}::timestamptz, now()), ${p.fromId})
    ORDER BY due_at, id LIMIT (SELECT ${SCAN_LIMIT})
  ),
  due AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at, true AS is_newly_due FROM newly_due
    WHERE id <> ALL (${p.excludedIds})
    UNION ALL
    SELECT t.id, b.account_id, b.destination_hash, t.due_at, false
    FROM ${p.backlogged} AS b(account_id, destination_hash) CROSS JOIN LATERAL (
      SELECT id, due_at FROM deliveries
      WHERE ${lane} AND account_id = b.account_id AND destination_hash = b.destination_hash AND due_at <= now()
        AND id <> ALL (${p.excludedIds})
      ORDER BY due_at LIMIT ${p.perDestination}
    ) t
  ),
  reached AS (
    SELECT due_at, id, false AS is_caught_up FROM (
      SELECT due_at, id FROM newly_due ORDER BY due_at, id OFFSET ${SCAN_LIMIT - 1}
    ) last
    UNION ALL SELECT now() - ${COMMIT_SKEW}, '${NIL_UUID}', true
    LIMIT 1
  )
  SELECT r.due_at::text AS reached_due_at, r.id AS reached_id, r.is_caught_up, (
      SELECT extract(epoch FROM due_at - now())::double precision * 1000 FROM deliveries
      WHERE ${inTime(lane, p.isOfAllTime)} AND due_at > now() ORDER BY due_at LIMIT 1
    ) AS next_in_ms, (
      SELECT json_agg(json_build_array(id, ${DESTINATION_KEY}, is_newly_due) ORDER BY due_at, id) FROM due
    ) AS due
  FROM reached r`
  )
)

export interface LookRow {
  readonly reached_due_at: string
  readonly reached_id: string
  readonly is_caught_up: boolean
  readonly next_in_ms: number | null
  readonly due: ReadonlyArray<readonly [id: string, destination: string, isNewlyDue: boolean]> | null
}

export const lookOf = (row: LookRow): Look => ({
  due: (row.due ?? []).map(([id, destination, isNewlyDue]) => ({ id, destination, isNewlyDue })),
  reached: { dueAt: row.reached_due_at, id: row.reached_id },
  isCaughtUp: row.is_caught_up,
  nextInMs: row.next_in_ms ?? undefined
})

/**
 * Claims these deliveries, if they are still due: leases them, pauses those of an inactive endpoint, application or account,
 * and cancels those whose endpoint is deleted or whose event is gone. `oldestId` is the lowest of the ids: PostgreSQL skips
 * the partitions before it.
 *
 * A claim locks endpoints against changes until it commits, so that the statement that resumes an endpoint sees what was
 * paused. Deliveries to an endpoint that another transaction has locked stay unchanged (`locked`).
 */
// A row that was locked is checked again after the lock; it is found by its id and by no other index.
export const claim = statement(
  { ids: uuids, oldestId: value("uuid"), leaseMs: value("double precision") },
  (p) => `
  WITH due AS MATERIALIZED (
    SELECT id, endpoint_id, change_id, account_id, destination_hash FROM deliveries
    WHERE id = ANY (${p.ids}) AND id >= ${p.oldestId} AND coalesce(due_at, 'infinity') <= now() FOR UPDATE SKIP LOCKED
  ),
  endpoints AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active,
      deleted_at
    FROM webhook_endpoints WHERE id = ANY (ARRAY(SELECT endpoint_id FROM due)) FOR SHARE SKIP LOCKED
  ),
  locked AS MATERIALIZED (
    SELECT u.id, u.account_id, u.destination_hash FROM due u
    WHERE u.endpoint_id IS NOT NULL AND (u.endpoint_id IN (SELECT id FROM endpoints)) IS FALSE
      AND EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = u.endpoint_id)
  ),
  joined AS MATERIALIZED (
    SELECT u.id, u.account_id, u.destination_hash AS previous_hash, w.url, w.destination, w.destination_hash, w.secret,
      coalesce(w.application_id, c.application_id) AS application_id, c.created_at, c.sequence,
      ${eventData} AS data, ${traceOfChange} AS trace,
      CASE WHEN c.id IS NULL THEN 'event gone' WHEN w.deleted_at IS NOT NULL THEN 'endpoint deleted' END AS end_reason,
      coalesce(w.active, true) AS is_endpoint_active
    FROM due u LEFT JOIN endpoints w ON w.id = u.endpoint_id LEFT JOIN changes c ON c.id = u.change_id
    WHERE (u.id IN (SELECT id FROM locked)) IS FALSE
  ),
  checked AS MATERIALIZED (
    SELECT *, is_endpoint_active AND ${isActiveOwnerIn("joined")} AS active FROM joined
  ),
  claimed AS (
    UPDATE deliveries d SET
      status = CASE WHEN j.end_reason IS NOT NULL THEN 'canceled' WHEN NOT j.active THEN 'scheduled' ELSE 'delivering' END,
      due_at = CASE WHEN j.end_reason IS NULL AND j.active
        THEN now() + ${p.leaseMs} * interval '1 millisecond' END,
      paused_due_at = CASE WHEN j.end_reason IS NULL AND NOT j.active THEN d.due_at END,
      reason = j.end_reason,
      application_id = j.application_id,
      url = coalesce(j.url, d.url),
      destination = coalesce(j.destination, d.destination),
      destination_hash = coalesce(j.destination_hash, d.destination_hash)
    FROM checked j
    WHERE d.id = j.id AND d.id >= ${p.oldestId}
    RETURNING d.id, d.status, d.event, d.account_id, d.resource_id, d.endpoint_id, d.url, d.destination_hash,
      j.previous_hash,
      CASE WHEN d.endpoint_id IS NULL THEN d.secret ELSE j.secret END AS secret, d.attempts_made,
      d.curve_from, j.created_at, j.sequence, j.data, j.trace
  )
  SELECT t.*, (SELECT json_agg(DISTINCT ${DESTINATION_KEY}) FROM locked) AS locked, ${commitMode}
  FROM (SELECT 1) one LEFT JOIN claimed t ON true ORDER BY t.id`
)

/** A delivery that the claim changed, or the only row of a claim that changed none. */
export type ClaimRow = (ClaimedRow | { readonly id: null }) & {
  /** Destinations with deliveries whose endpoint is locked. */
  readonly locked: ReadonlyArray<string> | null
}
