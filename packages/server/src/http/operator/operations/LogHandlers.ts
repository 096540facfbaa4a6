/**
 * The operator routes of the request log and the audit log.
 */
import { type AuditEntry, MAX_EXPORTED, type requestFilters, RequestLogEntry } from "@pix-payments/api/operator/Logs"
import { ValidationError } from "@pix-payments/api/WireErrors"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { AuditLog, type AuditRow, type IdRange } from "../../../operations/AuditLog.ts"
import { countRequests, listRequests, type RequestRow } from "../../../operations/RequestLogList.ts"
import { idsBetween, ofAccount, type Page } from "../../../database/statements/Paging.ts"
import { HIGHEST, LOWEST } from "../../../database/statements/Seek.ts"
import { orUnavailable } from "../../../database/Unavailable.ts"
import { notFound, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { countAnswer, createdBetween, listAnswer, pageFrom, walkedAnswer } from "../../pipeline/Lists.ts"
import { csvAnswers } from "../Csv.ts"
import { knownId, type OperatorHandlers, shareOf } from "../OperatorHandlers.ts"

export const requestHandlers = Effect.gen(function* () {
  const csvAnswer = yield* csvAnswers
  const sql = yield* SqlClient

  const read = (query: Schema.Struct<typeof requestFilters>["Type"]) => (page: Page) =>
    listRequests({ ...query, ...createdBetween(query) }, page).pipe(
      ofAccount(query.account_id),
      Effect.provideService(SqlClient, sql),
      orUnavailable
    )

  const handlers: OperatorHandlers<"requests"> = {
    list: ({ query }) =>
      read(query)(pageFrom(query)).pipe(
        Effect.map((page) => walkedAnswer(page, toRequest)),
        Effect.catchTags({ UnknownCursor: unknownCursor })
      ),
    summary: ({ query }) =>
      countRequests({ ...query, ...createdBetween(query) }).pipe(
        ofAccount(query.account_id),
        Effect.provideService(SqlClient, sql),
        orUnavailable,
        Effect.map(countAnswer)
      ),
    export: ({ caller, query }) =>
      csvAnswer({
        caller,
        columns: requestColumns,
        schema: RequestLogEntry,
        read: read(query),
        toItem: toRequest
      })
  }
  return handlers
})

const requestColumns: Readonly<Record<string, (request: RequestLogEntry) => string | number | null>> = {
  request_id: (request) => request.request_id,
  created_at: (request) => request.created_at,
  key_id: (request) => request.key_id,
  route: ({ route }) => route,
  status: ({ status }) => status,
  duration_ms: (request) => request.duration_ms,
  resource_id: (request) => request.resource_id
}

export const auditHandlers = Effect.gen(function* () {
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"audit"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* audit.list(
          { action: query.action, operatorId: query.operator_id, ...createdBetween(query) },
          page
        )
        return listAnswer(rows, toAuditEntry, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toAuditEntry(yield* audit.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    export: ({ caller, query }) =>
      Effect.gen(function* () {
        const range = rangeOf(query)
        const [beyond] = yield* audit.entriesBetween(range, 1, MAX_EXPORTED)
        if (beyond !== undefined) {
          return yield* new ValidationError({ details: ["created_after", "created_before"] })
        }
        return {
          status: 200,
          stream: {
            contentType: "application/jsonl",
            owner: shareOf(caller),
            scope: "audit",
            next: exportPieces(audit, range)
          }
        }
      })
  }
  return handlers
})

/** The lines of an export, a piece at a time; undefined after its last line. */
export const exportPieces = (audit: AuditLog["Service"], { before, from }: IdRange) => {
  let last: string | undefined
  let count = 0
  let isDone = false
  return Effect.suspend(() => {
    if (isDone) return Effect.undefined
    return Effect.map(
      audit.entriesBetween({ from: last ?? from, before }, ENTRIES_OF_A_PAGE, last === undefined ? 0 : 1),
      (rows) => {
        count += rows.length
        last = rows.at(-1)?.id ?? last
        isDone = rows.length < ENTRIES_OF_A_PAGE
        const end = isDone ? [{ object: "audit_export", entries: count }] : []
        return [...rows.map(toAuditEntry), ...end].map((line) => `${JSON.stringify(line)}\n`).join("")
      }
    )
  })
}

const ENTRIES_OF_A_PAGE = 500

const rangeOf = (query: { readonly created_after?: string; readonly created_before?: string }): IdRange => {
  const { before = HIGHEST, from = LOWEST } = idsBetween(createdBetween(query))
  return { from, before }
}

/** The entry of the request log of `/operator/v1`. */
export const toRequest = (row: RequestRow): RequestLogEntry => ({
  id: row.id,
  object: "request",
  request_id: row.request_id,
  key_id: row.key_id,
  resource_id: row.resource_id,
  route: row.route,
  status: row.status,
  duration_ms: Math.round(row.duration_us / 1000),
  trace_id: row.trace_id,
  created_at: row.at.toISOString()
})

const toAuditEntry = ({ at, ...row }: AuditRow): AuditEntry => ({
  ...row,
  object: "audit_entry",
  created_at: at.toISOString()
})
