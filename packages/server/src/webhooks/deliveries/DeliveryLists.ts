/**
 * The list of deliveries: the index that each combination of filters uses (`schema/tables`, `database/statements/Seek.ts`).
 *
 * A scheduled delivery is shown with its endpoint's current address, and as canceled if the endpoint is deleted. So a change
 * of an endpoint updates none of its scheduled deliveries.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { type CreatedBetween, idsBetween, type List, type Walkable } from "../../database/statements/Paging.ts"
import { type Condition, equalsUnindexed, isOneOf } from "../../database/statements/Condition.ts"
import {
  type Column,
  everyValue,
  inSubquery,
  is,
  oneOf,
  oneOfIds,
  type IndexPath,
  type AccessPath
} from "../../database/statements/Seek.ts"
import { timeOf } from "../../database/Period.ts"

/** How far the times in ids of different processes may differ. */
export const CLOCK_SKEW_MS = 24 * 60 * 60 * 1000

export interface DeliveryFilters extends CreatedBetween {
  readonly status?: string | undefined
  readonly resourceId?: string | undefined
  readonly endpointId?: string | undefined
  readonly event?: string | undefined
}

/** Deliveries of all accounts that match the filters. */
export const deliveryList = (filters: DeliveryFilters): Walkable => {
  const list: List = {
    table: "deliveries",
    columns: shownColumns,
    join: shownJoin,
    account: "account_id",
    ...idsBetween(filters),
    ...indexPaths(filters)
  }
  return { ...list, isServed: true, counted: { state: () => SHOWN }, ...counting(filters, list) }
}

/** How they are counted: of a resource, an endpoint or accounts, or what failed, by its index, else of all. */
const counting = (
  { endpointId, event, resourceId, status }: DeliveryFilters,
  { paths, pathsOf }: List
): Pick<Walkable, "walk" | "walkOf"> => ({
  walk: {
    paths: resourceId !== undefined || endpointId !== undefined || status === "failed" ? paths : undefined,
    conditions: [
      ...(endpointId === undefined ? [] : [equalsUnindexed("endpoint_id", "uuid", endpointId)]),
      ...(event === undefined ? [] : [equalsUnindexed("event", "text", event)]),
      ...(status === undefined ? [] : [isShownAs(status)])
    ]
  },
  walkOf: pathsOf
})

/** The join and the columns that show a delivery. */
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
    // A resource has few deliveries. They are not older than the resource.
    return {
      from: highestOf(lowestIdAt(timeOf(resourceId) - CLOCK_SKEW_MS), idsBetween(filters).from),
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
  const statusIs = status === undefined ? oneOf("status", states) : is("status", "text", status)
  const predicate = "endpoint_id IS NULL"
  const withoutEndpoint: AccessPath = { columns: [eventIs, statusIs], predicate }
  const pathsOf = (accountIds: ReadonlyArray<string>): ReadonlyArray<AccessPath> => [
    ofEndpoints(endpointsOf(accountIds), eventIs, status),
    { columns: [oneOfIds("account_id", accountIds), eventIs, statusIs], predicate }
  ]
  if (status === undefined && event === undefined) return { pathsOf }
  const ended: AccessPath = {
    columns: [is("status", "text", status), eventIs],
    predicate: "status IN ('failed', 'canceled')"
  }
  const ofAll = everyValue("endpoint_id", "uuid")
  switch (status) {
    case "failed":
      return { paths: [ended], pathsOf }
    case "canceled":
      return {
        pathsOf,
        paths: [ended, { ...ofEndpoints(ofAll, eventIs, "scheduled"), only: ([endpoint]) => isDeleted(endpoint!) }]
      }
    default:
      return {
        pathsOf,
        recent: [...named, ...shown],
        paths: [ofEndpoints(ofAll, eventIs, status), withoutEndpoint]
      }
  }
}

/** The endpoints of accounts, deleted ones included. */
const endpointsOf = (accountIds: ReadonlyArray<string>): Column =>
  inSubquery(
    "endpoint_id",
    "uuid",
    // OFFSET 0: the endpoints of each application are looked up, however few there are of all.
    (
      bind
    ) => `SELECT e.id FROM (SELECT id FROM applications WHERE ${isOneOf("account_id", accountIds)(bind)} OFFSET 0) p
      CROSS JOIN LATERAL (SELECT id FROM webhook_endpoints WHERE application_id = p.id OFFSET 0) e`
  )

/** The index by endpoint, event and stored status. */
const ofEndpoints = (endpoint: Column, event: Column, status: string | undefined): IndexPath => {
  const predicate = "endpoint_id IS NOT NULL"
  switch (status) {
    case undefined:
      return { columns: [endpoint, event, oneOf("status", states)], predicate }
    case "scheduled":
      return {
        columns: [endpoint, event, is("status", "text", status)],
        predicate,
        only: ([endpoint]) => `NOT ${isDeleted(endpoint!)}`
      }
    case "canceled":
      return {
        columns: [endpoint, event, oneOf("status", ["scheduled", "canceled"])],
        predicate,
        only: ([endpoint, , stored]) => `(${stored} = 'canceled' OR ${isDeleted(endpoint!)})`
      }
    default:
      return { columns: [endpoint, event, is("status", "text", status)], predicate }
  }
}

const states = ["scheduled", "delivering", "delivered", "failed", "canceled"]

/** One lookup by id: the planner may run an EXISTS as a scan of all endpoints. */
const isDeleted = (endpoint: string): string =>
  `coalesce((SELECT e.deleted_at IS NOT NULL FROM webhook_endpoints e WHERE e.id = ${endpoint}), false)`

const isShownAs =
  (status: string): Condition =>
  (bind) =>
    `${SHOWN} = ${bind(status)}::text`

/** The status that a delivery is shown with. */
const SHOWN = `CASE WHEN deliveries.status = 'scheduled' AND ${isDeleted("deliveries.endpoint_id")} THEN 'canceled'
  ELSE deliveries.status END`

const highestOf = (one: string, other: string | undefined): string => (other === undefined || other < one ? one : other)
