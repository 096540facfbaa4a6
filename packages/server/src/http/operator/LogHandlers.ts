/**
 * The operator routes of the request log and the audit log.
 */
import type { AuditEntry, RequestLogEntry } from "@pix-payments/api/operator/Logs"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { AuditLog, type AuditRow } from "../../operations/AuditLog.ts"
import { type List, readPage } from "../../sql/Paging.ts"
import { everyValue, equals, is } from "../../sql/Seek.ts"
import { orUnavailable } from "../../sql/Unavailable.ts"
import { unknownCursor } from "../WireTranslation.ts"
import { listAnswer, pageFrom, type OperatorHandlers } from "./OperatorHandlers.ts"

export const requestHandlers = Effect.gen(function* () {
  const sql = yield* SqlClient

  const handlers: OperatorHandlers<"requests"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* readPage<RequestRow>(
          {
            table: "requests",
            columns: "id, request_id, key_id, route, status, duration_us, at",
            ...indexPaths(query)
          },
          page
        )
        return listAnswer(rows, toEntry, page)
      }).pipe(Effect.provideService(SqlClient, sql), orUnavailable, Effect.catchTags({ UnknownCursor: unknownCursor }))
  }
  return handlers
})

export const auditHandlers = Effect.gen(function* () {
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"audit"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* audit.list(page)
        return listAnswer(rows, toAuditEntry, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor }))
  }
  return handlers
})

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
  if (conditions.length === 0) return {}
  const routeIs = route === undefined ? everyValue("route", "text") : is("route", "text", route)
  const statusIs = status === undefined ? everyValue("status", "integer") : is("status", "integer", status)
  if (keyId !== undefined) {
    return { paths: [{ columns: [is("key_id", "uuid", keyId), routeIs, statusIs], predicate: "key_id IS NOT NULL" }] }
  }
  if (status !== undefined && status >= 400) {
    return { paths: [{ columns: [statusIs, routeIs], predicate: "status >= 400" }] }
  }
  return {
    recent: conditions,
    paths: [
      { columns: [everyValue("key_id", "uuid"), routeIs, statusIs], predicate: "key_id IS NOT NULL" },
      { columns: [routeIs, statusIs], predicate: "key_id IS NULL" }
    ]
  }
}

interface RequestFilters {
  readonly key_id?: string | undefined
  readonly route?: string | undefined
  readonly status?: number | undefined
}

const toEntry = (row: RequestRow): RequestLogEntry => ({
  id: row.id,
  object: "request",
  request_id: row.request_id,
  key_id: row.key_id,
  route: row.route,
  status: row.status,
  duration_ms: Math.round(row.duration_us / 1000),
  created_at: row.at.toISOString()
})

const toAuditEntry = ({ at, ...row }: AuditRow): AuditEntry => ({
  ...row,
  object: "audit_entry",
  created_at: at.toISOString()
})

interface RequestRow {
  readonly id: string
  readonly request_id: string
  readonly key_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_us: number
  readonly at: Date
}
