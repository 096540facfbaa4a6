/**
 * The operator routes of the request log and the audit log.
 */
import type { AuditEntry, RequestLogEntry } from "@pix-payments/api/operator/Logs"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { AuditLog, type AuditRow } from "../../operations/AuditLog.ts"
import { listRequests, type RequestRow } from "../../operations/RequestLogList.ts"
import { orUnavailable } from "../../sql/Unavailable.ts"
import { unknownCursor } from "../WireTranslation.ts"
import { listAnswer, pageFrom } from "../Lists.ts"
import type { OperatorHandlers } from "./OperatorHandlers.ts"

export const requestHandlers = Effect.gen(function* () {
  const sql = yield* SqlClient

  const handlers: OperatorHandlers<"requests"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* listRequests(query, page)
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
