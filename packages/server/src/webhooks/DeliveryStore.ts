/**
 * Deliveries as operators see them, and sending them again.
 *
 * Guarantees: a resend begins the curve again, at once; what is in flight, canceled or of a deleted endpoint is not sent
 * again.
 *
 * Rules: DLV-8, OPR-27.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../Errors.ts"
import { DeliverySignal } from "../events/DeliverySignal.ts"
import { type Page, readPage } from "../sql/Paging.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import { type DeliveryFilters, deliveryList, shownColumns, shownJoin } from "./DeliveryLists.ts"

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
      const signal = yield* DeliverySignal

      const find = (id: string) =>
        sql.unsafe<DeliveryRow>(findOne, [id]).pipe(
          Effect.map(([row]) => row),
          orUnavailable
        )

      return DeliveryStore.of({
        resend: Effect.fn("DeliveryStore.resend")(function* (id) {
          const again = yield* runToCompletion(sql)(sql.unsafe(resendWhere("d.id = $1::uuid"), [id]))
          const known = yield* find(id)
          if (known === undefined) return yield* new NotFoundError()
          if (again.length === 0) return yield* new InvalidStateError({ status: known.status })
          signal.wake()
          return known
        }),

        resendFailed: Effect.fn("DeliveryStore.resendFailed")(function* (of) {
          let count = 0
          for (let found = RESENT_AT_ONCE; found === RESENT_AT_ONCE; count += found) {
            const parameters = [
              of.endpointId ?? null,
              of.resourceId ?? null,
              of.sinceMs,
              lowestIdAt(of.sinceMs - CLOCKS_MS)
            ]
            const failed = of.resourceId === undefined ? failedOfEndpoint : failedOfResource
            const again = yield* runToCompletion(sql)(sql.unsafe(resendWhere(failed), parameters))
            found = again.length
            if (found > 0) signal.wake()
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
          readPage<DeliveryRow>(deliveryList(filters), page).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}

const findOne = `SELECT ${shownColumns} FROM deliveries ${shownJoin} WHERE deliveries.id = $1::uuid`

const resendWhere = (condition: string): string => `
  UPDATE deliveries d SET status = 'scheduled', due_at = now(), held_due_at = NULL, reason = NULL,
    curve_from = d.attempts_made
  WHERE ${condition} AND d.status IN ('scheduled', 'delivered', 'failed') AND NOT EXISTS (
    SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL
  )
  RETURNING d.id`

/** A statement has its time, whatever has failed. */
const RESENT_AT_ONCE = 5000

/** How far the time in an id and the time of its change may lie apart. */
const CLOCKS_MS = 24 * 60 * 60 * 1000

// In the order of one index each; what is changed is then found by its id and by nothing else.
const failedAlong = (index: string, owner: string): string => `d.status || '' = 'failed' AND d.id IN (
    SELECT f.id FROM deliveries f
    WHERE f.status = 'failed' AND (f.${index}, f.id) >= (${owner}, $4::uuid) AND f.${index} <= ${owner}
      AND f.created_at >= to_timestamp($3::double precision / 1000)
      AND ($1::uuid IS NULL OR f.endpoint_id = $1::uuid) AND ($2::uuid IS NULL OR f.resource_id = $2::uuid)
      AND NOT EXISTS (
        SELECT 1 FROM webhook_endpoints e WHERE e.id = f.endpoint_id AND e.deleted_at IS NOT NULL
      )
    ORDER BY f.${index}, f.id LIMIT ${RESENT_AT_ONCE} FOR UPDATE
  )`
const failedOfEndpoint = failedAlong("endpoint_id", "$1::uuid")
const failedOfResource = failedAlong("resource_id", "$2::uuid")
