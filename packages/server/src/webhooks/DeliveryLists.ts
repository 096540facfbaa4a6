/**
 * The list of deliveries, and the index that each narrowing of it walks (migration `list_indexes`, `sql/Seek.ts`).
 *
 * What is to be sent follows its endpoint, so that no change of an endpoint touches what waits: a scheduled delivery has
 * the address that its endpoint has now, and is canceled when that is deleted.
 */
import type { List } from "../sql/Paging.ts"
import { type Column, type Condition, each, hasAlso, is, oneOf, type Path, type Way } from "../sql/Seek.ts"

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
  ...waysTo(filters)
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

const waysTo = (filters: DeliveryFilters): Partial<List> => {
  const { endpointId, event, resourceId, status } = filters
  const shown: ReadonlyArray<Condition> = status === undefined ? [] : [isShownAs(status)]
  const named = event === undefined ? [] : [hasAlso("event", "text", event)]
  if (resourceId !== undefined) {
    // Of one resource there are few.
    return {
      paths: [{ along: [is("resource_id", "uuid", resourceId)] }],
      filters: [...(endpointId === undefined ? [] : [hasAlso("endpoint_id", "uuid", endpointId)]), ...named, ...shown]
    }
  }
  const eventIs = event === undefined ? each("event", "text") : is("event", "text", event)
  if (endpointId !== undefined) return { paths: [ofEndpoints(is("endpoint_id", "uuid", endpointId), eventIs, status)] }
  if (status === undefined && event === undefined) return {}
  const ended: Way = { along: [is("status", "text", status), eventIs], within: "status IN ('failed', 'canceled')" }
  const ofAll = each("endpoint_id", "uuid")
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
            along: [eventIs, status === undefined ? oneOf("status", states) : is("status", "text", status)],
            within: "endpoint_id IS NULL"
          }
        ]
      }
  }
}

/** By endpoint, event and status as it is kept. */
const ofEndpoints = (endpoint: Column, event: Column, status: string | undefined): Path => {
  const within = "endpoint_id IS NOT NULL"
  switch (status) {
    case undefined:
      return { along: [endpoint, event, oneOf("status", states)], within }
    case "scheduled":
      return {
        along: [endpoint, event, is("status", "text", status)],
        within,
        only: ([of]) => `NOT ${isDeleted(of!)}`
      }
    case "canceled":
      return {
        along: [endpoint, event, oneOf("status", ["scheduled", "canceled"])],
        within,
        only: ([of, , kept]) => `(${kept} = 'canceled' OR ${isDeleted(of!)})`
      }
    default:
      return { along: [endpoint, event, is("status", "text", status)], within }
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
