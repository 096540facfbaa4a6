/**
 * The list of deliveries, and the index that each narrowing of it walks (migration `list_indexes`, `sql/Seek.ts`).
 *
 * What is to be sent follows its endpoint, so that no change of an endpoint touches what waits: a scheduled delivery has
 * the address that its endpoint has now, and is canceled when that is deleted.
 */
import type { List } from "../sql/Paging.ts"
import {
  type Column,
  type Condition,
  everyValue,
  equalsUnindexed,
  is,
  oneOf,
  type IndexPath,
  type AccessPath
} from "../sql/Seek.ts"

export interface DeliveryFilters {
  readonly status?: string | undefined
  readonly resourceId?: string | undefined
  readonly endpointId?: string | undefined
  readonly event?: string | undefined
}

/** Deliveries of all accounts, narrowed by what is given. */
export const deliveryList = (filters: DeliveryFilters): List => ({
  table: "deliveries",
  columns: shownColumns,
  join: shownJoin,
  ...indexPaths(filters)
})

/** A delivery as it is shown: of `deliveries`, joined so. */
export const shownJoin = "LEFT JOIN webhook_endpoints w ON w.id = deliveries.endpoint_id"
export const shownColumns = `deliveries.id, deliveries.event, deliveries.resource_id, deliveries.endpoint_id,
  CASE WHEN deliveries.status = 'scheduled' THEN coalesce(w.url, deliveries.url) ELSE deliveries.url END AS url,
  CASE WHEN deliveries.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN 'canceled' ELSE deliveries.status END AS status,
  deliveries.attempts_made,
  CASE WHEN deliveries.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN NULL ELSE deliveries.due_at END AS due_at,
  CASE WHEN deliveries.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN 'endpoint deleted' ELSE deliveries.reason END AS reason,
  deliveries.created_at`

const indexPaths = (filters: DeliveryFilters): Partial<List> => {
  const { endpointId, event, resourceId, status } = filters
  const shown: ReadonlyArray<Condition> = status === undefined ? [] : [isShownAs(status)]
  const named = event === undefined ? [] : [equalsUnindexed("event", "text", event)]
  if (resourceId !== undefined) {
    // Of one resource there are few.
    return {
      paths: [{ columns: [is("resource_id", "uuid", resourceId)] }],
      filters: [
        ...(endpointId === undefined ? [] : [equalsUnindexed("endpoint_id", "uuid", endpointId)]),
        ...named,
        ...shown
      ]
    }
  }
  const eventIs = event === undefined ? everyValue("event", "text") : is("event", "text", event)
  if (endpointId !== undefined) return { paths: [ofEndpoints(is("endpoint_id", "uuid", endpointId), eventIs, status)] }
  if (status === undefined && event === undefined) return {}
  const ended: AccessPath = {
    columns: [is("status", "text", status), eventIs],
    predicate: "status IN ('failed', 'canceled')"
  }
  const ofAll = everyValue("endpoint_id", "uuid")
  switch (status) {
    case "failed":
      return { paths: [ended] }
    case "canceled":
      return {
        paths: [ended, { ...ofEndpoints(ofAll, eventIs, "scheduled"), only: ([endpoint]) => isDeleted(endpoint!) }]
      }
    default:
      return {
        recent: [...named, ...shown],
        paths: [
          ofEndpoints(ofAll, eventIs, status),
          {
            columns: [eventIs, status === undefined ? oneOf("status", states) : is("status", "text", status)],
            predicate: "endpoint_id IS NULL"
          }
        ]
      }
  }
}

/** By endpoint, event and status as it is kept. */
const ofEndpoints = (endpoint: Column, event: Column, status: string | undefined): IndexPath => {
  const predicate = "endpoint_id IS NOT NULL"
  switch (status) {
    case undefined:
      return { columns: [endpoint, event, oneOf("status", states)], predicate }
    case "scheduled":
      return {
        columns: [endpoint, event, is("status", "text", status)],
        predicate,
        only: ([of]) => `NOT ${isDeleted(of!)}`
      }
    case "canceled":
      return {
        columns: [endpoint, event, oneOf("status", ["scheduled", "canceled"])],
        predicate,
        only: ([of, , kept]) => `(${kept} = 'canceled' OR ${isDeleted(of!)})`
      }
    default:
      return { columns: [endpoint, event, is("status", "text", status)], predicate }
  }
}

const states = ["scheduled", "delivering", "delivered", "failed", "canceled"]

/** One look-up by id: an EXISTS may be answered by reading all endpoints. */
const isDeleted = (endpoint: string): string =>
  `coalesce((SELECT e.deleted_at IS NOT NULL FROM webhook_endpoints e WHERE e.id = ${endpoint}), false)`

const isShownAs =
  (status: string): Condition =>
  (bind) =>
    `CASE WHEN deliveries.status = 'scheduled' AND ${isDeleted("deliveries.endpoint_id")} THEN 'canceled'
      ELSE deliveries.status END = ${bind(status)}::text`
