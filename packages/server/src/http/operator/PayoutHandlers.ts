/**
 * Every payout, and what operators do with payouts.
 */
import {
  decodeCreateDashboardPayout,
  type OperatorPayout,
  PayoutActionsGroup,
  PayoutsGroup
} from "@pix-payments/api/operator/Payouts"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Accounts } from "../../accounts/Accounts.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { Payouts, toPayout } from "../../payouts/Payouts.ts"
import type { StoredPayout } from "../../payouts/PayoutStore.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  invalidState,
  notFound,
  refusedAs,
  serviceUnavailable,
  unknownCursor
} from "../WireTranslation.ts"
import { knownId, pageFrom } from "./Requests.ts"

const payoutsLayer = HttpApiBuilder.group(
  OperatorApi,
  PayoutsGroup.identifier,
  Effect.fn(function* (handlers) {
    const payouts = yield* Payouts

    return handlers
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* payouts.list(query.account_id, { status: query.status }, page)
          return pageOf(rows.map(toOperatorPayout), page.limit)
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("retrieve", ({ params }) =>
        payouts
          .find(params.id)
          .pipe(
            Effect.map(toOperatorPayout),
            Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable })
          )
      )
  })
)

const actionsLayer = HttpApiBuilder.group(
  OperatorApi,
  PayoutActionsGroup.identifier,
  Effect.fn(function* (handlers) {
    const payouts = yield* Payouts
    const accounts = yield* Accounts
    const audit = yield* AuditLog

    const decide = (id: string, decision: "approved" | "canceled", action: string) =>
      payouts.decide(id, decision).pipe(
        audit.after(action),
        Effect.map(toOperatorPayout),
        Effect.catchTags({
          NotFoundError: notFound,
          InvalidStateError: invalidState,
          Unavailable: serviceUnavailable
        })
      )

    return handlers
      .handleRaw(
        "create",
        ({ headers, params, request }) =>
          Effect.gen(function* () {
            const account = yield* accounts.get(yield* knownId(params.id))
            const input = yield* decodeBody(request, decodeCreateDashboardPayout)
            const { payout, replayed } = yield* payouts
              .createForOperator(account.id, headers["idempotency-key"], input)
              .pipe(
                Effect.map((created) => ({ ...created, id: created.payout.id })),
                audit.after("payoutActions.create")
              )
            return jsonResponse(toOperatorPayout(payout), 201, replayed ? { "idempotent-replayed": "true" } : undefined)
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
              InsufficientBalanceError: insufficientBalance,
              Unavailable: serviceUnavailable
            })
          ),
        { uninterruptible: true }
      )
      .handle("approve", ({ params }) => decide(params.id, "approved", "payoutActions.approve"))
      .handle("cancel", ({ params }) => decide(params.id, "canceled", "payoutActions.cancel"))
  })
)

export const layer = Layer.mergeAll(payoutsLayer, actionsLayer)

/** A payout as operators see it. */
export const toOperatorPayout = (payout: StoredPayout): OperatorPayout => ({
  ...toPayout(payout),
  recipient: {
    ...toPayout(payout).recipient,
    bank: payout.bankAccount?.bank ?? null,
    branch: payout.bankAccount?.branch ?? null,
    account: payout.bankAccount?.account ?? null,
    account_type: payout.bankAccount?.account_type ?? null
  },
  account_id: payout.accountId,
  application_id: payout.applicationId,
  origin: payout.origin,
  duplicate_of: payout.duplicateOf
})
