/**
 * The operator routes of exceptions.
 */
import {
  type AcquirerException,
  decodeRefundException,
  decodeResolveException,
  type ResolveException
} from "@pix-payments/api/operator/Exceptions"
import { CurrentOperator } from "@pix-payments/api/Security"
import type { Cents } from "@pix-payments/domain/Cents"
import { formatInstant } from "@pix-payments/domain/Instant"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { RequestRefused } from "../../../base/Errors.ts"
import { ofAccount } from "../../../database/statements/Paging.ts"
import { Acceptance, isAcceptable } from "../../../payments/exceptions/Acceptance.ts"
import { ExceptionRefunds } from "../../../payments/exceptions/ExceptionRefunds.ts"
import { type Decision, ExceptionResolution } from "../../../payments/exceptions/ExceptionResolution.ts"
import { ExceptionStore, type StoredException } from "../../../payments/exceptions/ExceptionStore.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { AccountOf } from "../../../operators/AccountOf.ts"
import { OrderKeys } from "../../../operators/OrderKeys.ts"
import { answer } from "../../pipeline/Answer.ts"
import { createdBetween, listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import {
  insufficientBalance,
  invalidState,
  keyReused,
  notFound,
  refusedAs,
  unknownCursor
} from "../../pipeline/WireTranslation.ts"
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
        const filters = { kind: query.kind, status: query.status, ...createdBetween(query) }
        const rows = yield* ofAccount(query.account_id)(store.list(filters, page))
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
  const acceptance = yield* Acceptance
  const refunds = yield* ExceptionRefunds
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
        if (decision.action === "accept" && accountIds !== null) {
          // A charge of another account, and another account, are unknown ones (OPR-39).
          for (const [field, kind, named] of [
            ["charge_id", "charges", decision.chargeId],
            ["account_id", "accounts", decision.accountId]
          ] as const) {
            const isOwn = named === null || (isUuid(named) && (yield* accountOf.isOneOf(kind, named, accountIds)))
            if (!isOwn) return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: [field] })
          }
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
          RequestRefused: refusedAs("VALIDATION_ERROR", "AMOUNT_BELOW_MINIMUM"),
          NotFoundError: notFound,
          InvalidStateError: invalidState,
          KeyReused: keyReused
        })
      ),
    refund: ({ body, idempotencyKey, params }) =>
      Effect.gen(function* () {
        const { id } = yield* exceptions.find(params.id)
        const { amount } = yield* decodeBody(body, decodeRefundException)
        const audited = audit.record("exceptionActions.refund", id, { after: { amount: amount ?? null } })
        const refunded = yield* keys.once(
          { operation: "exceptionActions.refund", resourceId: id, key: idempotencyKey, body },
          (done) => refunds.refund(id, amount ?? undefined, Effect.andThen(audited, done(id))),
          () => exceptions.find(id)
        )
        return answer(200, toException(refunded))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR", "AMOUNT_BELOW_MINIMUM"),
          NotFoundError: notFound,
          InvalidStateError: invalidState,
          InsufficientBalanceError: insufficientBalance,
          KeyReused: keyReused
        })
      )
  }

  /** What a second operator approves: money for another charge or account than the payment names. */
  const acceptanceOf = Effect.fnUntraced(function* (exception: StoredException, decision: Decision) {
    const { action, id, status } = exception
    // What cannot be accepted is refused by the action itself.
    if (decision.action !== "accept" || status !== "open" || action !== null) return undefined
    if (!isAcceptable(exception)) return undefined
    const { accountId, charge, isNamed } = yield* acceptance.recipientOf(exception, decision)
    const to = { ...(charge !== undefined && { charge_id: charge.id }), account_id: accountId }
    // What is of two accounts is for operators without a limit.
    const isOfOne = exception.accountId === null || exception.accountId === accountId
    return isNamed
      ? undefined
      : ({
          action: "exception.accept",
          resourceId: id,
          accountId: isOfOne ? accountId : null,
          concerns: null,
          request: {
            ...to,
            ...(decision.amount !== null && { amount: decision.amount }),
            reason: decision.reason
          }
        } as const)
  })
  return handlers
})

const decisionOf = (input: ResolveException): Effect.Effect<Decision, RequestRefused> => {
  const { action, amount = null, reason } = input
  // PostgreSQL's form of ids.
  const [accountId = null, chargeId = null] = [input.account_id?.toLowerCase(), input.charge_id?.toLowerCase()]
  if (action === "return") return Effect.succeed({ action, reason: reason ?? null })
  if (action === "accept") return Effect.succeed({ action, amount, chargeId, accountId, reason: reason ?? null })
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
