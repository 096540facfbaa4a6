/**
 * Disputes, and what operators say in them.
 */
import {
  decodeTextBody,
  DisputeActionsGroup,
  DisputesGroup,
  type OperatorDispute
} from "@pix-payments/api/operator/Disputes"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { formatInstant } from "@pix-payments/domain/Instant"
import { pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Disputes, toDispute } from "../../disputes/Disputes.ts"
import { type DisputeMessage, DisputeStore, type StoredDispute } from "../../disputes/DisputeStore.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import { invalidState, notFound, refusedAs, serviceUnavailable, unknownCursor } from "../WireTranslation.ts"
import { pageFrom } from "./Requests.ts"

const disputesLayer = HttpApiBuilder.group(
  OperatorApi,
  DisputesGroup.identifier,
  Effect.fn(function* (handlers) {
    const disputes = yield* Disputes
    const store = yield* DisputeStore

    return handlers
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* store.list({ chargeId: query.charge_id, status: query.status }, page)
          const messages = yield* store.messagesOf(rows.map(({ id }) => id))
          return pageOf(
            rows.map((row) => toOperatorDispute(row, messages.get(row.id))),
            page.limit
          )
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("retrieve", ({ params }) =>
        disputes.find(params.id).pipe(
          Effect.flatMap((dispute) => withMessages(store, dispute)),
          Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable })
        )
      )
  })
)

const actionsLayer = HttpApiBuilder.group(
  OperatorApi,
  DisputeActionsGroup.identifier,
  Effect.fn(function* (handlers) {
    const disputes = yield* Disputes
    const store = yield* DisputeStore
    const audit = yield* AuditLog
    const failures = {
      RequestRefused: refusedAs("VALIDATION_ERROR"),
      NotFoundError: notFound,
      InvalidStateError: invalidState,
      Unavailable: serviceUnavailable
    }

    return handlers
      .handleRaw("defense", ({ params, request }) =>
        Effect.gen(function* () {
          yield* disputes.find(params.id)
          const { text } = yield* decodeBody(request, decodeTextBody)
          const dispute = yield* disputes.defend(params.id, text).pipe(audit.after("disputeActions.defense"))
          return jsonResponse(yield* withMessages(store, dispute), 200)
        }).pipe(Effect.catchTags(failures))
      )
      .handleRaw("message", ({ params, request }) =>
        Effect.gen(function* () {
          yield* disputes.find(params.id)
          const { text } = yield* decodeBody(request, decodeTextBody)
          const dispute = yield* disputes.write(params.id, text).pipe(audit.after("disputeActions.message"))
          return jsonResponse(yield* withMessages(store, dispute), 201)
        }).pipe(Effect.catchTags(failures))
      )
  })
)

export const layer = Layer.mergeAll(disputesLayer, actionsLayer)

/** A dispute as operators see it, with its messages as they are now. */
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
