/**
 * Does what a request asked for, in the transaction that approves it.
 *
 * Guarantees:
 * - What the request is about is locked, and is as it was when it was asked (`ApprovalFacts`). Otherwise the request is `Outdated`.
 * - Nothing here calls a provider or a name server: what needs that was done before the request was stored.
 *
 * Rules: OPR-113, OPR-114.
 */
import { decodeCreateAdjustment } from "@pix-payments/api/operator/Adjustments"
import { decodeCreateDashboardPayout } from "@pix-payments/api/operator/Payouts"
import { CurrentOperator } from "@pix-payments/api/Security"
import type { LimitChanges } from "@pix-payments/domain/Limits"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { SqlError } from "effect/sql/SqlError"
import { Accounts } from "../../../accounts/Accounts.ts"
import { Adjustments } from "../../../accounts/Adjustments.ts"
import { ApiKeys } from "../../../accounts/ApiKeys.ts"
import type { ApprovalRequired } from "../../../operators/approvals/Authority.ts"
import type { ApprovalRow } from "../../../operators/approvals/ApprovalRow.ts"
import { changedFields } from "../../../operators/approvals/ApprovalStore.ts"
import type { PreparedChanges, PreparedConnection } from "../../../providers/connections/Connections.ts"
import { ConnectionStore } from "../../../providers/connections/ConnectionStore.ts"
import {
  type AccountInactiveError,
  type AccountRestrictedError,
  type InsufficientBalanceError,
  InvalidStateError,
  type LimitExceededError,
  type NotFoundError,
  type RequestRefused
} from "../../../base/Errors.ts"
import { AuditLog, changeOf as fieldsChanged, withoutSecrets } from "../../../operations/AuditLog.ts"
import { Installation, type InstallationChanges } from "../../../operators/Installation.ts"
import { type OperatorChanges, Operators } from "../../../operators/Operators.ts"
import { ExceptionResolution } from "../../../payments/exceptions/ExceptionResolution.ts"
import { HandSettlements, type SettledKind } from "../../../payments/exceptions/HandSettlements.ts"
import { NewPayouts } from "../../../payments/payouts/creation/NewPayouts.ts"
import { Payers } from "../../../operations/Payers.ts"
import { Payouts } from "../../../payments/payouts/Payouts.ts"
import { Secrets } from "../../../base/Secrets.ts"
import type { Unavailable } from "../../../database/Unavailable.ts"
import { payerOf } from "../operations/PayerHandlers.ts"
import { confirmed } from "../administration/InstallationHandlers.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { approvalFacts } from "./ApprovalFacts.ts"
import { operationOf, settlementFrom } from "../payments/SettlementHandlers.ts"

const changeOf = ({ before, request }: ApprovalRow) => ({ ...(before !== null && { before }), after: request })

interface Done {
  /** Null where the installation is changed, which has no id. */
  readonly id: string | null
}

type Failure =
  | Outdated
  | ApprovalRequired
  | NotFoundError
  | RequestRefused
  | InvalidStateError
  | AccountInactiveError
  | AccountRestrictedError
  | LimitExceededError
  | InsufficientBalanceError
  | SqlError
  | Unavailable

/** The request cannot be done any more. */
export class Outdated extends Data.TaggedError("Outdated")<{ readonly reason: string }> {}

export const approvedActions = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  const operators = yield* Operators
  const connections = yield* ConnectionStore
  const installation = yield* Installation
  const payers = yield* Payers
  const audit = yield* AuditLog
  const factsOf = yield* approvalFacts
  const { acceptException, adjust, createPayout, approvePayout, settle } = yield* moneyActions

  /** Fails where something is not as the requester saw it. */
  const unchanged = Effect.fnUntraced(function* (row: ApprovalRow) {
    const asked = { action: row.action, resourceId: row.resource_id, accountId: row.account_id, request: row.request }
    const changed = changedFields(row.before, yield* factsOf(asked))
    if (changed.length > 0) return yield* new Outdated({ reason: `It was changed since: ${changed.join(", ")}.` })
  })

  const updateKey = (row: ApprovalRow, id: string) => {
    const { limits } = row.request as { readonly limits: LimitChanges }
    return keys.limit(id, limits).pipe(audit.recordWith("keys.update", changeOf(row)))
  }

  const act = (row: ApprovalRow): Effect.Effect<Done, Failure, CurrentOperator> => {
    const id = row.resource_id ?? ""
    switch (row.action) {
      case "payout.approve":
        return approvePayout(id)
      case "payout.create":
        return createPayout(row, id)
      case "account.update":
        return accounts.update(id, row.request).pipe(audit.recordWith("accounts.update", changeOf(row)))
      case "account.move":
        return accounts.move(id, String(row.request["target"])).pipe(audit.recordWith("accounts.move", changeOf(row)))
      case "key.update":
        return updateKey(row, id)
      case "operator.create":
        return operators
          .create(row.request as unknown as Parameters<Operators["Service"]["create"]>[0])
          .pipe(audit.recordWith("operators.create", { after: row.request }))
      case "operator.update":
        return operators
          .update(id, row.request as OperatorChanges)
          .pipe(audit.recordWith("operators.update", changeOf(row)))
      case "connection.create":
        return connections
          .create(JSON.parse(row.sealed ?? "{}") as PreparedConnection)
          .pipe(audit.recordWith("connectionActions.create", { after: withoutSecrets(row.request) }))
      case "installation.update":
        return Effect.as(
          installation.update(row.request as InstallationChanges, () => audit.record(row.action, null, changeOf(row))),
          { id: null }
        )
      case "installation.confirm_outward":
        return Effect.as(installation.confirmOutward(audit.record(row.action, null, confirmed)), { id: null })
      case "exception.accept":
        return acceptException(row, id)
      case "payout.settle":
        return settle("payout", row, id)
      case "refund.settle":
        return settle("refund", row, id)
      case "exception.settle":
        return settle("exception", row, id)
      case "payer.anonymise":
        return Effect.as(
          payers.anonymise(payerOf(row.request), audit.record("payers.anonymise", null, changeOf(row))),
          { id: null }
        )
      case "adjustment.create":
        return adjust(row, id)
      case "connection.update":
        return connections
          .update(id, JSON.parse(row.sealed ?? "{}") as PreparedChanges)
          .pipe(
            audit.recordWith("connectionActions.update", fieldsChanged(row.before ?? {}, withoutSecrets(row.request)))
          )
      // Done when the requester repeats the request (OPR-115).
      case "connection.register_webhook":
      case "key.create":
      case "operator_token.create":
        return Effect.succeed({ id: null })
      default:
        return Effect.die(new Error(`${row.action} is not done with its approval`))
    }
  }

  /** The id of what the action changed or created. */
  return (row: ApprovalRow) =>
    Effect.andThen(unchanged(row), act(row)).pipe(
      Effect.map(({ id }) => id),
      Effect.catchTags({
        NotFoundError: () => new Outdated({ reason: "What it is about does not exist any more." }),
        RequestRefused: ({ details }) =>
          new Outdated({
            reason: `It is not valid any more${details === undefined ? "" : `: ${details.join(", ")}`}.`
          }),
        // The statement saw another state than the check before it.
        ApprovalRequired: () => new InvalidStateError({ status: "pending" })
      })
    )
})

/** Actions that move money. */
const moneyActions = Effect.gen(function* () {
  const payouts = yield* Payouts
  const newPayouts = yield* NewPayouts
  const adjustments = yield* Adjustments
  const exceptions = yield* ExceptionResolution
  const settlements = yield* HandSettlements
  const secrets = yield* Secrets
  const audit = yield* AuditLog

  const approvePayout = (id: string) =>
    payouts
      .approve(id)
      .pipe(
        audit.recordWith("payoutActions.approve", { before: { status: "pending" }, after: { decision: "approved" } })
      )

  const createPayout = Effect.fnUntraced(function* (row: ApprovalRow, accountId: string) {
    const secret = row.sealed === null ? {} : { webhook_secret: opened(row.sealed, row.id) }
    const { idempotency_key: key, ...request } = row.request
    const input = yield* decodeBody({ ...request, ...secret }, decodeCreateDashboardPayout)
    const { payout } = yield* newPayouts.createForOperator(accountId, typeof key === "string" ? key : undefined, input)
    // The fee that was shown is the one that is taken. It is decided with the payout, under the lock.
    if (payout.fee !== row.payout?.fee) return yield* new Outdated({ reason: "It was changed since: payout_fee." })
    yield* audit.record("payoutActions.create", payout.id, { after: row.request })
    return payout
  })

  const opened = (sealed: string, id: string) => Redacted.value(secrets.open(sealed, { kind: "approval", id }))

  const acceptException = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    const { account_id, amount, charge_id, reason } = row.request
    const textOf = (value: unknown) => (typeof value === "string" ? value : null)
    const decision = {
      action: "accept",
      amount: typeof amount === "number" ? amount : null,
      chargeId: textOf(charge_id),
      // A charge says its account.
      accountId: textOf(charge_id) === null ? textOf(account_id) : null,
      reason: textOf(reason)
    } as const
    const { name } = yield* CurrentOperator
    return yield* exceptions.resolve(id, decision, name, audit.record("exceptionActions.resolve", id, changeOf(row)))
  })

  /** One that the provider has ended meanwhile is out of date. */
  const settle = Effect.fnUntraced(function* (kind: SettledKind, row: ApprovalRow, id: string) {
    const settlement = yield* settlementFrom(kind, row.request)
    return yield* settlements
      .settle(kind, id, settlement, audit.record(operationOf(kind), id, changeOf(row)))
      .pipe(Effect.catchTag("InvalidStateError", ({ status }) => new Outdated({ reason: `The ${kind} is ${status}.` })))
  })

  const adjust = Effect.fnUntraced(function* (row: ApprovalRow, accountId: string) {
    const { amount, reason } = yield* decodeBody({ ...row.request, account_id: accountId }, decodeCreateAdjustment)
    return yield* adjustments.create({ accountId, amount, reason }, (id) =>
      audit.record("adjustments.create", id, { after: { ...row.request, account_id: accountId } })
    )
  })

  return { acceptException, adjust, createPayout, approvePayout, settle }
})
