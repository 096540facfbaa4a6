/**
 * The operator routes of payouts.
 */
import { decodeCreateDashboardPayout, type OperatorPayout } from "@pix-payments/api/operator/Payouts"
import * as Effect from "effect/Effect"
import { Accounts } from "../../accounts/Accounts.ts"
import { AuditLog, withoutSecrets } from "../../operations/AuditLog.ts"
import { toPayout } from "../../payouts/PayoutResource.ts"
import { Payouts } from "../../payouts/Payouts.ts"
import type { StoredPayout } from "../../payouts/PayoutTable.ts"
import { decodeBody } from "../RequestDecoding.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  invalidState,
  notFound,
  refusedAs,
  unknownCursor
} from "../WireTranslation.ts"
import { answer, created } from "../Answer.ts"
import { listAnswer, pageFrom } from "../Lists.ts"
import { knownId, type OperatorHandlers } from "./OperatorHandlers.ts"

export const payoutHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts

  const handlers: OperatorHandlers<"payouts"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* payouts.list(query.account_id, { status: query.status }, page)
        return listAnswer(rows, toOperatorPayout, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      payouts.find(params.id).pipe(
        Effect.map((payout) => answer(200, toOperatorPayout(payout))),
        Effect.catchTags({ NotFoundError: notFound })
      )
  }
  return handlers
})

export const payoutActionHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts
  const accounts = yield* Accounts
  const audit = yield* AuditLog

  const decide = (id: string, decision: "approved" | "canceled", action: string) =>
    payouts.decide(id, decision).pipe(
      audit.recordAfter(action, { before: { status: "pending" }, after: { decision } }),
      Effect.map((payout) => answer(200, toOperatorPayout(payout))),
      Effect.catchTags({
        NotFoundError: notFound,
        InvalidStateError: invalidState
      })
    )

  const handlers: OperatorHandlers<"payoutActions"> = {
    create: ({ body, idempotencyKey, params }) =>
      Effect.gen(function* () {
        const account = yield* accounts.get(yield* knownId(params))
        const input = yield* decodeBody(body, decodeCreateDashboardPayout)
        const { payout, replayed } = yield* payouts.createForOperator(account.id, idempotencyKey, input).pipe(
          Effect.map((result) => ({ ...result, id: result.payout.id })),
          audit.recordAfter("payoutActions.create", { after: withoutSecrets(input) })
        )
        return created(toOperatorPayout(payout), replayed)
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs(
            "VALIDATION_ERROR",
            "AMOUNT_BELOW_MINIMUM",
            "INVALID_DOCUMENT",
            "INVALID_WEBHOOK_URL"
          ),
          NotFoundError: notFound,
          AccountInactiveError: accountInactive,
          AccountRestrictedError: accountRestricted,
          InsufficientBalanceError: insufficientBalance
        })
      ),
    approve: ({ params }) => decide(params.id, "approved", "payoutActions.approve"),
    cancel: ({ params }) => decide(params.id, "canceled", "payoutActions.cancel")
  }
  return handlers
})

/** The payout resource of `/operator/v1`. */
export const toOperatorPayout = (payout: StoredPayout): OperatorPayout => {
  const shown = toPayout(payout)
  const { account = null, account_type = null, bank = null, branch = null } = payout.bankAccount ?? {}
  return {
    ...shown,
    recipient: { ...shown.recipient, bank, branch, account, account_type },
    account_id: payout.accountId,
    application_id: payout.applicationId,
    origin: payout.origin,
    duplicate_of: payout.duplicateOf
  }
}
