/**
 * The operator routes of disputes.
 */
import { decodeTextBody, type OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Effect from "effect/Effect"
import { Disputes, toDispute } from "../../disputes/Disputes.ts"
import { type DisputeMessage, DisputeStore, type StoredDispute } from "../../disputes/DisputeStore.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { decodeBody } from "../RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../WireTranslation.ts"
import { answer } from "../Answer.ts"
import { listAnswer, pageFrom } from "../Lists.ts"
import type { OperatorHandlers } from "./OperatorHandlers.ts"

export const disputeHandlers = Effect.gen(function* () {
  const disputes = yield* Disputes
  const store = yield* DisputeStore

  const handlers: OperatorHandlers<"disputes"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* store.list({ chargeId: query.charge_id, status: query.status }, page)
        const messages = yield* store.messagesOf(rows.map(({ id }) => id))
        return listAnswer(rows, (row) => toOperatorDispute(row, messages.get(row.id)), page)
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
        const { text } = yield* decodeBody(body, decodeTextBody)
        const dispute = yield* disputes.defend(params.id, text).pipe(audit.recordAfter("disputeActions.defense"))
        return answer(200, yield* withMessages(store, dispute))
      }).pipe(Effect.catchTags(failures)),
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
  Effect.map(store.messagesOf([dispute.id]), (messages) => toOperatorDispute(dispute, messages.get(dispute.id)))

const toOperatorDispute = (
  dispute: StoredDispute,
  messages: ReadonlyArray<DisputeMessage> | undefined
): OperatorDispute => ({
  ...toDispute(dispute),
  account_id: dispute.accountId,
  messages: (messages ?? []).map(({ atMs, author, text }) => ({ author, text, at: formatInstant(atMs) }))
})
