/**
 * Deliveries that are due: claimed in batches, recorded in batches.
 *
 * Guarantees:
 * - a claim is a lease: while a delivery is under way `due_at` is the lease's end, so that what a dead process held
 *   becomes due again by itself;
 * - only the holder of an attempt says what becomes of the delivery; attempt, health and the next due time are one
 *   commit;
 * - first attempts are claimed apart from retries, and what has fallen due to one destination apart from a backlog at
 *   another: neither the retries of others nor a receiver that hangs stand before anything;
 * - what is due to a paused endpoint is put aside at its claim, what is due to a deleted one is canceled; URL and
 *   secret of an endpoint are those at the claim.
 *
 * A claim reads on from where the last one ended, in the order of due times, and then from destinations that are known
 * to have more. Measured: it costs the same with ten thousand and with a million waiting, for one destination or for a
 * hundred. What that order misses (what was due before, a commit that took long) is found by a sweep, which steps through
 * an index from destination to destination, and costs as many steps.
 */
import { deliveryBody } from "@pix-payments/domain/Event"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as Batching from "../sql/Batching.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import type { DeliveryRow } from "./DeliveryStore.ts"

/** A delivery that this process holds the lease of. */
export interface Claimed {
  readonly id: string
  readonly event: string
  readonly accountId: string
  readonly endpointId: string | null
  /** The charge, payout or dispute that the event is about. */
  readonly resourceId: string
  readonly url: string
  /** The origin of the URL, by which deliveries that share a receiver are counted; and the one that it was found at. */
  readonly destination: string
  readonly foundAt: string
  readonly sealedSecret: string | null
  readonly attemptsMade: number
  /** How many of them came before the curve began again, at a resend. */
  readonly curveFrom: number
  readonly body: string
}

/** One attempt, as it is kept. */
export interface Attempt {
  readonly id: string
  readonly atMs: number
  readonly durationMs: number
  readonly address: string | null
  readonly statusCode: number | null
  readonly error: string | null
  readonly responseBody: string | null
}

export interface Recorded {
  readonly delivery: Claimed
  readonly attempt: Attempt
  /** `scheduled` again after `delayMs`, or done for good. */
  readonly outcome:
    | { readonly status: "delivered" | "failed" }
    | { readonly status: "scheduled"; readonly delayMs: number }
}

/** First attempts and retries are claimed apart. */
export type Lane = "first" | "repeated"

export interface Claim {
  /** Most that are claimed in all, and for one destination. */
  readonly limit: number
  readonly perDestination: number
  readonly leaseMs: number
  /** Where the last claim ended. */
  readonly from: Position
  /** Destinations that are passed by: they have as much under way as they may, or more that waits. */
  readonly except: ReadonlyArray<string>
  /** Those of them whose turn it is to have some of what waits. */
  readonly behind: ReadonlyArray<string>
}

/** A place in the order of due times: an instant to the microsecond, and the id of the delivery there. */
export interface Position {
  /** Undefined: the moment of the claim. */
  readonly dueAt: string | undefined
  readonly id: string
}

/** What falls due from now on. */
export const now: Position = { dueAt: undefined, id: "00000000-0000-0000-0000-000000000000" }

export interface Due {
  readonly claimed: ReadonlyArray<Claimed>
  /** How many were found at each destination, with those that were put aside for a pause or canceled. */
  readonly found: ReadonlyMap<string, number>
  readonly count: number
}

export interface ClaimedDue extends Due {
  /** Where the next claim begins. */
  readonly reached: Position
  /** Whether everything that has become due has been looked at. */
  readonly isCaughtUp: boolean
  /** Destinations of which more was looked at than one may have. */
  readonly cut: ReadonlyArray<string>
  /** How soon the next delivery falls due, in milliseconds; undefined where none waits. */
  readonly nextInMs: number | undefined
}

export interface SweptDue extends Due {
  /** The destination at which it stopped for there were so many; undefined where it was full, or went round. */
  readonly walkedTo: string | undefined
}

export interface Sweep extends Pick<Claim, "limit" | "perDestination" | "leaseMs" | "except"> {
  /** The destination behind which it begins. */
  readonly after: string
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    /** Claims what has become due since the last claim, and some of what waits at destinations that are behind. */
    readonly claim: (lane: Lane, claim: Claim) => Effect.Effect<ClaimedDue, Unavailable>
    /** Claims whatever is due, destination by destination, at some of them. */
    readonly sweep: (lane: Lane, sweep: Sweep) => Effect.Effect<SweptDue, Unavailable>
    readonly record: (recorded: Recorded) => Effect.Effect<void, Unavailable>
    /** Gives leases back, so that another process may take the deliveries at once. */
    readonly release: (ids: ReadonlyArray<string>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/DeliveryQueue") {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const record = yield* Batching.make<Recorded, void>({
        maxBatch: 200,
        run: (all) =>
          Effect.as(
            sql.unsafe(recordMany, [JSON.stringify(all.map(toRecord)), JSON.stringify(healthOf(all))]),
            all.map(() => undefined)
          )
      })

      return DeliveryQueue.of({
        claim: (lane, { behind, except, from, leaseMs, limit, perDestination }) =>
          sql
            .unsafe<ClaimRow>(claims[lane], [
              limit,
              leaseMs,
              perDestination,
              JSON.stringify(except),
              JSON.stringify(behind),
              from.dueAt ?? null,
              from.id,
              // Both get on, whatever there is of the other.
              behind.length === 0 ? limit : Math.ceil((limit * 3) / 4)
            ])
            .pipe(
              Effect.flatMap((rows) => {
                const [first] = rows
                if (first === undefined) return Effect.die(new Error("a claim says where it ended"))
                return Effect.succeed({
                  ...dueOf(rows.filter((row) => row.id !== null)),
                  reached: { dueAt: first.reached_due_at, id: first.reached_id },
                  isCaughtUp: first.is_caught_up,
                  cut: first.cut ?? [],
                  nextInMs: first.next_in_ms ?? undefined
                })
              }),
              orUnavailable
            ),
        sweep: (lane, { after, except, leaseMs, limit, perDestination }) =>
          sql.unsafe<SweepRow>(sweeps[lane], [limit, leaseMs, perDestination, JSON.stringify(except), after]).pipe(
            Effect.map((rows) => ({
              ...dueOf(rows.filter((row) => row.id !== null)),
              walkedTo: rows[0]?.walked_to ?? undefined
            })),
            orUnavailable
          ),
        record,
        release: (ids) =>
          sql
            .unsafe(
              `UPDATE deliveries SET status = 'scheduled', due_at = now()
               WHERE id = ANY (string_to_array($1, ',')::uuid[]) AND status = 'delivering'`,
              [ids.join(",")]
            )
            .pipe(Effect.asVoid, orUnavailable)
      })
    })
  )
}

interface TakenRow {
  readonly id: string
  readonly status: DeliveryRow["status"]
  readonly event: string
  readonly account_id: string
  readonly endpoint_id: string | null
  readonly resource_id: string
  readonly url: string
  readonly destination: string
  /** The destination that it was found at, which its endpoint may have left since. */
  readonly found_at: string
  readonly secret: string | null
  readonly attempts_made: number
  readonly curve_from: number
  readonly created_at: Date
  readonly sequence: number
  /** The resource, as the JSON text that was stored. */
  readonly data: string
}

/** One row at least, without a delivery where nothing was taken. */
type ClaimRow = (TakenRow | { readonly id: null }) & {
  readonly reached_due_at: string
  readonly reached_id: string
  readonly is_caught_up: boolean
  readonly cut: ReadonlyArray<string> | null
  readonly next_in_ms: number | null
}

/** One row at least, as a claim's. */
type SweepRow = (TakenRow | { readonly id: null }) & { readonly walked_to: string | null }

const dueOf = (rows: ReadonlyArray<TakenRow>): Due => {
  const found = new Map<string, number>()
  for (const { found_at } of rows) found.set(found_at, (found.get(found_at) ?? 0) + 1)
  return { claimed: rows.filter(({ status }) => status === "delivering").map(toClaimed), found, count: rows.length }
}

const toClaimed = (row: TakenRow): Claimed => ({
  id: row.id,
  event: row.event,
  accountId: row.account_id,
  endpointId: row.endpoint_id,
  resourceId: row.resource_id,
  url: row.url,
  destination: row.destination,
  foundAt: row.found_at,
  sealedSecret: row.secret,
  attemptsMade: row.attempts_made,
  curveFrom: row.curve_from,
  body: deliveryBody({
    deliveryId: row.id,
    name: row.event,
    createdAt: row.created_at.toISOString(),
    sequence: row.sequence,
    dataJson: row.data
  })
})

/** What the indexes of a lane hold: what is due some time, or under way, before or after the first attempt. */
const lanes: Readonly<Record<Lane, string>> = {
  first: "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0",
  repeated: "status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made > 0"
}

const forLanes = (statement: (lane: string) => string): Readonly<Record<Lane, string>> => ({
  first: statement(lanes.first),
  repeated: statement(lanes.repeated)
})

/** Most deliveries that one claim looks at. */
const LOOK = 300

/** Most destinations that one sweep steps to: a statement has its time, however many there are. */
const WALK = 2000

/**
 * How far before now the next claim begins at the latest: what is due is seen at its commit, and commits come in another
 * order than their instants. One that takes longer is left to a sweep.
 */
const LATE = "interval '100 milliseconds'"

/**
 * A claim does not wait until it is on the disk: should the database fail in the next moments, what it claimed is due
 * again, as after any lease that is lost. (Outcomes, and all that they follow from, do wait.)
 */
const unhurried = "set_config('synchronous_commit', 'off', true)"

/** What is due to one of these destinations, longest due first; `b` has their names. */
const dueAt = (lane: string): string => `
      SELECT id, endpoint_id FROM deliveries
      WHERE ${lane} AND destination = b.destination AND due_at <= now()
      ORDER BY due_at LIMIT $3::integer FOR UPDATE SKIP LOCKED`

/**
 * Takes the deliveries of `due`.
 *
 * Endpoints are locked against a change until the claim is committed: a delivery put aside for a pause is seen by the
 * statement that ends the pause.
 */
const taking = `
  ends AS MATERIALIZED (
    SELECT id, url, destination, secret, active, deleted_at FROM webhook_endpoints
    WHERE id IN (SELECT endpoint_id FROM due WHERE endpoint_id IS NOT NULL) FOR SHARE
  ),
  taken AS (
    UPDATE deliveries d SET
      status = CASE WHEN w.deleted_at IS NOT NULL THEN 'canceled' WHEN NOT w.active THEN 'scheduled' ELSE 'delivering' END,
      due_at = CASE WHEN w.deleted_at IS NULL AND coalesce(w.active, true)
        THEN now() + $2::double precision * interval '1 millisecond' END,
      held_due_at = CASE WHEN w.deleted_at IS NULL AND NOT w.active THEN d.due_at END,
      url = coalesce(w.url, d.url),
      destination = coalesce(w.destination, d.destination)
    FROM due u LEFT JOIN ends w ON w.id = u.endpoint_id, changes c
    WHERE d.id = u.id AND c.id = d.change_id
    RETURNING d.id, d.status, d.event, d.endpoint_id, d.resource_id, d.url, d.destination, u.destination AS found_at,
      CASE WHEN d.endpoint_id IS NULL THEN d.secret ELSE w.secret END AS secret, d.attempts_made,
      d.curve_from, c.account_id, c.created_at, c.sequence, c.data
  )`

// A row that is locked is looked at again as it has become by then; it is found by its id and by no other index.
const claims = forLanes(
  (lane) => `
  WITH seen AS MATERIALIZED (
    SELECT id, destination, due_at, row_number() OVER (ORDER BY due_at, id) AS place FROM (
      SELECT id, destination, due_at FROM deliveries
      WHERE ${lane} AND due_at <= now() AND (due_at, id) > (coalesce($6::text::timestamptz, now()), $7::uuid)
      ORDER BY due_at, id LIMIT ${LOOK}
    ) s
  ),
  ranked AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY destination ORDER BY place) AS nth FROM seen
    WHERE destination NOT IN (SELECT json_array_elements_text($4::json))
  ),
  chosen AS MATERIALIZED (
    SELECT id, due_at, row_number() OVER (ORDER BY place) AS place FROM ranked
    WHERE nth <= $3::integer
    ORDER BY place LIMIT $8::integer
  ),
  ahead AS MATERIALIZED (
    SELECT d.id, d.endpoint_id, d.destination FROM chosen s JOIN deliveries d ON d.id = s.id
    WHERE coalesce(d.due_at, 'infinity') <= now()
    FOR UPDATE OF d SKIP LOCKED
  ),
  behind AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, b.destination
    FROM json_array_elements_text($5::json) AS b(destination) CROSS JOIN LATERAL (${dueAt(lane)}
    ) t
    LIMIT (SELECT $1::integer - count(*) FROM ahead)
  ),
  due AS (SELECT * FROM ahead UNION ALL SELECT * FROM behind),
  ${taking},
  reached AS (
    SELECT 1 AS choice, due_at, id FROM chosen WHERE place = $8::integer AND due_at < now() - ${LATE}
    UNION ALL SELECT 2, now() - ${LATE}, '${now.id}' FROM chosen WHERE place = $8::integer
    UNION ALL SELECT 3, due_at, id FROM seen WHERE place = ${LOOK}
    UNION ALL SELECT 4, now() - ${LATE}, '${now.id}'
    ORDER BY choice LIMIT 1
  )
  SELECT t.*, r.due_at::text AS reached_due_at, r.id AS reached_id, r.choice = 4 AS is_caught_up,
    (SELECT json_agg(destination) FROM ranked WHERE nth = $3::integer + 1) AS cut, (
      SELECT extract(epoch FROM due_at - now())::double precision * 1000 FROM deliveries
      WHERE ${lane} AND due_at > now() ORDER BY due_at LIMIT 1
    ) AS next_in_ms, ${unhurried}
  FROM reached r LEFT JOIN taken t ON true ORDER BY t.id`
)

const sweeps = forLanes(
  (lane) => `
  WITH RECURSIVE busy AS (
    (
      SELECT destination FROM deliveries
      WHERE ${lane} AND destination > $5 ORDER BY destination LIMIT 1
    )
    UNION ALL
    SELECT (
      SELECT n.destination FROM deliveries n
      WHERE ${lane} AND n.destination > b.destination
      ORDER BY n.destination LIMIT 1
    )
    FROM busy b WHERE b.destination IS NOT NULL
  ),
  due AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, b.destination
    FROM (SELECT destination FROM busy LIMIT ${WALK}) b CROSS JOIN LATERAL (${dueAt(lane)}
    ) t
    WHERE b.destination NOT IN (SELECT json_array_elements_text($4::json))
    LIMIT $1::integer
  ),
  ${taking}
  SELECT t.*, e.walked_to, ${unhurried}
  FROM (
    SELECT CASE WHEN (SELECT count(*) FROM due) < $1::integer
      THEN (SELECT destination FROM busy OFFSET ${WALK - 1} LIMIT 1) END AS walked_to
  ) e LEFT JOIN taken t ON true ORDER BY t.found_at, t.id`
)

const recordMany = `
  WITH input AS (
    SELECT * FROM json_to_recordset($1::json) AS r(delivery_id uuid, attempts_made integer, status text,
      delay_ms double precision, attempt_id uuid, at timestamptz, duration_ms integer, address text,
      status_code integer, error text, response_body text)
  ),
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
    FROM json_to_recordset($2::json) AS i(endpoint_id uuid, consecutive_failures integer, successes bigint,
      failures bigint, last_success_at timestamptz, last_failure_at timestamptz)
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

const toRecord = ({ attempt, delivery, outcome }: Recorded) => ({
  delivery_id: delivery.id,
  attempts_made: delivery.attemptsMade,
  status: outcome.status,
  delay_ms: outcome.status === "scheduled" ? outcome.delayMs : null,
  attempt_id: attempt.id,
  at: formatInstant(attempt.atMs),
  duration_ms: attempt.durationMs,
  address: attempt.address,
  status_code: attempt.statusCode,
  error: attempt.error,
  response_body: attempt.responseBody
})

/** What a batch of outcomes, in the order of the attempts, says of each registered endpoint. */
const healthOf = (all: ReadonlyArray<Recorded>) => {
  const byEndpoint = new Map<string, Health>()
  for (const { attempt, delivery, outcome } of all) {
    if (delivery.endpointId === null) continue
    const health = byEndpoint.get(delivery.endpointId) ?? {
      endpoint_id: delivery.endpointId,
      consecutive_failures: 0,
      successes: 0,
      failures: 0,
      last_success_at: null,
      last_failure_at: null
    }
    byEndpoint.set(delivery.endpointId, health)
    if (outcome.status === "delivered") {
      health.successes += 1
      health.consecutive_failures = 0
      health.last_success_at = formatInstant(attempt.atMs)
    } else {
      health.failures += 1
      health.consecutive_failures += 1
      health.last_failure_at = formatInstant(attempt.atMs)
    }
  }
  return [...byEndpoint.values()]
}

interface Health {
  readonly endpoint_id: string
  consecutive_failures: number
  successes: number
  failures: number
  last_success_at: string | null
  last_failure_at: string | null
}
