/**
 * The SQL that claims due deliveries, in the order of due times or by id.
 *
 * Guarantees:
 * - A claim reads on from where the last one ended, and then from destinations with a backlog.
 * - A sweep (`DeliverySweeps.ts`) finds the others: deliveries of slow commits, and those that were due before.
 * - In the order of due times a claim reads the partitions of the last weeks, and all of them where older deliveries may
 *   have been made due. Of destinations with a backlog it reads all partitions.
 *
 * Measured: a claim costs the same with ten thousand and with a million waiting, for one destination or for a hundred. With
 * 18 months of partitions an idle claim reads 35 pages, and 83 where it reads all of them.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { eventData } from "../../events/EventData.ts"
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import {
  type ClaimedDelivery,
  type ClaimedRow,
  DESTINATION_KEY,
  destinationKey,
  destinations,
  type Lane,
  NIL_UUID,
  toClaimedDelivery
} from "../deliveries/Delivery.ts"
import { isActiveOwnerIn } from "../deliveries/OwnerStatus.ts"

/** A point in the order of due times: an instant in microseconds, and the id of a delivery. */
export interface Position {
  /** Undefined: the time of the claim. */
  readonly dueAt: string | undefined
  readonly id: string
}

/** Before everything that falls due from now on. */
export const now: Position = { dueAt: undefined, id: NIL_UUID }

export interface DueDeliveries {
  readonly claimed: ReadonlyArray<ClaimedDelivery>
  /** How many were found at each destination, including those that were parked, canceled or left in `locked`. */
  readonly found: ReadonlyMap<string, number>
  readonly count: number
  /** Destinations with deliveries whose endpoint another transaction has locked. */
  readonly locked: ReadonlySet<string>
}

export interface ClaimResult extends DueDeliveries {
  /** Where the next claim begins. */
  readonly reached: Position
  /** Whether the claim read everything that is due. */
  readonly isCaughtUp: boolean
  /** Destinations of which the claim read more than it could take. */
  readonly truncated: ReadonlyArray<string>
  /** Milliseconds until the next of the deliveries that the claim reads falls due; undefined if none waits. */
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

/** Deliveries that one claim reads. */
const SCAN_LIMIT = 300

/** A month and a week: no claim reads more than two months of the past. */
const RECENT_DAYS = 38

/**
 * The next claim begins at least this long before now. A delivery becomes visible at its commit, and commits are not in
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

/** The SQL function `text_digest` inline: PostgreSQL does not inline it, and a call costs more than the digest. */
const digestOf = (text: string): string => `encode(substr(sha256(convert_to(${text}, 'UTF8')), 1, 16), 'hex')::uuid`

export type Lock = "FOR UPDATE SKIP LOCKED" | ""

/** The deliveries that are due at the destination `b`, longest due first. */
export const dueAtDestination = (
  lane: string,
  p: { readonly excludedIds: string; readonly perDestination: string },
  lock: Lock
): string => `
      SELECT id, endpoint_id, change_id FROM deliveries
      WHERE ${lane} AND account_id = b.account_id AND destination_hash = b.destination_hash AND due_at <= now()
        AND id <> ALL (${p.excludedIds})
      ORDER BY due_at LIMIT ${p.perDestination} ${lock}`

/** The destinations of deliveries whose endpoint is locked, once for each delivery. */
export const lockedDestinations = `(SELECT json_agg(${DESTINATION_KEY}) FROM locked) AS locked`

export const allDestinations = `json_agg(DISTINCT ${DESTINATION_KEY})`

/**
 * Claims the deliveries of `due`: leases them, parks those of an inactive endpoint, application or account, and cancels
 * those whose endpoint is deleted or whose event is gone.
 *
 * Endpoints are locked against changes until the claim commits, so that the statement that resumes an endpoint sees what
 * was parked. Deliveries to an endpoint that another transaction has locked stay unchanged (`locked`).
 */
export const claimCtes = (leaseMs: string): string => `
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
      ${eventData} AS data,
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
        THEN now() + ${leaseMs} * interval '1 millisecond' END,
      held_due_at = CASE WHEN j.end_reason IS NULL AND NOT j.active THEN d.due_at END,
      reason = j.end_reason,
      application_id = j.application_id,
      url = coalesce(j.url, d.url),
      destination = coalesce(j.destination, d.destination),
      destination_hash = coalesce(j.destination_hash,
        CASE WHEN d.destination_hash = '${NIL_UUID}' THEN ${digestOf("d.destination")} ELSE d.destination_hash END)
    FROM checked j
    WHERE d.id = j.id
    RETURNING d.id, d.status, d.event, d.account_id, d.resource_id, d.endpoint_id, d.url, d.destination_hash,
      j.previous_hash,
      CASE WHEN d.endpoint_id IS NULL THEN d.secret ELSE j.secret END AS secret, d.attempts_made,
      d.curve_from, j.created_at, j.sequence, j.data
  )`

const claimParts = {
  limit: value("integer"),
  leaseMs: value("double precision"),
  perDestination: value("integer"),
  excludedIds: uuids,
  excludedAccounts: uuids,
  fromDueAt: value("text"),
  fromId: value("uuid"),
  newlyDueLimit: value("integer"),
  excluded: destinations,
  backlogged: destinations,
  perAccount: value("integer"),
  excludedOrigins: uuids,
  perOrigin: value("integer"),
  isOfAllTime: value("boolean")
}

type ClaimPlaceholders = { readonly [Name in keyof typeof claimParts]: string }

/** The lane's deliveries that a claim reads in the order of due times. Those of a backlog are of any age. */
const inTime = (lane: string, { isOfAllTime }: ClaimPlaceholders): string =>
  `${lane} AND id >= CASE WHEN ${isOfAllTime} THEN '${NIL_UUID}' ELSE ${lowestRecentId} END`

// LIMIT (SELECT n): for an unknown number the planner assumes a tenth of the rows, and walks the index of due times. If it
// knew the number and planned while few rows were due, it would read and sort everything that is due later.
// A row that was locked is checked again after the lock; it is found by its id and by no other index.
const dueSince = (lane: string, p: ClaimPlaceholders, lock: Lock): string => `
  seen AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at, row_number() OVER (ORDER BY due_at, id) AS ordinal FROM (
      SELECT id, account_id, destination_hash, due_at FROM deliveries
      WHERE ${inTime(lane, p)} AND due_at <= now() AND (due_at, id) > (coalesce(${p.fromDueAt}::timestamptz, now()), ${p.fromId})
      ORDER BY due_at, id LIMIT (SELECT ${SCAN_LIMIT})
    ) s
  ),
  ranked AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY account_id, destination_hash ORDER BY ordinal) AS nth FROM seen
    WHERE id <> ALL (${p.excludedIds})
      AND (account_id, destination_hash) NOT IN (SELECT * FROM ${p.excluded})
  ),
  limited AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY nth, ordinal) <= ${p.perAccount}
      AND row_number() OVER (PARTITION BY destination_hash ORDER BY nth, ordinal) <= ${p.perOrigin}
      AS is_within_limits
    FROM ranked
    WHERE nth <= ${p.perDestination} AND account_id <> ALL (${p.excludedAccounts})
      AND destination_hash <> ALL (${p.excludedOrigins})
  ),
  selected AS MATERIALIZED (
    SELECT id, due_at, row_number() OVER (ORDER BY ordinal) AS ordinal FROM limited
    WHERE is_within_limits ORDER BY ordinal LIMIT ${p.newlyDueLimit}
  ),
  newly_due AS MATERIALIZED (
    SELECT d.id, d.endpoint_id, d.change_id, d.account_id, d.destination_hash
    FROM selected s JOIN deliveries d ON d.id = s.id
    WHERE coalesce(d.due_at, 'infinity') <= now()
    ${lock.replace("UPDATE", "UPDATE OF d")}
  ),
  backlogged AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.change_id, b.account_id, b.destination_hash
    FROM ${p.backlogged} AS b(account_id, destination_hash) CROSS JOIN LATERAL (${dueAtDestination(lane, p, lock)}
    ) t
    LIMIT (SELECT ${p.limit} - count(*) FROM newly_due)
  ),
  due AS (SELECT * FROM newly_due UNION ALL SELECT * FROM backlogged)`

/** Claims what fell due after a position, and some of what waits at backlogged destinations. */
export const claim = forLanes((lane) =>
  statement(
    claimParts,
    (p) => `
  WITH ${dueSince(lane, p, "FOR UPDATE SKIP LOCKED")},
  ${claimCtes(p.leaseMs)},
  reached AS (
    SELECT 1 AS choice, due_at, id FROM selected WHERE ordinal = ${p.newlyDueLimit} AND due_at < now() - ${COMMIT_SKEW}
    UNION ALL SELECT 2, now() - ${COMMIT_SKEW}, '${NIL_UUID}' FROM selected WHERE ordinal = ${p.newlyDueLimit}
    UNION ALL SELECT 3, due_at, id FROM seen WHERE ordinal = ${SCAN_LIMIT}
    UNION ALL SELECT 4, now() - ${COMMIT_SKEW}, '${NIL_UUID}'
    ORDER BY choice LIMIT 1
  )
  SELECT t.*, r.due_at::text AS reached_due_at, r.id AS reached_id, r.choice = 4 AS is_caught_up,
    (
      SELECT ${allDestinations} FROM ranked
      WHERE (id IN (SELECT id FROM limited WHERE is_within_limits)) IS FALSE
    ) AS truncated, (
      SELECT extract(epoch FROM due_at - now())::double precision * 1000 FROM deliveries
      WHERE ${inTime(lane, p)} AND due_at > now() ORDER BY due_at LIMIT 1
    ) AS next_in_ms, ${lockedDestinations}, ${commitMode}
  FROM reached r LEFT JOIN claimed t ON true ORDER BY t.id`
  )
)

/** A delivery that a claim would take. */
export interface Candidate {
  readonly id: string
  readonly account_id: string
}

/** Finds what a claim with the same parameters would take, without locks. */
export const claimCandidates = forLanes((lane) =>
  statement(claimParts, (p) => `WITH ${dueSince(lane, p, "")} SELECT id, account_id FROM due WHERE ${p.leaseMs} >= 0`)
)

/** Claims these deliveries, if they are still due. */
export const claimByIds = statement(
  { ids: uuids, leaseMs: value("double precision") },
  (p) => `
  WITH due AS MATERIALIZED (
    SELECT id, endpoint_id, change_id, account_id, destination_hash FROM deliveries
    WHERE id = ANY (${p.ids}) AND status IN ('scheduled', 'delivering') AND due_at <= now() FOR UPDATE SKIP LOCKED
  ),
  ${claimCtes(p.leaseMs)}
  SELECT t.*, ${commitMode} FROM claimed t ORDER BY t.id`
)

/** A claimed delivery, or the only row of a round that claimed none. */
export type RowOrNone = ClaimedRow | { readonly id: null }

export type ClaimRow = RowOrNone & {
  readonly reached_due_at: string
  readonly reached_id: string
  readonly is_caught_up: boolean
  readonly truncated: ReadonlyArray<string> | null
  readonly locked: ReadonlyArray<string> | null
  readonly next_in_ms: number | null
}

/** The result of a claim; undefined for a claim without rows, which PostgreSQL never returns. */
export const claimResult = (rows: ReadonlyArray<ClaimRow>): ClaimResult | undefined => {
  const [first] = rows
  return first === undefined
    ? undefined
    : {
        ...dueDeliveries(
          rows.filter((row) => row.id !== null),
          first.locked
        ),
        reached: { dueAt: first.reached_due_at, id: first.reached_id },
        isCaughtUp: first.is_caught_up,
        truncated: first.truncated ?? [],
        nextInMs: first.next_in_ms ?? undefined
      }
}

/** `locked`: the destination of each delivery whose endpoint is locked. */
export const dueDeliveries = (
  rows: ReadonlyArray<ClaimedRow>,
  locked: ReadonlyArray<string> | null | undefined
): DueDeliveries => {
  const each = [
    ...rows.map(({ account_id, previous_hash }) => destinationKey(account_id, previous_hash)),
    ...(locked ?? [])
  ]
  const found = new Map<string, number>()
  for (const destination of each) found.set(destination, (found.get(destination) ?? 0) + 1)
  return {
    claimed: rows.filter(({ status }) => status === "delivering").map((row) => toClaimedDelivery(row)),
    found,
    count: each.length,
    locked: new Set(locked)
  }
}
