/**
 * The SQL of `DeliveryQueue`: claims, sweeps and outcomes.
 *
 * Every statement has two forms: one finds what is due, the other takes given ids, for rounds that are done in halves.
 */
import { recordset } from "../sql/Recordset.ts"
import { type Lane, NO_DIGEST } from "./Claimed.ts"

/** What the indexes of a lane hold: what is due some time, or under way, before or after the first attempt. */
const lanes: Readonly<Record<Lane, string>> = {
  first: "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0",
  repeated: "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0"
}

const forLanes = (statement: (lane: string) => string): Readonly<Record<Lane, string>> => ({
  first: statement(lanes.first),
  repeated: statement(lanes.repeated)
})

/** Before every id; and the digest of rows that the previous release inserted. */
export const NONE = NO_DIGEST

/** Most deliveries that one claim looks at. */
const LOOK = 300

/** Most destinations that one sweep steps to, in all and for one account: a statement has its time. */
const WALK = 2000
const WALK_OF_ACCOUNT = 20

/**
 * How far before now the next claim begins at the latest: what is due is seen at its commit, and commits come in another
 * order than their instants. One that takes longer is left to a sweep.
 */
const LATE = "interval '100 milliseconds'"

/**
 * Claims commit asynchronously: if PostgreSQL crashes, a lost claim is claimed again. With a synchronous standby they
 * wait for it, so that nothing is sent that a failover erases. (Outcomes always wait.)
 */
const commitMode =
  "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'off' ELSE 'on' END, true)"

/** The SQL function `text_digest` in words: PostgreSQL does not inline it, and a call costs more than the digest. */
const digestOf = (text: string): string => `encode(substr(sha256(convert_to(${text}, 'UTF8')), 1, 16), 'hex')::uuid`

/** What is due at the place `b`, longest due first. */
const dueAt = (lane: string, lock: string): string => `
      SELECT id, endpoint_id, change_id FROM deliveries
      WHERE ${lane} AND account_id = b.account_id AND destination_hash = b.destination_hash AND due_at <= now()
        AND id <> ALL ($4::uuid[])
      ORDER BY due_at LIMIT $3::integer ${lock}`

const SKIP_LOCKED = "FOR UPDATE SKIP LOCKED"

/** A list of places that two parameters hold. */
const places = (accounts: number) => `unnest($${accounts}::uuid[], $${accounts + 1}::uuid[])`

/** The places of deliveries that wait for an endpoint that is locked, each as often as it has such deliveries. */
const lockedPlaces = "(SELECT json_agg(account_id || '/' || destination_hash) FROM locked) AS locked"

const allPlaces = `json_agg(DISTINCT account_id || '/' || destination_hash)`

/**
 * Whether a delivery's application and account are active; see `parked`. They are read without a lock: a delivery that
 * is parked while they become active again is rescheduled by the next poll of `PausedDeliveries`.
 */
export const isActiveOwner = (account: string, application: string): string => `(
    NOT EXISTS (SELECT 1 FROM accounts o WHERE o.id = ${account} AND o.status <> 'active')
    AND NOT EXISTS (SELECT 1 FROM applications o WHERE o.id = ${application} AND NOT o.active)
  )`

/**
 * The same for the columns `account_id` and `application_id` of the CTE `of`: each account and application is read once,
 * however many rows it has.
 */
export const isActiveOwnerIn = (of: string): string => `(
    account_id <> ALL (ARRAY(
      SELECT o.id FROM accounts o WHERE o.id = ANY (ARRAY(SELECT account_id FROM ${of})) AND o.status <> 'active'
    ))
    AND (application_id = ANY (ARRAY(
      SELECT o.id FROM applications o WHERE o.id = ANY (ARRAY(SELECT application_id FROM ${of})) AND NOT o.active
    ))) IS NOT TRUE
  )`

/**
 * Takes the deliveries of `due`: leases them, parks those of an endpoint, application or account that is not active, and
 * cancels those whose endpoint is deleted or whose event is gone.
 *
 * Endpoints are locked against a change until the claim is committed: the statement that resumes an endpoint sees what
 * was parked for it. Deliveries to an endpoint that somebody else has locked are left as they are (`locked`).
 */
const taking = `
  ends AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active,
      deleted_at
    FROM webhook_endpoints WHERE id = ANY (ARRAY(SELECT endpoint_id FROM due)) FOR SHARE SKIP LOCKED
  ),
  locked AS MATERIALIZED (
    SELECT u.id, u.account_id, u.destination_hash FROM due u
    WHERE u.endpoint_id IS NOT NULL AND (u.endpoint_id IN (SELECT id FROM ends)) IS FALSE
      AND EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = u.endpoint_id)
  ),
  joined AS MATERIALIZED (
    SELECT u.id, u.account_id, u.destination_hash AS found_hash, w.url, w.destination, w.destination_hash, w.secret,
      coalesce(w.application_id, c.application_id) AS application_id, c.created_at, c.sequence, c.data,
      CASE WHEN c.id IS NULL THEN 'event gone' WHEN w.deleted_at IS NOT NULL THEN 'endpoint deleted' END AS ended,
      coalesce(w.active, true) AS is_endpoint_active
    FROM due u LEFT JOIN ends w ON w.id = u.endpoint_id LEFT JOIN changes c ON c.id = u.change_id
    WHERE (u.id IN (SELECT id FROM locked)) IS FALSE
  ),
  judged AS MATERIALIZED (
    SELECT *, is_endpoint_active AND ${isActiveOwnerIn("joined")} AS active FROM joined
  ),
  taken AS (
    UPDATE deliveries d SET
      status = CASE WHEN j.ended IS NOT NULL THEN 'canceled' WHEN NOT j.active THEN 'scheduled' ELSE 'delivering' END,
      due_at = CASE WHEN j.ended IS NULL AND j.active
        THEN now() + $2::double precision * interval '1 millisecond' END,
      held_due_at = CASE WHEN j.ended IS NULL AND NOT j.active THEN d.due_at END,
      reason = j.ended,
      application_id = j.application_id,
      url = coalesce(j.url, d.url),
      destination = coalesce(j.destination, d.destination),
      destination_hash = coalesce(j.destination_hash,
        CASE WHEN d.destination_hash = '${NONE}' THEN ${digestOf("d.destination")} ELSE d.destination_hash END)
    FROM judged j
    WHERE d.id = j.id
    RETURNING d.id, d.status, d.event, d.account_id, d.resource_id, d.endpoint_id, d.url, d.destination_hash,
      j.found_hash,
      CASE WHEN d.endpoint_id IS NULL THEN d.secret ELSE j.secret END AS secret, d.attempts_made,
      d.curve_from, j.created_at, j.sequence, j.data
  )`

// LIMIT (SELECT n): of a number that it does not know the planner expects a tenth of the rows, and walks the index of due
// times. Where it knows the number and few rows were due when it planned, it reads and sorts whatever is due by then.
// A row that is locked is looked at again as it has become by then; it is found by its id and by no other index.
const claiming = (lane: string, lock: string): string => `
  seen AS MATERIALIZED (
    SELECT id, account_id, destination_hash, due_at, row_number() OVER (ORDER BY due_at, id) AS place FROM (
      SELECT id, account_id, destination_hash, due_at FROM deliveries
      WHERE ${lane} AND due_at <= now() AND (due_at, id) > (coalesce($6::text::timestamptz, now()), $7::uuid)
      ORDER BY due_at, id LIMIT (SELECT ${LOOK})
    ) s
  ),
  ranked AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY account_id, destination_hash ORDER BY place) AS nth FROM seen
    WHERE id <> ALL ($4::uuid[])
      AND (account_id, destination_hash) NOT IN (SELECT * FROM ${places(9)})
  ),
  shared AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY nth, place) <= $13::integer
      AND row_number() OVER (PARTITION BY destination_hash ORDER BY nth, place) <= $15::integer
      AS has_place
    FROM ranked
    WHERE nth <= $3::integer AND account_id <> ALL ($5::uuid[]) AND destination_hash <> ALL ($14::uuid[])
  ),
  chosen AS MATERIALIZED (
    SELECT id, due_at, row_number() OVER (ORDER BY place) AS place FROM shared
    WHERE has_place ORDER BY place LIMIT $8::integer
  ),
  ahead AS MATERIALIZED (
    SELECT d.id, d.endpoint_id, d.change_id, d.account_id, d.destination_hash
    FROM chosen s JOIN deliveries d ON d.id = s.id
    WHERE coalesce(d.due_at, 'infinity') <= now()
    ${lock.replace("UPDATE", "UPDATE OF d")}
  ),
  behind AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.change_id, b.account_id, b.destination_hash
    FROM ${places(11)} AS b(account_id, destination_hash) CROSS JOIN LATERAL (${dueAt(lane, lock)}
    ) t
    LIMIT (SELECT $1::integer - count(*) FROM ahead)
  ),
  due AS (SELECT * FROM ahead UNION ALL SELECT * FROM behind)`

export const claims = forLanes(
  (lane) => `
  WITH ${claiming(lane, SKIP_LOCKED)},
  ${taking},
  reached AS (
    SELECT 1 AS choice, due_at, id FROM chosen WHERE place = $8::integer AND due_at < now() - ${LATE}
    UNION ALL SELECT 2, now() - ${LATE}, '${NONE}' FROM chosen WHERE place = $8::integer
    UNION ALL SELECT 3, due_at, id FROM seen WHERE place = ${LOOK}
    UNION ALL SELECT 4, now() - ${LATE}, '${NONE}'
    ORDER BY choice LIMIT 1
  )
  SELECT t.*, r.due_at::text AS reached_due_at, r.id AS reached_id, r.choice = 4 AS is_caught_up,
    (
      SELECT ${allPlaces} FROM ranked
      WHERE (id IN (SELECT id FROM shared WHERE has_place)) IS FALSE
    ) AS cut, (
      SELECT extract(epoch FROM due_at - now())::double precision * 1000 FROM deliveries
      WHERE ${lane} AND due_at > now() ORDER BY due_at LIMIT 1
    ) AS next_in_ms, ${lockedPlaces}, ${commitMode}
  FROM reached r LEFT JOIN taken t ON true ORDER BY t.id`
)

// From account to account, and within each from destination to destination, through the index.
const walk = (lane: string) => `
  tenants AS (
    (SELECT account_id FROM deliveries WHERE ${lane} AND account_id > $6::uuid ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT n.account_id FROM deliveries n WHERE ${lane} AND n.account_id > t.account_id
      ORDER BY n.account_id LIMIT 1
    )
    FROM tenants t WHERE t.account_id IS NOT NULL
  ),
  resumed AS MATERIALIZED (SELECT * FROM ${places(9)} AS r(account_id, destination_hash)),
  busy AS MATERIALIZED (
    SELECT t.account_id, b.destination_hash, b.nth
    FROM tenants t CROSS JOIN LATERAL (
      WITH RECURSIVE steps AS (
        (
          SELECT destination_hash, 1 AS nth FROM deliveries
          WHERE ${lane} AND account_id = t.account_id AND destination_hash >= coalesce(
            (SELECT r.destination_hash FROM resumed r WHERE r.account_id = t.account_id), '${NONE}')
          ORDER BY destination_hash LIMIT 1
        )
        UNION ALL
        SELECT (
          SELECT n.destination_hash FROM deliveries n
          WHERE ${lane} AND n.account_id = t.account_id AND n.destination_hash > s.destination_hash
          ORDER BY n.destination_hash LIMIT 1
        ), s.nth + 1
        FROM steps s WHERE s.destination_hash IS NOT NULL AND s.nth < ${WALK_OF_ACCOUNT}
      )
      SELECT destination_hash, nth FROM steps
    ) b
    WHERE t.account_id IS NOT NULL
    LIMIT ${WALK}
  )`

const sweeping = (lane: string, lock: string): string => `
  ${walk(lane)},
  due AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.change_id, b.account_id, b.destination_hash
    FROM busy b CROSS JOIN LATERAL (${dueAt(lane, lock)}
    ) t
    WHERE b.destination_hash IS NOT NULL AND b.account_id <> ALL ($5::uuid[]) AND b.destination_hash <> ALL ($11::uuid[])
      AND (b.account_id, b.destination_hash) NOT IN (SELECT * FROM ${places(7)})
    LIMIT $1::integer
  )`

export const sweeps = forLanes(
  (lane) => `
  WITH RECURSIVE ${sweeping(lane, SKIP_LOCKED)},
  ${taking}
  SELECT t.*, e.*, ${lockedPlaces}, ${commitMode}
  FROM (
    SELECT (SELECT account_id FROM busy OFFSET ${WALK - 1} LIMIT 1) AS walked_to,
      (SELECT json_agg(DISTINCT account_id) FROM busy) AS walked,
      (SELECT ${allPlaces} FROM busy WHERE nth = ${WALK_OF_ACCOUNT} AND destination_hash IS NOT NULL) AS unfinished
  ) e LEFT JOIN taken t ON true ORDER BY t.account_id, t.found_hash, t.id`
)

/** What a claim or a sweep with the same parameters would take, without locks. */
export const candidates = {
  claim: forLanes(
    (lane) => `WITH ${claiming(lane, "")} SELECT id, account_id FROM due WHERE $2::double precision >= 0`
  ),
  sweep: forLanes(
    (lane) => `WITH RECURSIVE ${sweeping(lane, "")} SELECT id, account_id FROM due WHERE $2::double precision >= 0`
  )
}

/** Takes these deliveries, where they are still due. */
export const claimThese = `
  WITH due AS MATERIALIZED (
    SELECT id, endpoint_id, change_id, account_id, destination_hash FROM deliveries
    WHERE id = ANY ($1::uuid[]) AND status IN ('scheduled', 'delivering') AND due_at <= now() ${SKIP_LOCKED}
  ),
  ${taking}
  SELECT t.*, ${commitMode} FROM taken t ORDER BY t.id`

/** Outcomes, and what they say of each registered endpoint. */
export const outcomes = recordset({
  delivery_id: "uuid",
  attempts_made: "integer",
  status: "text",
  delay_ms: "float8",
  attempt_id: "uuid",
  at: "timestamptz",
  duration_ms: "integer",
  address: "text",
  status_code: "integer",
  error: "text",
  response_body: "text"
})
export const health = recordset({
  endpoint_id: "uuid",
  consecutive_failures: "integer",
  successes: "bigint",
  failures: "bigint",
  last_success_at: "timestamptz",
  last_failure_at: "timestamptz"
})

export const recordMany = `
  WITH input AS MATERIALIZED (SELECT * FROM ${outcomes.from(1)} i),
  recorded AS (
    UPDATE deliveries d SET status = i.status, attempts_made = d.attempts_made + 1,
      due_at = CASE WHEN i.status = 'scheduled' THEN now() + i.delay_ms * interval '1 millisecond' END
    FROM input i
    WHERE d.id = i.delivery_id AND d.status = 'delivering' AND d.attempts_made = i.attempts_made
  ),
  counted AS (
    INSERT INTO webhook_endpoint_health AS h (endpoint_id, consecutive_failures, successes, failures, last_success_at,
      last_failure_at)
    SELECT endpoint_id, consecutive_failures, successes, failures, last_success_at, last_failure_at
    FROM ${health.from(1 + outcomes.width)} i
    ORDER BY endpoint_id
    ON CONFLICT (endpoint_id) DO UPDATE SET
      consecutive_failures = excluded.consecutive_failures
        + CASE WHEN excluded.successes = 0 THEN h.consecutive_failures ELSE 0 END,
      successes = h.successes + excluded.successes, failures = h.failures + excluded.failures,
      last_success_at = greatest(h.last_success_at, excluded.last_success_at),
      last_failure_at = greatest(h.last_failure_at, excluded.last_failure_at)
  )
  INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, address, status_code, error, response_body)
  SELECT attempt_id, delivery_id, at, duration_ms, address, status_code, error, response_body FROM input`

const setAsideWhere = (condition: string): string => `
  UPDATE deliveries SET status = 'failed', due_at = NULL, held_due_at = NULL, reason = $2
  WHERE id = $1::uuid AND ${condition}`

/** Ends a delivery that failed a claim by itself, where it is still due; `$2` is what PostgreSQL said. */
export const setAsideDue = setAsideWhere("status IN ('scheduled', 'delivering') AND due_at <= now()")

/** Ends a delivery whose outcome cannot be recorded, where the lease is still that of the attempt `$3`. */
export const setAsideAttempted = setAsideWhere("status = 'delivering' AND attempts_made = $3::integer")

export const releaseMany = `
  UPDATE deliveries d SET status = 'scheduled', due_at = now()
  FROM unnest($1::uuid[], $2::integer[]) AS l(id, attempts_made)
  WHERE d.id = l.id AND d.status = 'delivering' AND d.attempts_made = l.attempts_made`
