/**
 * The operator routes of exceptions.
 */
import {
  type AcquirerException,
  decodeResolveException,
  type ResolveException
} from "@pix-payments/api/operator/Exceptions"
import { CurrentOperator } from "@pix-payments/api/Security"
import type { Cents } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { RequestRefused } from "../../../base/Errors.ts"
import { type Decision, ExceptionResolution } from "../../../payments/exceptions/ExceptionResolution.ts"
import { ExceptionStore, type StoredException } from "../../../payments/exceptions/ExceptionStore.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { AccountOf } from "../../../operators/AccountOf.ts"
import { OrderKeys } from "../../../operators/OrderKeys.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, keyReused, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { fourEyes, openApprovals } from "../approvals/FourEyes.ts"
import { makeSettle } from "./SettlementHandlers.ts"
import type { OperatorHandlers } from "../OperatorHandlers.ts"

export const exceptionHandlers = Effect.gen(function* () {
  const store = yield* ExceptionStore
  const exceptions = yield* ExceptionResolution

  const handlers: OperatorHandlers<"exceptions"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* store.list({ kind: query.kind, status: query.status }, page)
        return listAnswer(rows, toException, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      exceptions.find(params.id).pipe(
        Effect.map((exception) => answer(200, toException(exception))),
        Effect.catchTags({ NotFoundError: notFound })
      )
  }
  return handlers
})

export const exceptionActionHandlers = Effect.gen(function* () {
  const exceptions = yield* ExceptionResolution
  const audit = yield* AuditLog
  const accountOf = yield* AccountOf
  const keys = yield* OrderKeys
  const settle = yield* makeSettle
  const openApproval = yield* openApprovals
  const { run } = yield* fourEyes

  const handlers: OperatorHandlers<"exceptionActions"> = {
    settle: settle("exception", (id) => Effect.map(exceptions.find(id), toException)),
    resolve: ({ body, idempotencyKey, params }) =>
      Effect.gen(function* () {
        const exception = yield* exceptions.find(params.id)
        const { id } = exception
        const input = yield* decodeBody(body, decodeResolveException)
        const decision = yield* decisionOf(input)
        const { accountIds, name } = yield* CurrentOperator
        if (decision.action === "accept" && decision.chargeId !== null && accountIds !== null) {
          // A charge of another account is an unknown one (OPR-39).
          const isOwn =
            isUuid(decision.chargeId) && (yield* accountOf.isOneOf("charges", decision.chargeId, accountIds))
          if (!isOwn) return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["charge_id"] })
        }
        const audited = audit.record("exceptionActions.resolve", id, { after: input })
        const shown = (resolved: StoredException) => answer(200, toException(resolved))
        return yield* keys.once(
          { operation: "exceptionActions.resolve", resourceId: id, key: idempotencyKey, body },
          (done) =>
            run(
              acceptanceOf(exception, decision),
              exceptions.resolve(id, decision, name, Effect.andThen(audited, done(id))),
              shown
            ).pipe(
              Effect.tap(({ body: asked }) =>
                asked?.object === "approval" ? Effect.ignore(done(asked.id)) : Effect.void
              )
            ),
          (resultId) =>
            Effect.filterOrElse(
              openApproval(resultId),
              (waits) => waits !== undefined,
              () => Effect.map(exceptions.find(id), shown)
            )
        )
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: notFound,
          InvalidStateError: invalidState,
          KeyReused: keyReused
        })
      )
  }

  /** What a second operator approves: money for another charge than the payment names. */
  const acceptanceOf = Effect.fnUntraced(function* (exception: StoredException, decision: Decision) {
    const { action, id, kind, status, unallocated } = exception
    // What cannot be accepted is refused by the action itself. The account of a contradictory outcome is known.
    if (decision.action !== "accept" || status !== "open" || action !== null || unallocated <= 0) return undefined
    if (kind === "contradictory_outcome") return undefined
    const { charge, isNamed } = yield* exceptions.acceptanceOf(exception, decision.chargeId)
    return isNamed
      ? undefined
      : ({
          action: "exception.accept",
          resourceId: id,
          accountId: charge.accountId,
          concerns: null,
          request: { charge_id: charge.id, reason: decision.reason },
          before: { status, unallocated }
        } as const)
  })
  return handlers
})

const decisionOf = ({ action, charge_id, reason }: ResolveException): Effect.Effect<Decision, RequestRefused> => {
  if (action !== "dismiss") return Effect.succeed({ action, chargeId: charge_id ?? null, reason: reason ?? null })
  return reason === undefined || reason === null
    ? Effect.fail(new RequestRefused({ code: "VALIDATION_ERROR", details: ["reason"] }))
    : Effect.succeed({ action, reason })
}

// CHECKs of the columns enforce the brand of the amounts.
const toException = (exception: StoredException): AcquirerException => ({
  id: exception.id,
  object: "exception",
  connection_id: exception.connectionId,
  kind: exception.kind,
  status: exception.status,
  amount: exception.amount as Cents,
  expected_amount: exception.expectedAmount as Cents | null,
  unallocated: exception.unallocated,
  currency: "BRL",
  end_to_end_id: exception.endToEndId,
  txid: exception.txid,
  external_id: exception.externalId,
  pix_key: exception.pixKey,
  payer: exception.payer,
  received: exception.received,
  occurred_at: formatInstant(exception.occurredAtMs),
  charge_id: exception.chargeId,
  account_id: exception.accountId,
  payout_id: exception.payoutId,
  refund_id: exception.refundId,
  provider_outcome: exception.providerOutcome,
  action: exception.action,
  reason: exception.reason,
  failure_reason: exception.failureReason,
  resolved_by: exception.resolvedBy,
  resolved_at: exception.resolvedAtMs === null ? null : formatInstant(exception.resolvedAtMs),
  created_at: formatInstant(exception.createdAtMs)
})
