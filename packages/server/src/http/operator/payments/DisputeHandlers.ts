/**
 * The operator routes of disputes.
 */
import {
  decodeDefenseBody,
  decodeTextBody,
  type disputeFilters,
  OperatorDispute
} from "@pix-payments/api/operator/Disputes"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { Defenses } from "../../../payments/disputes/Defenses.ts"
import { toDispute as disputeOf } from "../../../payments/disputes/DisputeResource.ts"
import type { DisputeFilters } from "../../../payments/disputes/DisputeList.ts"
import { Disputes } from "../../../payments/disputes/Disputes.ts"
import { DisputeStore } from "../../../payments/disputes/DisputeStore.ts"
import type { StoredDispute } from "../../../payments/disputes/DisputeTable.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, rejected, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { ofAccount, type Page } from "../../../database/statements/Paging.ts"
import { createdBetween, instantFrom, pageFrom, sumAnswer, walkedAnswer } from "../../pipeline/Lists.ts"
import { csvAnswers, reaisOf } from "../Csv.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const disputeHandlers = Effect.gen(function* () {
  const csvAnswer = yield* csvAnswers
  const disputes = yield* Disputes
  const store = yield* DisputeStore

  /** Reads pages of the disputes that the filters of a query leave, with their messages. */
  const read = (query: DisputeFiltersQuery, isByDeadline: boolean) => (page: Page) =>
    Effect.gen(function* () {
      const found = yield* ofAccount(query.account_id)(store.list(filtersOf(query, isByDeadline), page))
      return { ...found, rows: yield* allWithMessages(store, found.rows) }
    })

  const handlers: OperatorHandlers<"disputes"> = {
    list: ({ query }) =>
      read(
        query,
        query.order === "deadline"
      )(pageFrom(query)).pipe(
        Effect.map((page) => walkedAnswer(page, (dispute) => dispute)),
        Effect.catchTags({ UnknownCursor: unknownCursor })
      ),
    summary: ({ query }) => store.sum(filtersOf(query, false)).pipe(ofAccount(query.account_id), Effect.map(sumAnswer)),
    export: ({ caller, query }) =>
      csvAnswer({
        caller,
        columns: disputeColumns,
        schema: OperatorDispute,
        read: (page) => ofAccount(query.account_id)(store.list(filtersOf(query, false), page)),
        toItem: toDispute
      }),
    retrieve: ({ params }) =>
      disputes.find(params.id).pipe(
        Effect.flatMap((dispute) => withMessages(store, dispute)),
        Effect.map((dispute) => answer(200, dispute)),
        Effect.catchTags({ NotFoundError: notFound })
      )
  }
  return handlers
})

type DisputeFiltersQuery = Schema.Struct<typeof disputeFilters>["Type"]

const filtersOf = (query: DisputeFiltersQuery, byDeadline: boolean): DisputeFilters => ({
  chargeId: query.charge_id,
  samePayerAs: query.same_payer_as,
  status: query.status,
  ...createdBetween(query),
  amountMin: query.amount_min,
  amountMax: query.amount_max,
  deadlineBeforeMs: instantFrom(query.deadline_before),
  byDeadline
})

const disputeColumns: Readonly<Record<string, (dispute: ReturnType<typeof toDispute>) => string | null>> = {
  id: ({ id }) => id,
  opened_at: (dispute) => dispute.opened_at,
  account_id: (dispute) => dispute.account_id,
  charge_id: (dispute) => dispute.charge_id,
  exception_id: (dispute) => dispute.exception_id,
  status: ({ status }) => status,
  amount: ({ amount }) => reaisOf(amount),
  reason: ({ reason }) => reason,
  reference: ({ reference }) => reference,
  defense_deadline_at: (dispute) => dispute.defense_deadline_at,
  resolved_at: (dispute) => dispute.resolved_at
}

export const disputeFileHandlers = Effect.gen(function* () {
  const store = yield* DisputeStore

  const handlers: OperatorHandlers<"disputeFiles"> = {
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        const file = yield* store.readFile(yield* knownId(params))
        if (file === undefined) return yield* notFound()
        const isShown = shownTypes.has(file.content_type)
        return {
          status: 200,
          file: {
            contentType: isShown ? file.content_type : "application/octet-stream",
            bytes: Buffer.from(file.content)
          },
          headers: {
            "content-security-policy": "default-src 'none'",
            "content-disposition": `${isShown ? "inline" : "attachment"}; filename*=UTF-8''${asToken(file.name)}`
          }
        }
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

/** What a browser shows without running anything of it. Its sender named the type: no text becomes a page of this origin. */
const shownTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf"
])

/** A name in the form of RFC 8187. */
const asToken = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replaceAll(/['()*]/g, (each) => `%${each.charCodeAt(0).toString(16)}`)

export const disputeActionHandlers = Effect.gen(function* () {
  const disputes = yield* Disputes
  const defenses = yield* Defenses
  const store = yield* DisputeStore
  const audit = yield* AuditLog
  const failures = {
    RequestRefused: refusedAs("VALIDATION_ERROR"),
    NotFoundError: notFound,
    InvalidStateError: invalidState
  }

  const handlers: OperatorHandlers<"disputeActions"> = {
    defense: ({ body, params }) =>
      Effect.gen(function* () {
        yield* disputes.find(params.id)
        const { files, text } = yield* decodeBody(body, decodeDefenseBody)
        const defense = {
          text,
          files: (files ?? []).map(({ content, content_type, name }) => ({
            name,
            contentType: content_type,
            base64: content
          }))
        }
        const audited = audit.record("disputeActions.defense", params.id, { after: { text } })
        return answer(200, yield* withMessages(store, yield* defenses.file(params.id, defense, audited)))
      }).pipe(Effect.catchTags({ ...failures, DefenseRejected: rejected })),
    message: ({ body, params }) =>
      Effect.gen(function* () {
        yield* disputes.find(params.id)
        const { text } = yield* decodeBody(body, decodeTextBody)
        const dispute = yield* disputes.write(params.id, text).pipe(audit.recordAfter("disputeActions.message"))
        return answer(201, yield* withMessages(store, dispute))
      }).pipe(Effect.catchTags(failures))
  }
  return handlers
})

/** The dispute resource of `/operator/v1`, with its current messages. */
export const withMessages = (store: DisputeStore["Service"], dispute: StoredDispute) =>
  Effect.map(allWithMessages(store, [dispute]), ([shown]) => shown!)

const allWithMessages = Effect.fnUntraced(function* (
  store: DisputeStore["Service"],
  disputes: ReadonlyArray<StoredDispute>
) {
  const ids = disputes.map(({ id }) => id)
  const [messages, defenses] = yield* Effect.all([store.messagesOf(ids), store.defensesOpenOf(ids)])
  const sent = [...messages.values()].flat().filter(({ author }) => author === "operator")
  const files = yield* store.filesOf(sent.map(({ id }) => id))
  return disputes.map((dispute): OperatorDispute => {
    const written = messages.get(dispute.id) ?? []
    return {
      ...toDispute(dispute),
      messages: written.map(({ atMs, author, id, text }) => ({
        author,
        text,
        at: formatInstant(atMs),
        files: (files.get(id) ?? []).map((file) => ({
          id: file.id,
          name: file.name,
          content_type: file.contentType,
          size: file.size
        }))
      })),
      defense_in_progress: defenses.has(dispute.id)
    }
  })
})

const toDispute = (dispute: StoredDispute) => ({
  ...disputeOf(dispute),
  exception_id: dispute.exceptionId,
  account_id: dispute.accountId
})
