/**
 * Deliveries in PostgreSQL: claimed in batches, recorded in batches.
 *
 * Guarantees: a claim is a lease: while a delivery is under way `due_at` is the lease's end, so that what a
 * dead process held becomes due again by itself; an outcome is recorded only by the holder of the attempt it
 * belongs to; attempts and the next due time are in one commit. Claiming reads one index over what is due,
 * whose cost does not grow with what waits.
 */
import { deliveryBody } from "@pix-payments/domain/Event"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { UnknownCursor } from "../Errors.ts"
import * as Batching from "../sql/Batching.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

/** A delivery that this process holds the lease of. */
export interface Claimed {
  readonly id: string
  readonly event: string
  readonly url: string
  /** The origin of the URL, by which deliveries that share a receiver are counted. */
  readonly destination: string
  readonly sealedSecret: string | null
  readonly attemptsMade: number
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

export interface DeliveryRow {
  readonly id: string
  readonly event: string
  readonly resource_id: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly status: "scheduled" | "delivering" | "delivered" | "failed" | "canceled"
  readonly attempts_made: number
  readonly due_at: Date | null
  readonly created_at: Date
}

export interface AttemptRow {
  readonly at: Date
  readonly duration_ms: number
  readonly address: string | null
  readonly status_code: number | null
  readonly error: string | null
  readonly response_body: string | null
}

export interface DeliveryFilters {
  readonly status?: string | undefined
  readonly resourceId?: string | undefined
  readonly endpointId?: string | undefined
  readonly event?: string | undefined
}

export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /** Claims what is due, `perDestination` at the most for each destination and none for those in `except`. */
    readonly claim: (options: {
      readonly limit: number
      readonly leaseMs: number
      readonly perDestination: number
      readonly except: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyArray<Claimed>, Unavailable>
    readonly record: (recorded: Recorded) => Effect.Effect<void, Unavailable>
    /** Gives leases back, so that another process may take the deliveries at once. */
    readonly release: (ids: ReadonlyArray<string>) => Effect.Effect<void, Unavailable>
    readonly find: (id: string) => Effect.Effect<DeliveryRow | undefined, Unavailable>
    readonly attemptsOf: (id: string) => Effect.Effect<ReadonlyArray<AttemptRow>, Unavailable>
    readonly list: (
      filters: DeliveryFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<DeliveryRow>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/DeliveryStore") {
  static readonly layer = Layer.effect(
    DeliveryStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const record = yield* Batching.make<Recorded, void>({
        maxBatch: 200,
        run: (all) => Effect.as(sql.unsafe(recordMany, [JSON.stringify(all.map(toRecord))]), all.map(() => undefined))
      })

      return DeliveryStore.of({
        claim: ({ except, leaseMs, limit, perDestination }) =>
          sql.unsafe<ClaimedRow>(claimMany, [limit, leaseMs, JSON.stringify(except), perDestination]).pipe(
            Effect.map((rows) =>
              rows.map((row) => ({
                id: row.id,
                event: row.event,
                url: row.url,
                destination: row.destination,
                sealedSecret: row.secret,
                attemptsMade: row.attempts_made,
                body: deliveryBody(row.id, row.body)
              }))
            ),
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
            .pipe(Effect.asVoid, orUnavailable),
        find: (id) =>
          sql.unsafe<DeliveryRow>(`SELECT ${columns} FROM deliveries WHERE id = $1::uuid`, [id]).pipe(
            Effect.map(([row]) => row),
            orUnavailable
          ),
        attemptsOf: (id) =>
          orUnavailable(
            sql.unsafe<AttemptRow>(
              `SELECT at, duration_ms, address, status_code, error, response_body FROM delivery_attempts
               WHERE delivery_id = $1::uuid ORDER BY id`,
              [id]
            )
          ),
        list: (filters, page) =>
          readPage<DeliveryRow>({
            table: "deliveries",
            columns,
            scope: [],
            filters: [
              ...(filters.status === undefined ? [] : [sql`status = ${filters.status}`]),
              ...(filters.resourceId === undefined ? [] : [sql`resource_id = ${filters.resourceId}::uuid`]),
              ...(filters.endpointId === undefined ? [] : [sql`endpoint_id = ${filters.endpointId}::uuid`]),
              ...(filters.event === undefined ? [] : [sql`event = ${filters.event}`])
            ],
            page
          }).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}

interface ClaimedRow {
  readonly id: string
  readonly event: string
  readonly url: string
  readonly destination: string
  readonly secret: string | null
  readonly attempts_made: number
  readonly body: string
}

const columns = "id, event, resource_id, endpoint_id, url, status, attempts_made, due_at, created_at"

const destination = "coalesce(substring(url from '^[^:]*:[/\\\\]*[^/\\\\?#]*'), '')"

const claimMany = `
  WITH due AS (
    SELECT id, due_at, ${destination} AS destination FROM deliveries
    WHERE status IN ('scheduled', 'delivering') AND due_at <= now()
      AND ${destination} NOT IN (SELECT json_array_elements_text($3::json))
    ORDER BY due_at LIMIT $1::integer FOR UPDATE SKIP LOCKED
  ),
  chosen AS (
    SELECT id, destination, row_number() OVER (PARTITION BY destination ORDER BY due_at) AS place FROM due
  )
  UPDATE deliveries d SET status = 'delivering',
    due_at = now() + $2::double precision * interval '1 millisecond'
  FROM chosen c, events e
  WHERE d.id = c.id AND c.place <= $4::integer AND e.id = d.event_id
  RETURNING d.id, d.event, d.url, c.destination, d.secret, d.attempts_made, e.body`

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
