/**
 * Test deliveries: signed and sent as every delivery, of an event that says that it is a test.
 *
 * Guarantees:
 * - The change of a test names no event, so that neither the event stream nor a fan-out knows of it.
 * - An endpoint has one test in flight at a time. A test makes one attempt, and so does a resend of it.
 * - A test is refused where its delivery would be paused.
 *
 * Rules: OPR-153 to OPR-155.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import { Ids } from "../../base/Ids.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type DeliveryRow, DeliveryStore } from "../deliveries/DeliveryStore.ts"
import { isActiveOwner } from "../deliveries/OwnerStatus.ts"
import { ATTEMPTS_BEFORE_TEST, testDataOf, testEventOf } from "../deliveries/TestEvent.ts"

export class TestDeliveries extends Context.Service<
  TestDeliveries,
  {
    /** Sends a test to an endpoint at once. */
    readonly send: (endpointId: string) => Effect.Effect<DeliveryRow, NotFoundError | InvalidStateError | Unavailable>
  }
>()("@pix-payments/server/TestDeliveries") {
  static readonly layer = Layer.effect(
    TestDeliveries,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const signal = yield* DeliverySignal
      const deliveries = yield* DeliveryStore

      return TestDeliveries.of({
        send: Effect.fn("TestDeliveries.send")(function* (endpointId) {
          const insert = Effect.gen(function* () {
            // A separate statement, because one that waits for a lock reads other tables as they were before.
            yield* sql.unsafe(...lockEndpoint({ endpointId }))
            const [endpoint] = yield* sql.unsafe<Endpoint>(...findEndpoint({ endpointId }))
            if (endpoint === undefined) return yield* new NotFoundError()
            if (!endpoint.is_active) return yield* new InvalidStateError({ status: "paused" })
            if (endpoint.has_test) return yield* new InvalidStateError({ status: "delivering" })
            const event = testEventOf(endpoint.events)
            if (event === undefined) return yield* new InvalidStateError({ status: "unsubscribed" })
            const change = ids.next()
            const delivery = ids.next()
            const sequence = endpoint.tests + 1
            yield* sql.unsafe(
              ...insertTest({
                endpointId,
                changeId: change.id,
                deliveryId: delivery.id,
                event,
                sequence,
                data: JSON.stringify(testDataOf({ endpointId, event, atMs: change.epochMs, sequence })),
                atMs: change.epochMs
              })
            )
            return delivery.id
          })
          const id = yield* runToCompletion(sql)(sql.withTransaction(insert))
          signal.wake()
          return (yield* deliveries.find(id)) ?? (yield* new NotFoundError())
        })
      })
    })
  )
}

interface Endpoint {
  readonly events: ReadonlyArray<string>
  readonly is_active: boolean
  /** The sequence of its last test. */
  readonly tests: number
  readonly has_test: boolean
}

const lockEndpoint = statement(
  { endpointId: value("uuid") },
  ({ endpointId }) => `SELECT id FROM webhook_endpoints WHERE id = ${endpointId} FOR NO KEY UPDATE`
)

// The deliveries of a resource with the endpoint's id are its tests.
const findEndpoint = statement(
  { endpointId: value("uuid") },
  ({ endpointId }) => `
  SELECT w.events, w.active AND w.disabled_at IS NULL AND ${isActiveOwner("w.account_id", "w.application_id")} AS is_active,
    coalesce((SELECT max(sequence) FROM changes WHERE resource_id = ${endpointId}), 0) AS tests,
    coalesce((
      SELECT status IN ('scheduled', 'delivering') FROM deliveries WHERE resource_id = ${endpointId} ORDER BY id DESC LIMIT 1
    ), false) AS has_test
  FROM webhook_endpoints w WHERE w.id = ${endpointId} AND w.deleted_at IS NULL`
)

const insertTest = statement(
  {
    endpointId: value("uuid"),
    changeId: value("uuid"),
    deliveryId: value("uuid"),
    event: value("text"),
    sequence: value("integer"),
    data: value("text"),
    atMs: value("double precision")
  },
  (p) => `
  WITH endpoint AS (SELECT * FROM webhook_endpoints WHERE id = ${p.endpointId}),
  change AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT ${p.changeId}, id, account_id, application_id, 'webhook.test', '{}', 'test', ${p.sequence}, ${p.data},
      to_timestamp(${p.atMs} / 1000)
    FROM endpoint
  )
  INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination,
    destination_hash, status, due_at, curve_from, created_at)
  SELECT ${p.deliveryId}, ${p.changeId}, ${p.event}, id, account_id, application_id, id, url, destination, destination_hash,
    'scheduled', now(), -${ATTEMPTS_BEFORE_TEST}, to_timestamp(${p.atMs} / 1000)
  FROM endpoint`
)
