/** Deliveries in any state, and attempts that a test records itself. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { Metrics } from "../../src/base/observability/Metrics.ts"
import { type Attempt, type ClaimedDelivery, destinationKey } from "../../src/webhooks/deliveries/Delivery.ts"
import { DeliveryQueue } from "../../src/webhooks/queue/DeliveryQueue.ts"

export interface StoredDelivery {
  readonly id: string
  readonly status: string
  readonly attempts_made: number
  readonly due_at: Date | null
}

export const NOWHERE = "http://127.0.0.1:9"

/** Inserts deliveries; without a status they are due and have no lease, as what the fan-out left. */
export const inserted = (of: {
  readonly accountId: string
  readonly endpointId?: string
  readonly url: string
  readonly count: number
  readonly status?: string
  readonly attemptsMade?: number
  readonly dueInHours?: number
}) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<StoredDelivery>`
      WITH made AS (
        INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
        SELECT uuidv7(), uuidv7(), ${of.accountId}::uuid, 'charge.pix', '{paid}', 'paid', 3, '{"status":"paid"}', now()
        FROM generate_series(1, ${of.count}::integer) RETURNING *
      )
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination,
        destination_hash, status, attempts_made, due_at, created_at)
      SELECT uuidv7(), id, 'charge.pix.paid', resource_id, account_id, ${of.endpointId ?? null}::uuid, ${of.url}, ${of.url},
        text_digest(${of.url}), ${of.status ?? "scheduled"}, ${of.attemptsMade ?? 0}::integer,
        now() + ${of.dueInHours ?? 0}::integer * interval '1 hour', created_at
      FROM made RETURNING id, status, attempts_made, due_at`
  )

export const storedDelivery = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<StoredDelivery>`SELECT id, status, attempts_made, due_at FROM deliveries WHERE id = ${id}::uuid`
  )

/** A queue beside the service's. */
export const queue = Effect.map(Layer.build(DeliveryQueue.layer.pipe(Layer.provide(Metrics.layer))), (built) =>
  Context.get(built, DeliveryQueue)
)

/** The lease of an attempt, as the process has it that makes this attempt. */
export const leaseOf = (id: string, accountId: string, attemptsMade: number): ClaimedDelivery => ({
  id,
  accountId,
  attemptsMade,
  event: "charge.pix.paid",
  endpointId: null,
  resourceId: id,
  url: NOWHERE,
  destination: destinationKey(accountId, id),
  previousDestination: destinationKey(accountId, id),
  sealedSecret: null,
  curveFrom: 0,
  trace: null,
  unstored: undefined,
  body: "{}"
})

/** An attempt of now that was answered 200, with these fields. */
export const attemptNow = (fields: Partial<Attempt> = {}) =>
  Effect.map(Clock.currentTimeMillis, (atMs): Attempt => ({
    id: randomUUID(),
    atMs,
    durationMs: 1,
    address: null,
    statusCode: 200,
    error: null,
    responseBody: null,
    ...fields
  }))
