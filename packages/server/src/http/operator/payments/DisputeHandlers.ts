/**
 * The operator routes of disputes.
 */
import { decodeDefenseBody, decodeTextBody, type OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import { Defenses } from "../../../payments/disputes/Defenses.ts"
import { toDispute } from "../../../payments/disputes/DisputeResource.ts"
import { Disputes } from "../../../payments/disputes/Disputes.ts"
import { type DisputeMessage, DisputeStore, type StoredDispute } from "../../../payments/disputes/DisputeStore.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, rejected, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { ofAccount } from "../../../database/statements/Paging.ts"
import { createdBetween, instantFrom, listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const disputeHandlers = Effect.gen(function* () {
  const disputes = yield* Disputes
  const store = yield* DisputeStore

  const handlers: OperatorHandlers<"disputes"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const filters = {
          chargeId: query.charge_id,
          status: query.status,
          ...createdBetween(query),
          deadlineBeforeMs: instantFrom(query.deadline_before),
          byDeadline: query.order === "deadline"
        }
        const rows = yield* ofAccount(query.account_id)(store.list(filters, page))
        const ids = rows.map(({ id }) => id)
        const [messages, defenses] = yield* Effect.all([store.messagesOf(ids), store.defensesOpenOf(ids)])
        return listAnswer(rows, (row) => toOperatorDispute(row, messages.get(row.id), defenses.has(row.id)), page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      disputes.find(params.id).pipe(
        Effect.flatMap((dispute) => withMessages(store, dispute)),
        Effect.map((dispute) => answer(200, dispute)),
        Effect.catchTags({ NotFoundError: notFound })
      )
  }
  return handlers
})

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
  Effect.map(Effect.all([store.messagesOf([dispute.id]), store.defensesOpenOf([dispute.id])]), ([messages, defenses]) =>
    toOperatorDispute(dispute, messages.get(dispute.id), defenses.has(dispute.id))
  )

const toOperatorDispute = (
  dispute: StoredDispute,
  messages: ReadonlyArray<DisputeMessage> | undefined,
  isDefenseOpen: boolean
): OperatorDispute => ({
  ...toDispute(dispute),
  exception_id: dispute.exceptionId,
  account_id: dispute.accountId,
  messages: (messages ?? []).map(({ atMs, author, text }) => ({ author, text, at: formatInstant(atMs) })),
  defense_in_progress: isDefenseOpen
})
