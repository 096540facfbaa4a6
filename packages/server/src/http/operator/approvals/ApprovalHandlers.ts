/**
 * The operator routes of requests for approval.
 *
 * Guarantees:
 * - A decision, the effect of the action and their entries in the audit log are one commit.
 * - A request that cannot be done any more expires with the reason, and is refused.
 *
 * Rules: OPR-111 to OPR-117.
 */
import { decodeApprove, decodeReject } from "@pix-payments/api/operator/Approvals"
import type { Operator } from "@pix-payments/api/Security"
import { Forbidden, InvalidState } from "@pix-payments/api/WireErrors"
import { approvalActions, type ApprovalDecision, isRepeated } from "@pix-payments/domain/Approval"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { ApprovalStore } from "../../../operators/approvals/ApprovalStore.ts"
import { Authority } from "../../../operators/approvals/Authority.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { Operators } from "../../../operators/Operators.ts"
import { ofAccount } from "../../../database/statements/Paging.ts"
import { runToCompletion } from "../../../database/RunToCompletion.ts"
import { answer } from "../../pipeline/Answer.ts"
import { createdBetween, listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  invalidState,
  limitExceeded,
  notFound,
  refusedAs,
  unknownCursor
} from "../../pipeline/WireTranslation.ts"
import { toApproval } from "./ApprovalResource.ts"
import { approvedActions, Outdated } from "./ApprovedActions.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const approvalHandlers = Effect.gen(function* () {
  const store = yield* ApprovalStore

  const handlers: OperatorHandlers<"approvals"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const filters = { status: query.status, ...createdBetween(query) }
        const rows = yield* ofAccount(query.account_id)(store.list(filters, page))
        return listAnswer(rows, toApproval, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toApproval(yield* store.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

const OWN =
  "You asked for it, it is about you, or a token behind it or behind this call was made by such an operator: another one decides."

export const approvalActionHandlers = Effect.gen(function* () {
  const sql = yield* SqlClient
  const store = yield* ApprovalStore
  const operators = yield* Operators
  const audit = yield* AuditLog
  const execute = yield* approvedActions

  /** Why the statement of a decision did nothing. */
  const refusalOf = Effect.fnUntraced(function* (id: string, decision: ApprovalDecision) {
    const { account_id, action, requested_by, status } = yield* store.get(id)
    if (status !== "pending") return new InvalidState({ message: `The request is ${status}.` })
    const requester = yield* operators.get(requested_by)
    const mayRequest =
      requester.active &&
      approvalActions[action].requestedBy.includes(requester.role) &&
      (requester.account_ids === null || (account_id !== null && requester.account_ids.includes(account_id)))
    return decision === "reject" || mayRequest
      ? new Forbidden({})
      : new Outdated({ reason: "The operator who requested it may not request it any more." })
  })

  /** Decides with the effect of the decision in one commit. */
  const decide = Effect.fnUntraced(function* (
    id: string,
    decision: ApprovalDecision,
    caller: Operator,
    reason: string | null
  ) {
    const { concerns, made_by, requested_by } = yield* store.get(id)
    const { id: by, madeBy = null } = caller
    // Who made a credential is behind what is done with it (OPR-203).
    const isOwn = [by, madeBy].some((each) => each !== null && [requested_by, made_by, concerns].includes(each))
    if (isOwn) return yield* new Forbidden({ message: OWN })
    const row = yield* store.decide(id, decision, { id: by, madeBy }, reason)
    if (row === undefined) return yield* Effect.flatMap(refusalOf(id, decision), Effect.fail)
    const after = { status: row.status, action: row.action, resource_id: row.resource_id, reason }
    yield* audit.record(`approvals.${decision}`, id, { before: { status: "pending" }, after })
    return row
  })

  const approve = (id: string, caller: Operator, reason: string | null) =>
    Effect.gen(function* () {
      const row = yield* decide(id, "approve", caller, reason)
      const resultId = yield* Effect.provideService(execute(row), Authority, { approvalId: id, isExempt: false })
      if (isRepeated(row.action)) return row
      yield* store.use(id, resultId)
      return yield* store.get(id)
    }).pipe(
      sql.withTransaction,
      runToCompletion(sql),
      Effect.catchTag("Outdated", ({ reason: why }) =>
        Effect.andThen(runToCompletion(sql)(store.expire(id, why)), Effect.fail(new InvalidState({ message: why })))
      )
    )

  const reject = (id: string, caller: Operator, reason: string) =>
    decide(id, "reject", caller, reason).pipe(
      Effect.catchTag("Outdated", Effect.die),
      sql.withTransaction,
      runToCompletion(sql)
    )

  const handlers: OperatorHandlers<"approvalActions"> = {
    approve: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { reason } = yield* decodeBody(body ?? {}, decodeApprove)
        return answer(200, toApproval(yield* approve(id, caller, reason ?? null)))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: notFound,
          InvalidStateError: invalidState,
          AccountInactiveError: accountInactive,
          AccountRestrictedError: accountRestricted,
          LimitExceededError: limitExceeded,
          InsufficientBalanceError: insufficientBalance
        })
      ),
    reject: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        yield* store.get(id)
        const { reason } = yield* decodeBody(body, decodeReject)
        return answer(200, toApproval(yield* reject(id, caller, reason)))
      }).pipe(Effect.catchTags({ RequestRefused: refusedAs("VALIDATION_ERROR"), NotFoundError: notFound }))
  }
  return handlers
})
