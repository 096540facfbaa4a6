/**
 * Deliveries as operators see them, and resending them.
 *
 * Guarantees: a resend restarts the retry curve at once; a delivery that is in flight, canceled or of a deleted endpoint is
 * not resent.
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
import { LimitedTo, type Page, readPage } from "../sql/Paging.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { statement, value } from "../sql/Statement.ts"
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
  /** Why it ended without an answer of the receiver. */
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
    /** Sends a delivery again at once and restarts its retry curve. */
    readonly resend: (id: string) => Effect.Effect<DeliveryRow, NotFoundError | InvalidStateError | Unavailable>
    /** Resends all failed deliveries of an endpoint or a resource and returns how many. */
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
          const again = yield* runToCompletion(sql)(sql.unsafe(...resendOne({ id })))
          const known = yield* find(id)
          if (known === undefined) return yield* new NotFoundError()
          if (again.length === 0) return yield* new InvalidStateError({ status: known.status })
          signal.wake()
          return known
        }),

        resendFailed: Effect.fn("DeliveryStore.resendFailed")(function* (of) {
          let count = 0
          const limit = yield* LimitedTo
          const resend = of.resourceId === undefined ? resendFailedOfEndpoint : resendFailedOfResource
          for (let found = RESENT_PER_STATEMENT; found === RESENT_PER_STATEMENT; count += found) {
            const again = yield* runToCompletion(sql)(
              sql.unsafe(
                ...resend({
                  endpointId: of.endpointId ?? null,
                  resourceId: of.resourceId ?? null,
                  sinceMs: of.sinceMs,
                  lowestId: lowestIdAt(of.sinceMs - CLOCK_SKEW_MS),
                  limit: limit === undefined ? null : `{${limit.join(",")}}`
                })
              )
            )
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

const resendOne = statement({ id: value("uuid") }, ({ id }) => resendWhere(`d.id = ${id}`))

/** Bounded, to stay within the statement timeout. */
const RESENT_PER_STATEMENT = 5000

/** How far the time in an id and the time of its change may differ. */
const CLOCK_SKEW_MS = 24 * 60 * 60 * 1000

// Walks one index in its order; each row is then found by its id: `status || ''` fits no partial index.
const resendFailed = (index: "endpoint_id" | "resource_id") =>
  statement(
    {
      endpointId: value("uuid"),
      resourceId: value("uuid"),
      sinceMs: value("double precision"),
      lowestId: value("uuid"),
      limit: value("text")
    },
    (p) => {
      const owner = index === "endpoint_id" ? p.endpointId : p.resourceId
      return resendWhere(`d.status || '' = 'failed' AND d.id IN (
    SELECT f.id FROM deliveries f
    WHERE f.status = 'failed' AND (f.${index}, f.id) >= (${owner}, ${p.lowestId}) AND f.${index} <= ${owner}
      AND f.created_at >= to_timestamp(${p.sinceMs} / 1000)
      AND (${p.endpointId} IS NULL OR f.endpoint_id = ${p.endpointId})
      AND (${p.resourceId} IS NULL OR f.resource_id = ${p.resourceId})
      AND (${p.limit} IS NULL OR ${p.limit}::uuid[] @> ARRAY[f.account_id])
      AND NOT EXISTS (
        SELECT 1 FROM webhook_endpoints e WHERE e.id = f.endpoint_id AND e.deleted_at IS NOT NULL
      )
    ORDER BY f.${index}, f.id LIMIT ${RESENT_PER_STATEMENT} FOR UPDATE
  )`)
    }
  )

const resendFailedOfEndpoint = resendFailed("endpoint_id")
const resendFailedOfResource = resendFailed("resource_id")
