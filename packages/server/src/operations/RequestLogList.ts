/**
 * The list of logged requests, and the index that each filter reads (`database/statements/Seek.ts`).
 *
 * Rules: OPR-31.
 */
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import {
  type CreatedBetween,
  idsBetween,
  type List,
  type Page,
  readSum,
  readWalked,
  type Walkable
} from "../database/statements/Paging.ts"
import { type Condition, equals, equalsUnindexed, isOneOf } from "../database/statements/Condition.ts"
import { type Column, everyValue, inSubquery, is } from "../database/statements/Seek.ts"

export interface RequestFilters extends CreatedBetween {
  readonly key_id?: string | undefined
  readonly resource_id?: string | undefined
  readonly request_id?: string | undefined
  readonly route?: string | undefined
  readonly status?: number | undefined
}

export interface RequestRow {
  readonly id: string
  readonly request_id: string
  readonly key_id: string | null
  readonly resource_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_us: number
  readonly at: Date
}

export const listRequests = (filters: RequestFilters, page: Page) => readWalked<RequestRow>(requestList(filters), page)

/** Their number, as far as one request looks. */
export const countRequests = (filters: RequestFilters) =>
  readSum(requestList(filters), undefined).pipe(Effect.catchTag("UnknownCursor", Effect.die))

const requestList = (filters: RequestFilters): Walkable => {
  const list: List = {
    table: "requests",
    account: "account_id",
    columns: "id, coalesce(request_id, id::text) AS request_id, key_id, resource_id, route, status, duration_us, at",
    ...indexPaths(filters),
    ...idsBetween(filters)
  }
  return { ...list, isServed: true, ...counting(filters, list) }
}

/** How they are counted: of a key, a resource, a request id or accounts, or what was refused, by its index, else of all. */
const counting = (
  { key_id: keyId, request_id: requestId, resource_id: resourceId, route, status }: RequestFilters,
  { filters = [], paths, pathsOf }: List
): Pick<Walkable, "walk" | "walkOf"> => {
  const isFew = requestId !== undefined || resourceId !== undefined
  const hasIndex = isFew || keyId !== undefined || (status !== undefined && status >= 400)
  const conditions = [
    ...(route === undefined ? [] : [equalsUnindexed("route", "text", route)]),
    ...(status === undefined ? [] : [equalsUnindexed("status", "integer", status)])
  ]
  return { walk: { paths: hasIndex ? paths : undefined, conditions: isFew ? filters : conditions }, walkOf: pathsOf }
}

/**
 * The index has key, route and status, in this order: a key has as many ranges as it has routes and statuses. Failed
 * requests have a separate index. A resource is named by few requests, and a request id by one, unless a caller repeats it.
 */
const indexPaths = ({
  key_id: keyId,
  request_id: requestId,
  resource_id: resourceId,
  route,
  status
}: RequestFilters): Partial<List> => {
  const others = [
    ...(keyId === undefined ? [] : [equalsUnindexed("key_id", "uuid", keyId)]),
    ...(route === undefined ? [] : [equalsUnindexed("route", "text", route)]),
    ...(status === undefined ? [] : [equalsUnindexed("status", "integer", status)])
  ]
  if (requestId !== undefined) {
    return {
      paths: [{ selective: hasRequestId(requestId), most: MOST_OF_REQUEST_ID }],
      filters: [...others, ...(resourceId === undefined ? [] : [equalsUnindexed("resource_id", "uuid", resourceId)])]
    }
  }
  if (resourceId !== undefined) {
    return {
      paths: [{ columns: [is("resource_id", "uuid", resourceId)], predicate: "resource_id IS NOT NULL" }],
      filters: others
    }
  }
  const conditions = [
    ...(keyId === undefined ? [] : [equals("key_id", "uuid", keyId)]),
    ...(route === undefined ? [] : [equals("route", "text", route)]),
    ...(status === undefined ? [] : [equals("status", "integer", status)])
  ]
  const routeIs = route === undefined ? everyValue("route", "text") : is("route", "text", route)
  const statusIs = status === undefined ? everyValue("status", "integer") : is("status", "integer", status)
  const pathsOf = (ids: ReadonlyArray<string>) => [
    { columns: [keysOf(ids), routeIs, statusIs], predicate: "key_id IS NOT NULL" }
  ]
  if (conditions.length === 0) return { pathsOf }
  if (keyId !== undefined) {
    return { paths: [{ columns: [is("key_id", "uuid", keyId), routeIs, statusIs], predicate: "key_id IS NOT NULL" }] }
  }
  if (status !== undefined && status >= 400) {
    return { pathsOf, paths: [{ columns: [statusIs, routeIs], predicate: "status >= 400" }] }
  }
  return {
    pathsOf,
    recent: conditions,
    paths: [
      { columns: [everyValue("key_id", "uuid"), routeIs, statusIs], predicate: "key_id IS NOT NULL" },
      { columns: [routeIs, statusIs], predicate: "key_id IS NULL" }
    ]
  }
}

/** The caller sent this request id, or sent none and the line has it. */
const hasRequestId = (requestId: string): Condition => {
  const sent = equals("request_id", "text", requestId)
  return isUuid(requestId)
    ? (bind) => `(${sent(bind)} OR (${equals("id", "uuid", requestId)(bind)} AND request_id IS NULL))`
    : sent
}

/** A caller may send the same request id for ever. */
const MOST_OF_REQUEST_ID = 1000

/** The keys of accounts. */
const keysOf = (accountIds: ReadonlyArray<string>): Column =>
  inSubquery(
    "key_id",
    "uuid",
    (bind) => `SELECT k.id FROM api_keys k JOIN applications p ON p.id = k.application_id
      WHERE ${isOneOf("p.account_id", accountIds)(bind)}`
  )
