/**
 * The list of logged requests, and the index that each filter reads (`sql/Seek.ts`).
 *
 * Rules: OPR-31.
 */
import { type List, type Page, readPage } from "../sql/Paging.ts"
import { type Column, equals, everyValue, inSubquery, is, isOneOf } from "../sql/Seek.ts"

export interface RequestFilters {
  readonly key_id?: string | undefined
  readonly route?: string | undefined
  readonly status?: number | undefined
}

export interface RequestRow {
  readonly id: string
  readonly request_id: string
  readonly key_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_us: number
  readonly at: Date
}

export const listRequests = (filters: RequestFilters, page: Page) =>
  readPage<RequestRow>(
    {
      table: "requests",
      account: "account_id",
      columns: "id, request_id, key_id, route, status, duration_us, at",
      ...indexPaths(filters)
    },
    page
  )

/**
 * The index has key, route and status, in this order: a key has as many ranges as it has routes and statuses. Failed
 * requests have a separate index.
 */
const indexPaths = ({ key_id: keyId, route, status }: RequestFilters): Partial<List> => {
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

/** The keys of accounts. */
const keysOf = (accountIds: ReadonlyArray<string>): Column =>
  inSubquery(
    "key_id",
    "uuid",
    (bind) => `SELECT k.id FROM api_keys k JOIN applications p ON p.id = k.application_id
      WHERE ${isOneOf("p.account_id", accountIds)(bind)}`
  )
