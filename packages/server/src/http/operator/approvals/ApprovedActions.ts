/**
 * Does what a request asked for, in the transaction that approves it.
 *
 * Guarantees:
 * - What the request was about is locked, and has the values that the requester saw. Otherwise the request is `Outdated`.
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
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Accounts } from "../../../accounts/Accounts.ts"
import { Adjustments } from "../../../accounts/Adjustments.ts"
import { ApiKeys } from "../../../accounts/ApiKeys.ts"
import type { ApprovalRequired } from "../../../operators/approvals/Authority.ts"
import { type ApprovalRow, changedFields, type Fields } from "../../../operators/approvals/ApprovalStore.ts"
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
import { AuditLog } from "../../../operations/AuditLog.ts"
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
import { operationOf, settlementFrom } from "../payments/SettlementHandlers.ts"
import { toApiKey, toOperatorAccount } from "../administration/AccountHandlers.ts"

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
  const sql = yield* SqlClient
  const payouts = yield* Payouts
  const newPayouts = yield* NewPayouts
  const accounts = yield* Accounts
  const adjustments = yield* Adjustments
  const keys = yield* ApiKeys
  const operators = yield* Operators
  const connections = yield* ConnectionStore
  const installation = yield* Installation
  const exceptions = yield* ExceptionResolution
  const settlements = yield* HandSettlements
  const payers = yield* Payers
  const secrets = yield* Secrets
  const audit = yield* AuditLog

  /** Locks the row of the request until the transaction ends. */
  const lock = (table: "accounts" | "api_keys" | "operators" | "acquirer_connections", id: string) =>
    sql.unsafe(`SELECT 1 FROM ${table} WHERE id = $1::uuid FOR NO KEY UPDATE`, [id])

  /** Fails where a value that the request replaces is not what the requester saw. */
  const unchanged = ({ before }: ApprovalRow, now: Fields): Effect.Effect<void, Outdated> => {
    const changed = changedFields(before, now)
    return changed.length === 0
      ? Effect.void
      : Effect.fail(new Outdated({ reason: `It was changed since: ${changed.join(", ")}.` }))
  }

  const releasePayout = Effect.fnUntraced(function* (id: string) {
    const { status } = yield* payouts.find(id)
    if (status !== "pending") return yield* new Outdated({ reason: `The payout is ${status}.` })
    return yield* payouts
      .release(id)
      .pipe(audit.recordWith("payoutActions.approve", { before: { status }, after: { decision: "approved" } }))
  })

  const createPayout = Effect.fnUntraced(function* (row: ApprovalRow, accountId: string) {
    const secret = row.sealed === null ? {} : { webhook_secret: opened(row.sealed, row.id) }
    const { idempotency_key: key, ...request } = row.request
    const input = yield* decodeBody({ ...request, ...secret }, decodeCreateDashboardPayout)
    const { payout } = yield* newPayouts.createForOperator(accountId, typeof key === "string" ? key : undefined, input)
    // The fee that was shown is the one that is taken.
    if (payout.fee !== row.payout?.fee) return yield* new Outdated({ reason: "It was changed since: payout_fee." })
    yield* audit.record("payoutActions.create", payout.id, { after: row.request })
    return payout
  })

  const opened = (sealed: string, id: string) => Redacted.value(secrets.open(sealed, { kind: "approval", id }))

  const updateAccount = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    yield* lock("accounts", id)
    yield* unchanged(row, { ...toOperatorAccount(yield* accounts.get(id)) })
    return yield* accounts.update(id, row.request).pipe(audit.recordWith("accounts.update", changeOf(row)))
  })

  const updateKey = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    yield* lock("api_keys", id)
    yield* unchanged(row, { ...toApiKey(yield* keys.get(id)) })
    const { limits } = row.request as { readonly limits: LimitChanges }
    return yield* keys.limit(id, limits).pipe(audit.recordWith("keys.update", changeOf(row)))
  })

  const updateOperator = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    yield* lock("operators", id)
    yield* unchanged(row, { ...(yield* operators.get(id)) })
    return yield* operators
      .update(id, row.request as OperatorChanges)
      .pipe(audit.recordWith("operators.update", changeOf(row)))
  })

  const acceptException = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    const found = yield* exceptions.find(id)
    yield* unchanged(row, { ...found, charge_id: found.chargeId, account_id: found.accountId })
    const { account_id, amount, charge_id, reason } = row.request
    const textOf = (value: unknown) => (typeof value === "string" ? value : null)
    const decision = {
      action: "accept",
      amount: typeof amount === "number" ? amount : null,
      chargeId: textOf(charge_id),
      // A charge says its account.
      accountId: textOf(charge_id) === null ? textOf(account_id) : null,
      reason: textOf(reason),
      unallocated: found.unallocated
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

  /** A token is created when its requester repeats the request (OPR-115), for an owner as it was. */
  const checkOwner = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    yield* lock("operators", id)
    yield* unchanged(row, { ...(yield* operators.get(id)) })
    return { id: null }
  })

  const updateConnection = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    yield* lock("acquirer_connections", id)
    yield* unchanged(row, { ...(yield* connections.get(id)) })
    return yield* connections
      .update(id, JSON.parse(row.sealed ?? "{}") as PreparedChanges)
      .pipe(audit.recordWith("connectionActions.update"))
  })

  /** A webhook is registered when its requester repeats the request, because a provider is called. */
  const checkConnection = Effect.fnUntraced(function* (row: ApprovalRow, id: string) {
    const { settings } = yield* connections.get(id)
    yield* unchanged(row, { mtls: settings.webhook_mtls ?? null })
    return { id: null }
  })

  const updateInstallation = Effect.fnUntraced(function* (row: ApprovalRow) {
    yield* sql`SELECT 1 FROM installation_settings FOR NO KEY UPDATE`
    yield* unchanged(row, { ...(yield* installation.get) })
    yield* installation.update(row.request as InstallationChanges, () =>
      audit.record("installation.update", null, changeOf(row))
    )
    return { id: null }
  })

  const adjust = Effect.fnUntraced(function* (row: ApprovalRow, accountId: string) {
    const { amount, reason } = yield* decodeBody({ ...row.request, account_id: accountId }, decodeCreateAdjustment)
    return yield* adjustments.create({ accountId, amount, reason }, (id) =>
      audit.record("adjustments.create", id, { after: { ...row.request, account_id: accountId } })
    )
  })

  const act = (row: ApprovalRow): Effect.Effect<Done, Failure, CurrentOperator> => {
    const id = row.resource_id ?? ""
    switch (row.action) {
      case "payout.release":
        return releasePayout(id)
      case "payout.create":
        return createPayout(row, id)
      case "account.update":
        return updateAccount(row, id)
      case "key.update":
        return updateKey(row, id)
      case "operator.create":
        return operators
          .create(row.request as unknown as Parameters<Operators["Service"]["create"]>[0])
          .pipe(audit.recordWith("operators.create", { after: row.request }))
      case "operator.update":
        return updateOperator(row, id)
      case "connection.create":
        return connections
          .create(JSON.parse(row.sealed ?? "{}") as PreparedConnection)
          .pipe(audit.recordWith("connectionActions.create"))
      case "installation.update":
        return updateInstallation(row)
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
        return updateConnection(row, id)
      case "connection.register_webhook":
        return checkConnection(row, id)
      case "key.create":
        return Effect.succeed({ id: null })
      case "operator_token.create":
        return checkOwner(row, id)
      default:
        return Effect.die(new Error(`${row.action} is not done with its approval`))
    }
  }

  /** The id of what the action changed or created. */
  return (row: ApprovalRow) =>
    act(row).pipe(
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
