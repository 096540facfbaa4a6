/**
 * The request log and the audit log, for operators.
 */
import { AuditGroup, RequestsGroup } from "@pix-payments/api/operator/Logs"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { AuditLog } from "../../operations/AuditLog.ts"
import { type List, readPage } from "../../sql/Paging.ts"
import { each, equals, is } from "../../sql/Seek.ts"
import { orUnavailable } from "../../sql/Unavailable.ts"
import { serviceUnavailable, unknownCursor } from "../WireTranslation.ts"
import { pageFrom } from "./Requests.ts"

const requestsLayer = HttpApiBuilder.group(
  OperatorApi,
  RequestsGroup.identifier,
  Effect.fn(function* (handlers) {
    const sql = yield* SqlClient

    return handlers.handle("list", ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* readPage<RequestRow>(
          {
            table: "requests",
            columns: "id, request_id, key_id, route, status, duration_us, at",
            ...waysTo(query)
          },
          page
        )
        return pageOf(
          rows.map((row) => ({
            id: row.id,
            object: "request" as const,
            request_id: row.request_id,
            key_id: row.key_id,
            route: row.route,
            status: row.status,
            duration_ms: Math.round(row.duration_us / 1000),
            created_at: row.at.toISOString()
          })),
          page.limit
        )
      }).pipe(
        Effect.provideService(SqlClient, sql),
        orUnavailable,
        Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable })
      )
    )
  })
)

const auditLayer = HttpApiBuilder.group(
  OperatorApi,
  AuditGroup.identifier,
  Effect.fn(function* (handlers) {
    const audit = yield* AuditLog

    return handlers.handle("list", ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* audit.list(page)
        return pageOf(
          rows.map(({ at, ...row }) => ({ ...row, object: "audit_entry" as const, created_at: at.toISOString() })),
          page.limit
        )
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
    )
  })
)

export const layer = Layer.mergeAll(requestsLayer, auditLayer)

/**
 * By key, route and status, in this order: of a key, there are as many ways as routes and answers that it has seen. What
 * failed is read by an index of its own.
 */
const waysTo = ({ key_id: keyId, route, status }: RequestFilters): Partial<List> => {
  const asked = [
    ...(keyId === undefined ? [] : [equals("key_id", "uuid", keyId)]),
    ...(route === undefined ? [] : [equals("route", "text", route)]),
    ...(status === undefined ? [] : [equals("status", "integer", status)])
  ]
  if (asked.length === 0) return {}
  const routeIs = route === undefined ? each("route", "text") : is("route", "text", route)
  const statusIs = status === undefined ? each("status", "integer") : is("status", "integer", status)
  if (keyId !== undefined) {
    return { paths: [{ along: [is("key_id", "uuid", keyId), routeIs, statusIs], within: "key_id IS NOT NULL" }] }
  }
  if (status !== undefined && status >= 400) {
    return { paths: [{ along: [statusIs, routeIs], within: "status >= 400" }] }
  }
  return {
    recent: asked,
    paths: [
      { along: [each("key_id", "uuid"), routeIs, statusIs], within: "key_id IS NOT NULL" },
      { along: [routeIs, statusIs], within: "key_id IS NULL" }
    ]
  }
}

interface RequestFilters {
  readonly key_id?: string | undefined
  readonly route?: string | undefined
  readonly status?: number | undefined
}

interface RequestRow {
  readonly id: string
  readonly request_id: string
  readonly key_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_us: number
  readonly at: Date
}
