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
import { type Column, everyValue, type IndexPath, inSubquery, is } from "../database/statements/Seek.ts"

export interface RequestFilters extends CreatedBetween {
  readonly key_id?: string | undefined
  readonly resource_id?: string | undefined
  readonly request_id?: string | undefined
  readonly route?: string | undefined
  /** An HTTP status, or a class: `4xx`. */
  readonly status?: string | undefined
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
  readonly trace_id: string | null
}

export const listRequests = (filters: RequestFilters, page: Page) => readWalked<RequestRow>(requestList(filters), page)

/** Their number, as far as one request looks. */
export const countRequests = (filters: RequestFilters) =>
  readSum(requestList(filters)).pipe(Effect.catchTag("UnknownCursor", Effect.die))

const requestList = (filters: RequestFilters): Walkable => {
  const list: List = {
    table: "requests",
    account: "account_id",
    columns:
      "id, coalesce(request_id, id::text) AS request_id, key_id, resource_id, route, status, duration_us, at, trace_id",
    ...indexPaths(filters),
    ...idsBetween(filters)
  }
  return {
    ...list,
    isServed: true,
    counted: { state: () => "left(status::text, 1) || 'xx'" },
    ...counting(filters, list)
  }
}

/** How they are counted: of a key, a resource, a request id or accounts, or what was refused, by its index, else of all. */
const counting = (
  { key_id: keyId, request_id: requestId, resource_id: resourceId, route, status }: RequestFilters,
  { filters = [], paths, pathsOf }: List
): Pick<Walkable, "walk" | "walkOf"> => {
  const isFew = requestId !== undefined || resourceId !== undefined
  const hasIndex = isFew || keyId !== undefined || isRefused(status)
  const conditions = [
    ...(route === undefined ? [] : [equalsUnindexed("route", "text", route)]),
    ...(status === undefined ? [] : [hasStatus(status)])
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
    ...(status === undefined ? [] : [hasStatus(status)])
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
    ...(status === undefined ? [] : [hasStatus(status)])
  ]
  const routeIs = route === undefined ? everyValue("route", "text") : is("route", "text", route)
  const range = rangeOf(status)
  const statusIs = range?.isOne === true ? is("status", "integer", range.from) : everyValue("status", "integer")
  /** Of a class, the statuses that occur are skipped through; `nth` is that of the status in the columns. */
  const ofClass = (nth: number): Pick<IndexPath, "only"> =>
    range === undefined || range.isOne ? {} : { only: (keys) => `${keys[nth]} BETWEEN ${range.from} AND ${range.to}` }
  const pathsOf = (ids: ReadonlyArray<string>) => [
    { columns: [keysOf(ids), routeIs, statusIs], predicate: "key_id IS NOT NULL", ...ofClass(2) }
  ]
  if (conditions.length === 0) return { pathsOf }
  if (keyId !== undefined) {
    const columns = [is("key_id", "uuid", keyId), routeIs, statusIs]
    return { paths: [{ columns, predicate: "key_id IS NOT NULL", ...ofClass(2) }] }
  }
  if (isRefused(status)) {
    return { pathsOf, paths: [{ columns: [statusIs, routeIs], predicate: "status >= 400", ...ofClass(0) }] }
  }
  return {
    pathsOf,
    recent: conditions,
    paths: [
      { columns: [everyValue("key_id", "uuid"), routeIs, statusIs], predicate: "key_id IS NOT NULL", ...ofClass(2) },
      { columns: [routeIs, statusIs], predicate: "key_id IS NULL", ...ofClass(1) }
    ]
  }
}

/** The statuses that a filter names. */
const rangeOf = (status: string | undefined) => {
  if (status === undefined) return undefined
  const isOne = !status.endsWith("xx")
  const from = isOne ? Number(status) : 100 * Number(status.charAt(0))
  return { isOne, from, to: isOne ? from : from + 99 }
}

const isRefused = (status: string | undefined): boolean => (rangeOf(status)?.from ?? 0) >= 400

const hasStatus = (status: string): Condition => {
  const { from, isOne, to } = rangeOf(status)!
  return isOne
    ? equalsUnindexed("status", "integer", from)
    : (bind) => `(status BETWEEN ${bind(from)}::integer AND ${bind(to)}::integer) IS TRUE`
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
