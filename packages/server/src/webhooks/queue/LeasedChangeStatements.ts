/** The statements of `LeasedChanges`. */
import { float8, instant, integer, nullable, text, uuid } from "../../database/statements/Column.ts"
import { rows, statement } from "../../database/statements/Statement.ts"
import { type ClaimedDelivery, type CompletedAttempt, originOf } from "../deliveries/Delivery.ts"
import {
  addOutcomes,
  attemptColumns,
  attemptOf,
  insertAttempts,
  outcomeParts,
  outcomesOf
} from "../deliveries/DeliveryOutcomes.ts"

/** A delivery that was sent before it was stored. */
export interface SentDelivery {
  readonly delivery: ClaimedDelivery
  /** Undefined if its attempt has not ended. */
  readonly completed: CompletedAttempt | undefined
  /** When it is due again, or its lease expires while its attempt goes on; null if it has ended. */
  readonly dueInMs: number | null
}

export interface SentChange {
  readonly accountId: string
  readonly changeId: string
  readonly deliveries: ReadonlyArray<SentDelivery>
}

const changeRows = rows({ accountId: uuid(), changeId: uuid() })

/** A column of a new delivery has the attempt's value where the attempt fits into the row. */
const fitting = (column: string): string => `CASE WHEN fits_delivery THEN ${column} END`

const storeParts = {
  deliveries: rows({
    delivery_id: uuid(),
    change_id: uuid(),
    event: text(),
    resource_id: uuid(),
    account_id: uuid(),
    application_id: nullable(uuid()),
    endpoint_id: nullable(uuid()),
    url: text(),
    origin: text(),
    destination_hash: uuid(),
    secret: nullable(text()),
    created_at: instant(),
    status: text(),
    due_in_ms: nullable(float8()),
    attempts_made: integer(),
    ...attemptColumns
  }),
  changes: changeRows,
  ...outcomeParts
}

const storedBy = (onConflict: string) =>
  statement(
    storeParts,
    (p) => `
  WITH input AS MATERIALIZED (SELECT * FROM ${p.deliveries} i),
  inserted AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination,
      destination_hash, secret, created_at, status, due_at, attempts_made, first_attempt_at, first_duration_ms,
      first_status_code, first_address, first_response_body)
    SELECT delivery_id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, origin,
      destination_hash, secret, created_at, status, now() + due_in_ms * interval '1 millisecond', attempts_made,
      ${["at", "duration_ms", "status_code", "address", "response_body"].map(fitting).join(", ")}
    FROM input
    ${onConflict}
    RETURNING id
  ),
  fanned_out AS (
    DELETE FROM outbox WHERE (account_id, change_id) IN (SELECT * FROM ${p.changes} AS c)
  ),
  ${addOutcomes(p)}
  ${insertAttempts("delivery_id NOT IN (SELECT id FROM inserted)")}`
  )

// A check for conflicts costs 48 bytes of WAL for each row.
const storeNew = storedBy("")
const storeMissing = storedBy("ON CONFLICT (id) DO NOTHING")

/**
 * Stores the deliveries of changes, with their attempts, and deletes their outbox rows. Those that are stored stay as they are
 * with `mayBeStored`; without it they fail the statement.
 */
export const storeDeliveries = (changes: ReadonlyArray<SentChange>, mayBeStored: boolean) => {
  const deliveries = changes.flatMap((change) => change.deliveries)
  const store = mayBeStored ? storeMissing : storeNew
  return store({
    deliveries: deliveries.map(({ completed, delivery, dueInMs }) =>
      completed === undefined
        ? {
            ...deliveryOf(delivery),
            status: dueInMs === 0 ? "scheduled" : "delivering",
            due_in_ms: dueInMs,
            attempts_made: 0,
            fits_delivery: false
          }
        : {
            ...deliveryOf(delivery),
            status: completed.outcome.status,
            due_in_ms: dueInMs,
            attempts_made: 1,
            ...attemptOf(completed)
          }
    ),
    changes,
    ...outcomesOf(deliveries.flatMap(({ completed }) => completed ?? []))
  })
}

const deliveryOf = (delivery: ClaimedDelivery) => ({
  delivery_id: delivery.id,
  change_id: delivery.unstored!.changeId,
  event: delivery.event,
  resource_id: delivery.resourceId,
  account_id: delivery.accountId,
  application_id: delivery.unstored!.applicationId,
  endpoint_id: delivery.endpointId,
  url: delivery.url,
  origin: delivery.unstored!.origin,
  destination_hash: originOf(delivery.destination),
  // That of an endpoint is read when the delivery is claimed.
  secret: delivery.endpointId === null ? delivery.sealedSecret : null,
  created_at: delivery.unstored!.createdAtMs
})

/** Ends leases, so that the fan-out inserts the deliveries of these changes. */
export const endLeases = statement(
  { changes: changeRows },
  ({ changes }) => `
  UPDATE outbox SET leased_until = '-infinity' WHERE (account_id, change_id) IN (SELECT * FROM ${changes} AS c)`
)
