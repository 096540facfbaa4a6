/**
 * Deliveries that are due: claimed in batches, recorded in batches.
 *
 * Guarantees:
 * - a claim is a lease: while a delivery is under way `due_at` is the lease's end, so that what a dead process held
 *   becomes due again by itself;
 * - an outcome is recorded only by the holder of the attempt it belongs to; attempt, health and the next due time are
 *   one commit;
 * - deliveries are claimed destination by destination, in turn, and first attempts apart from retries: neither a
 *   backlog at one receiver nor the retries of others stand before them;
 * - what is due to a paused endpoint is put aside at its claim, what is due to a deleted one is canceled; URL and
 *   secret of an endpoint are those at the claim.
 *
 * Claiming steps through an index from destination to destination: its cost grows with the destinations that something
 * waits for, not with what waits.
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
  readonly endpointId: string | null
  readonly url: string
  /** The origin of the URL, by which deliveries that share a receiver are counted. */
  readonly destination: string
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

export interface Claim {
  readonly limit: number
  readonly leaseMs: number
  /** Most that are claimed for one destination. */
  readonly perDestination: number
  /** Destinations that have as much under way as they may. */
  readonly except: ReadonlyArray<string>
  /** The destination behind which it begins. */
  readonly after: string
}

/** What a claim found due, in the order of the destinations. */
export interface Due {
  readonly claimed: ReadonlyArray<Claimed>
  /** How many there were, with those that were put aside for a pause or canceled. */
  readonly count: number
  /** The destination of the last of them. */
  readonly last: string | undefined
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    readonly claimFirst: (claim: Claim) => Effect.Effect<Due, Unavailable>
    readonly claimRepeated: (claim: Claim) => Effect.Effect<Due, Unavailable>
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

      const claim = (statement: string) => (claim: Claim) =>
        sql
          .unsafe<ClaimedRow>(statement, [
            claim.limit,
            claim.leaseMs,
            claim.perDestination,
            JSON.stringify(claim.except),
            claim.after
          ])
          .pipe(
            Effect.map((rows) => ({
              claimed: rows.filter(({ status }) => status === "delivering").map(toClaimed),
              count: rows.length,
              last: rows.at(-1)?.destination
            })),
            orUnavailable
          )

      return DeliveryQueue.of({
        claimFirst: claim(claimIn("attempts_made = 0")),
        claimRepeated: claim(claimIn("attempts_made > 0")),
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

interface ClaimedRow {
  readonly id: string
  readonly status: DeliveryRow["status"]
  readonly event: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly destination: string
  readonly secret: string | null
  readonly attempts_made: number
  readonly curve_from: number
  readonly created_at: Date
  readonly sequence: number
  /** The resource, as the JSON text that was stored. */
  readonly data: string
}

const toClaimed = (row: ClaimedRow): Claimed => ({
  id: row.id,
  event: row.event,
  endpointId: row.endpoint_id,
  url: row.url,
  destination: row.destination,
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

/** What its index holds: what is due some time, or under way, before or after the first attempt. */
const claimIn = (attempts: string): string =>
  claimWhere(`status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND ${attempts}`)

/**
 * Steps from one destination that something waits for to the next, and takes what is due at each.
 *
 * Endpoints are locked against a change until the claim is committed: a delivery put aside for a pause is seen by the
 * statement that ends the pause.
 */
const claimWhere = (lane: string): string => `
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
    FROM busy b CROSS JOIN LATERAL (
      SELECT id, endpoint_id FROM deliveries
      WHERE ${lane} AND destination = b.destination AND due_at <= now()
      ORDER BY due_at LIMIT $3::integer FOR UPDATE SKIP LOCKED
    ) t
    WHERE b.destination NOT IN (SELECT json_array_elements_text($4::json))
    LIMIT $1::integer
  ),
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
    RETURNING d.id, d.status, d.event, d.endpoint_id, d.url, u.destination,
      CASE WHEN d.endpoint_id IS NULL THEN d.secret ELSE w.secret END AS secret, d.attempts_made,
      d.curve_from, c.created_at, c.sequence, c.data
  )
  SELECT * FROM taken ORDER BY destination, id`

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
