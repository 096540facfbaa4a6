/**
 * Deliveries as operators see them, and sending them again.
 *
 * Guarantees: a resend begins the curve again, at once; what is in flight, canceled or of a deleted endpoint is not sent
 * again.
 *
 * Source: operator-api.md "Deliveries"; decisions.md "Finer points" (resends).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../Errors.ts"
import { Nudge } from "../events/Nudge.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

export interface DeliveryRow {
  readonly id: string
  readonly event: string
  readonly resource_id: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly status: "scheduled" | "delivering" | "delivered" | "failed" | "canceled"
  readonly attempts_made: number
  readonly due_at: Date | null
  /** Why it ended without the receiver's word. */
  readonly reason: string | null
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
    /** Sends a delivery again, at once; the curve begins again. */
    readonly resend: (id: string) => Effect.Effect<DeliveryRow, NotFoundError | InvalidStateError | Unavailable>
    /** Sends all failed deliveries of an endpoint or a resource again; how many those were. */
    readonly resendFailed: (of: {
      readonly endpointId: string | undefined
      readonly resourceId: string | undefined
      readonly sinceMs: number
    }) => Effect.Effect<number, Unavailable>
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
      const nudge = yield* Nudge

      const find = (id: string) =>
        sql.unsafe<DeliveryRow>(`SELECT ${columns} FROM ${shown} WHERE id = $1::uuid`, [id]).pipe(
          Effect.map(([row]) => row),
          orUnavailable
        )

      return DeliveryStore.of({
        resend: Effect.fn("DeliveryStore.resend")(function* (id) {
          const again = yield* orUnavailable(sql.unsafe(resendWhere("d.id = $1::uuid"), [id]))
          const known = yield* find(id)
          if (known === undefined) return yield* new NotFoundError()
          if (again.length === 0) return yield* new InvalidStateError({ status: known.status })
          nudge.wake()
          return known
        }),

        resendFailed: Effect.fn("DeliveryStore.resendFailed")(function* (of) {
          let count = 0
          for (let found = RESENT_AT_ONCE; found === RESENT_AT_ONCE; count += found) {
            const parameters = [of.endpointId ?? null, of.resourceId ?? null, of.sinceMs]
            const again = yield* orUnavailable(sql.unsafe(resendWhere(failedOf), parameters))
            found = again.length
            if (found > 0) nudge.wake()
          }
          return count
        }),

        find,
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
            table: shown,
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

const columns = "id, event, resource_id, endpoint_id, url, status, attempts_made, due_at, reason, created_at"

/** What is to be sent follows its endpoint: where that is now, and canceled when that is deleted. */
const shown = `(
  SELECT d.id, d.event, d.resource_id, d.endpoint_id, d.attempts_made, d.created_at,
    CASE WHEN d.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN 'endpoint deleted' ELSE d.reason END AS reason,
    CASE WHEN d.status = 'scheduled' THEN coalesce(w.url, d.url) ELSE d.url END AS url,
    CASE WHEN d.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN 'canceled' ELSE d.status END AS status,
    CASE WHEN d.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN NULL ELSE d.due_at END AS due_at
  FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
) AS deliveries`

const resendWhere = (condition: string): string => `
  UPDATE deliveries d SET status = 'scheduled', due_at = now(), held_due_at = NULL, reason = NULL,
    curve_from = d.attempts_made
  WHERE ${condition} AND d.status IN ('scheduled', 'delivered', 'failed') AND NOT EXISTS (
    SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL
  )
  RETURNING d.id`

/** A statement has its time, whatever has failed. */
const RESENT_AT_ONCE = 5000

const failedOf = `d.status = 'failed' AND d.id IN (
    SELECT f.id FROM deliveries f
    WHERE f.status = 'failed' AND f.created_at >= to_timestamp($3::double precision / 1000)
      AND ($1::uuid IS NULL OR f.endpoint_id = $1::uuid) AND ($2::uuid IS NULL OR f.resource_id = $2::uuid)
      AND NOT EXISTS (
        SELECT 1 FROM webhook_endpoints e WHERE e.id = f.endpoint_id AND e.deleted_at IS NOT NULL
      )
    ORDER BY f.id LIMIT ${RESENT_AT_ONCE} FOR UPDATE
  )`
