/**
 * The history of a charge or payout that no other store lists: its changes, orders to the acquirer, the acquirer's
 * notifications, and the attempts of its deliveries.
 *
 * Guarantee: each read is a range of an index, and returns a bounded number of rows, newest first.
 *
 * Rules: OPR-141, OPR-142.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { AcquirerNotification } from "../providers/AcquirerNotification.ts"
import type { AttemptRow } from "../webhooks/deliveries/DeliveryStore.ts"
import { firstAttemptOf } from "../webhooks/deliveries/FirstAttempt.ts"
import { type List, readPage } from "../database/statements/Paging.ts"
import { DAY_MS, timeOf } from "../database/Period.ts"
import { type AccessPath, is } from "../database/statements/Seek.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export interface ChangeRow {
  readonly kind: string
  readonly actions: ReadonlyArray<string>
  readonly status: string
  readonly created_at: Date
}

export interface OrderRow {
  readonly id: string
  readonly kind: "emission" | "cancel" | "refund" | "payout"
  readonly state: "ordered" | "done" | "refused" | "failed"
  readonly amount: bigint
  readonly attempts: number
  readonly connection_id: string | null
  readonly created_at: Date
}

export interface NotificationRow {
  readonly id: string
  readonly report: AcquirerNotification
  readonly outcome: string
  readonly connection_id: string | null
  readonly received_at: Date
}

export class TimelineStore extends Context.Service<
  TimelineStore,
  {
    /** Up to `limit + 1` changes of a resource that are kept. */
    readonly changesOf: (resourceId: string, limit: number) => Rows<ChangeRow>
    /** Up to `limit + 1` orders about a charge, and its emission while the acquirer has not answered. */
    readonly ordersOfCharge: (chargeId: string, limit: number) => Rows<OrderRow>
    /** How often a payout was submitted to the acquirer; none before the first time. */
    readonly submissionOf: (payoutId: string) => Rows<OrderRow>
    /** Up to `limit + 1` notifications that name one of these: a txid, an end-to-end id, or the id of a resource or order. */
    readonly notificationsOf: (subjects: ReadonlyArray<string>, limit: number) => Rows<NotificationRow>
    /** The newest attempts of each delivery, oldest first, by delivery. */
    readonly attemptsOf: (
      deliveryIds: ReadonlyArray<string>,
      limit: number
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<AttemptRow>>, Unavailable>
  }
>()("@pix-payments/server/TimelineStore") {
  static readonly layer = Layer.effect(
    TimelineStore,
    Effect.map(SqlClient, (sql) => {
      const newest = <Row extends object>(list: Omit<List, "paths">, path: AccessPath, limit: number) =>
        readPage<Row>({ ...list, paths: [path] }, { limit, startingAfter: undefined }).pipe(
          Effect.provideService(SqlClient, sql),
          Effect.catchTag("UnknownCursor", Effect.die),
          orUnavailable
        )

      return TimelineStore.of({
        changesOf: (resourceId, limit) =>
          orUnavailable(
            sql.unsafe<ChangeRow>(
              ...findChanges({ resourceId, lowestId: lowestIdAt(timeOf(resourceId) - DAY_MS), count: limit + 1 })
            )
          ),
        ordersOfCharge: (chargeId, limit) =>
          Effect.map(
            Effect.all([
              newest<OrderRow>(
                {
                  table: "acquirer_orders",
                  columns: "id, kind, state, amount, attempts, connection_id, created_at"
                },
                { columns: [is("charge_id", "uuid", chargeId)], predicate: "charge_id IS NOT NULL" },
                limit
              ),
              orUnavailable(sql.unsafe<OrderRow>(...findEmission({ id: chargeId })))
            ]),
            ([orders, emission]) => [...orders, ...emission]
          ),
        submissionOf: (payoutId) => orUnavailable(sql.unsafe<OrderRow>(...findSubmission({ id: payoutId }))),
        notificationsOf: (subjects, limit) =>
          newest<NotificationRow>(
            { table: "notifications", columns: "id, report, outcome, connection_id, received_at" },
            { selective: (bind) => `subject = ANY (${bind(textArray(subjects))}::text[])` },
            limit
          ),
        attemptsOf: (deliveryIds, limit) =>
          Effect.map(
            orUnavailable(sql.unsafe<AttemptRow & { delivery_id: string }>(...findAttempts({ deliveryIds, limit }))),
            (rows) => Map.groupBy(rows.toReversed(), ({ delivery_id }) => delivery_id)
          )
      })
    })
  )
}

/** A `text[]` as PostgreSQL writes it. */
const textArray = (texts: ReadonlyArray<string>): string => `{${texts.map((text) => JSON.stringify(text)).join(",")}}`

type Rows<A> = Effect.Effect<ReadonlyArray<A>, Unavailable>

// A range, as in `database/statements/Seek.ts`: only the index has its order. `lowestId`: partitions from before the resource are not read.
const findChanges = statement(
  { resourceId: value("uuid"), lowestId: value("uuid"), count: value("integer") },
  ({ count, lowestId, resourceId }) => `
  SELECT kind, actions, status, created_at FROM changes
  WHERE resource_id >= ${resourceId} AND resource_id <= ${resourceId} AND id >= ${lowestId}
  ORDER BY resource_id DESC, sequence DESC LIMIT ${count}`
)

// A charge that the acquirer did not answer in time has a recovery with its id, which ends with the answer.
const findEmission = statement(
  { id: value("uuid") },
  ({ id }) => `
  SELECT c.id, 'emission' AS kind, 'ordered' AS state, 0::bigint AS amount, n.attempts + 1 AS attempts,
    c.connection_id, c.created_at
  FROM charge_recoveries n JOIN charges c ON c.id = n.id
  WHERE n.id = ${id} AND n.account_id IS NOT NULL`
)

const findSubmission = statement(
  { id: value("uuid") },
  ({ id }) => `
  SELECT id, 'payout' AS kind, amount, attempts, connection_id, created_at,
    CASE WHEN status = 'processing' THEN 'ordered' WHEN status = 'completed' THEN 'done'
      WHEN processed_at IS NULL THEN 'refused' ELSE 'failed' END AS state
  FROM payouts WHERE id = ${id} AND attempts > 0`
)

const findAttempts = statement(
  { deliveryIds: uuids, limit: value("integer") },
  ({ deliveryIds, limit }) => `
  SELECT a.* FROM unnest(${deliveryIds}) AS d (id) CROSS JOIN LATERAL (
    (
      SELECT id, delivery_id, at, duration_ms, address, status_code, error, response_body FROM delivery_attempts
      WHERE delivery_id >= d.id AND delivery_id <= d.id
      ORDER BY delivery_id DESC, id DESC LIMIT ${limit}
    )
    UNION ALL ${firstAttemptOf("d.id")}
    ORDER BY id DESC LIMIT ${limit}
  ) a`
)
