/**
 * The operator routes of payouts.
 */
import {
  type CreateDashboardPayout,
  decodeCreateDashboardPayout,
  OperatorPayout,
  type payoutFilters
} from "@pix-payments/api/operator/Payouts"
import type { Operator } from "@pix-payments/api/Security"
import { Forbidden } from "@pix-payments/api/WireErrors"
import type { ProviderOutcome } from "@pix-payments/domain/AcquirerException"
import { recipientKeyOf } from "@pix-payments/domain/Payout"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { Accounts } from "../../../accounts/Accounts.ts"
import type { RequestedPayoutFacts } from "../../../operators/approvals/ApprovalRow.ts"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { Ids } from "../../../base/Ids.ts"
import { AuditLog, withoutSecrets } from "../../../operations/AuditLog.ts"
import { ExceptionStore } from "../../../payments/exceptions/ExceptionStore.ts"
import { NewPayouts } from "../../../payments/payouts/creation/NewPayouts.ts"
import { toPayout } from "../../../payments/payouts/PayoutResource.ts"
import { Payouts } from "../../../payments/payouts/Payouts.ts"
import type { PayoutWalkFilters } from "../../../payments/payouts/PayoutWalks.ts"
import type { StoredPayout } from "../../../payments/payouts/PayoutTable.ts"
import { Secrets } from "../../../base/Secrets.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import {
  accountInactive,
  accountRestricted,
  insufficientBalance,
  invalidState,
  limitExceeded,
  keyReused,
  notFound,
  refusedAs,
  unknownCursor
} from "../../pipeline/WireTranslation.ts"
import { answer, created } from "../../pipeline/Answer.ts"
import type { Page } from "../../../database/statements/Paging.ts"
import { createdBetween, documentFrom, instantFrom, pageFrom, sumAnswer, walkedAnswer } from "../../pipeline/Lists.ts"
import { csvAnswers, reaisOf } from "../Csv.ts"
import { OrderKeys } from "../../../operators/OrderKeys.ts"
import { fourEyes, openApprovals } from "../approvals/FourEyes.ts"
import { makeSettle } from "./SettlementHandlers.ts"
import { isHidden, knownId, NO_PAGE, NOTHING, type OperatorHandlers } from "../OperatorHandlers.ts"

export const payoutHandlers = Effect.gen(function* () {
  const csvAnswer = yield* csvAnswers
  const payouts = yield* Payouts
  const exceptions = yield* ExceptionStore

  /** Reads pages of the payouts that the filters of a query leave. */
  const read = (caller: Operator, query: PayoutFiltersQuery) =>
    Effect.fnUntraced(function* (page: Page) {
      if (isHidden(caller, query.recipient_document)) return NO_PAGE
      const found = yield* payouts.listAll(query.account_id, filtersOf(query), page)
      const outcomes = yield* exceptions.contradictions(found.rows.map(({ id }) => id))
      return { ...found, rows: found.rows.map((payout) => toOperatorPayout(payout, outcomes.get(payout.id))) }
    })

  const handlers: OperatorHandlers<"payouts"> = {
    list: ({ caller, query }) =>
      Effect.gen(function* () {
        return walkedAnswer(yield* read(caller, query)(pageFrom(query)), (payout) => payout)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    summary: ({ caller, query }) =>
      Effect.map(
        isHidden(caller, query.recipient_document) ? NOTHING : payouts.sumAll(query.account_id, filtersOf(query)),
        sumAnswer
      ),
    export: ({ caller, query }) =>
      csvAnswer({
        caller,
        columns: payoutColumns,
        schema: OperatorPayout,
        read: read(caller, query),
        toItem: (payout) => payout
      }),
    retrieve: ({ params }) =>
      payouts.find(params.id).pipe(
        Effect.flatMap((payout) => withOutcome(exceptions, payout)),
        Effect.map((payout) => answer(200, payout)),
        Effect.catchTags({ NotFoundError: notFound })
      )
  }
  return handlers
})

type PayoutFiltersQuery = Schema.Struct<typeof payoutFilters>["Type"]

const filtersOf = (query: PayoutFiltersQuery): PayoutWalkFilters => ({
  status: query.status,
  method: query.method,
  origin: query.origin,
  ...createdBetween(query),
  reference: query.reference,
  endToEndId: query.end_to_end_id,
  applicationId: query.application_id,
  connectionId: query.connection_id,
  amountMin: query.amount_min,
  amountMax: query.amount_max,
  failedAfterMs: instantFrom(query.failed_after),
  failedBeforeMs: instantFrom(query.failed_before),
  failureReason: query.failure_reason,
  recipientDocument: documentFrom(query.recipient_document),
  q: query.q
})

const payoutColumns: Readonly<Record<string, (payout: OperatorPayout) => string | null>> = {
  id: ({ id }) => id,
  created_at: (payout) => payout.created_at,
  account_id: (payout) => payout.account_id,
  status: ({ status }) => status,
  method: ({ method }) => method,
  amount: ({ amount }) => reaisOf(amount),
  fee: ({ fee }) => reaisOf(fee),
  reference: ({ reference }) => reference,
  recipient_name: ({ recipient }) => recipient.name,
  recipient_document: ({ recipient }) => recipient.document,
  pix_key: ({ recipient }) => recipient.pix_key,
  processed_at: (payout) => payout.processed_at,
  end_to_end_id: (payout) => payout.end_to_end_id,
  failure_reason: (payout) => payout.failure_reason
}

export const payoutActionHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts
  const newPayouts = yield* NewPayouts
  const accounts = yield* Accounts
  const audit = yield* AuditLog
  const ids = yield* Ids
  const secrets = yield* Secrets
  const keys = yield* OrderKeys
  const exceptions = yield* ExceptionStore
  const settle = yield* makeSettle
  const openApproval = yield* openApprovals
  const { run } = yield* fourEyes

  const decided = (decision: "approved" | "canceled") => ({ before: { status: "pending" }, after: { decision } })

  const handlers: OperatorHandlers<"payoutActions"> = {
    create: ({ body, caller, idempotencyKey, params }) =>
      Effect.gen(function* () {
        const account = yield* accounts.get(yield* knownId(params))
        const { require_approval, ...input } = yield* decodeBody(body, decodeCreateDashboardPayout)
        if (require_approval && caller.id === null) return yield* new Forbidden({})
        const creation = run(
          Effect.map(newPayouts.previewForOperator(account.id, idempotencyKey, input), ({ payout, replayed }) =>
            replayed ? undefined : creationOf(account.id, idempotencyKey, input, payout)
          ),
          newPayouts.createForOperator(account.id, idempotencyKey, input).pipe(
            Effect.map((result) => ({ ...result, id: result.payout.id })),
            audit.recordAfter("payoutActions.create", { after: withoutSecrets(input) })
          ),
          ({ payout, replayed }) => created(toOperatorPayout(payout), replayed),
          require_approval ?? false
        )
        return yield* keys.once(
          { operation: "payoutActions.create", resourceId: account.id, key: idempotencyKey, body },
          (done) => Effect.tap(creation, (answered) => Effect.ignore(done(answered.body?.id ?? ""))),
          (resultId) =>
            Effect.filterOrElse(
              openApproval(resultId),
              (waits) => waits !== undefined,
              () => creation
            )
        )
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
          LimitExceededError: limitExceeded,
          InsufficientBalanceError: insufficientBalance,
          KeyReused: keyReused
        })
      ),
    approve: ({ params }) =>
      run(
        Effect.gen(function* () {
          const payout = yield* payouts.find(params.id)
          const { approval_limit: limit, status } = yield* accounts.get(payout.accountId)
          const isAbove = limit !== null && payout.amount > Number(limit)
          // What cannot be approved is refused by the action itself.
          return isAbove && payout.status === "pending" && status === "active" ? approvalOf(payout) : undefined
        }),
        payouts.approve(params.id).pipe(audit.recordWith("payoutActions.approve", decided("approved"))),
        (payout) => answer(200, toOperatorPayout(payout))
      ).pipe(Effect.catchTags({ NotFoundError: notFound, InvalidStateError: invalidState })),
    settle: settle(
      "payout",
      (id) => Effect.flatMap(payouts.find(id), (payout) => withOutcome(exceptions, payout)),
      (id) => Effect.map(payouts.find(id), factsOf)
    ),
    cancel: ({ params }) =>
      payouts.cancel(params.id).pipe(
        audit.recordAfter("payoutActions.cancel", decided("canceled")),
        Effect.map((payout) => answer(200, toOperatorPayout(payout))),
        Effect.catchTags({ NotFoundError: notFound, InvalidStateError: invalidState })
      )
  }

  const creationOf = (
    accountId: string,
    key: string | undefined,
    input: CreateDashboardPayout,
    preview: StoredPayout
  ): ApprovalRequest => {
    const { webhook_secret: secret } = input
    return {
      action: "payout.create",
      resourceId: accountId,
      accountId,
      concerns: null,
      request: { ...withoutSecrets(input), ...(key !== undefined && { idempotency_key: key }) },
      payout: { ...factsOf(preview), id: null },
      ...(secret && { seal: (id: string) => secrets.seal(secret, { kind: "approval", id }) }),
      // Without an idempotency key each request is one of its own.
      key: key ?? ids.next().id
    }
  }
  return handlers
})

const approvalOf = (payout: StoredPayout): ApprovalRequest => ({
  action: "payout.approve",
  resourceId: payout.id,
  accountId: payout.accountId,
  concerns: null,
  request: {},
  payout: factsOf(payout)
})

const factsOf = (payout: StoredPayout): RequestedPayoutFacts => {
  const { amount, description, duplicate_of, fee, id, method, recipient, reference } = toOperatorPayout(payout)
  const recipient_key = recipientKeyOf(recipient)
  return { id, method, amount, fee, description, reference, recipient, recipient_key, duplicate_of }
}

/** A payout with what its provider says, where that contradicts it. */
export const withOutcome = (exceptions: ExceptionStore["Service"], payout: StoredPayout) =>
  Effect.map(exceptions.contradictions([payout.id]), (outcomes) => toOperatorPayout(payout, outcomes.get(payout.id)))

/** The payout resource of `/operator/v1`. One that has not ended is contradicted by nothing. */
const toOperatorPayout = (payout: StoredPayout, providerOutcome: ProviderOutcome | null = null): OperatorPayout => {
  const shown = toPayout(payout)
  const { account = null, account_type = null, bank = null, branch = null } = payout.bankAccount ?? {}
  return {
    ...shown,
    recipient: { ...shown.recipient, bank, branch, account, account_type },
    account_id: payout.accountId,
    application_id: payout.applicationId,
    origin: payout.origin,
    duplicate_of: payout.duplicateOf,
    provider_outcome: providerOutcome
  }
}
