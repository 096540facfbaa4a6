/**
 * The operator routes of accounts, applications and keys.
 */
import {
  decodeCreateAccount,
  decodeMoveAccount,
  decodeUpdateAccount,
  type OperatorAccount
} from "@pix-payments/api/operator/Accounts"
import { decodeCreateApplication, decodeUpdateApplication } from "@pix-payments/api/operator/Applications"
import { decodeCreateApiKey, decodeUpdateApiKey } from "@pix-payments/api/operator/Keys"
import { Forbidden } from "@pix-payments/api/WireErrors"
import { documentType } from "@pix-payments/domain/Document"
import { parseInstant } from "@pix-payments/domain/Instant"
import { loosenedLimits, withChanges } from "@pix-payments/domain/Limits"
import { mayGrantScopes } from "@pix-payments/domain/Operator"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type AccountRow, Accounts, type AccountSettings } from "../../../accounts/Accounts.ts"
import { ApiKeys } from "../../../accounts/ApiKeys.ts"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { ConnectionStore } from "../../../providers/connections/ConnectionStore.ts"
import { InvalidStateError, RequestRefused } from "../../../base/Errors.ts"
import { Settings } from "../../../base/Settings.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { PausedDeliveries } from "../../../webhooks/deliveries/PausedDeliveries.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { fourEyes } from "../approvals/FourEyes.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"
import { toApiKey, toApplication, toOperatorAccount } from "./AccountResource.ts"

export const accountHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const connections = yield* ConnectionStore
  const audit = yield* AuditLog
  const pausedDeliveries = yield* PausedDeliveries
  const { run } = yield* fourEyes
  const { cell } = yield* Settings

  const handlers: OperatorHandlers<"accounts"> = {
    create: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeCreateAccount)
        const row = yield* accounts
          .create(withoutNulls({ ...input, document_type: documentType(input.document) }))
          .pipe(audit.recordWith("accounts.create", { after: withoutNulls(input) }))
        return answer(201, toOperatorAccount(row))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR", "INVALID_DOCUMENT")
        })
      ),
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* accounts.list(page)
        return listAnswer(rows, toOperatorAccount, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toOperatorAccount(yield* accounts.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const fields = Effect.map(accounts.get(id), toOperatorAccount)
        yield* fields
        const changes = yield* decodeBody(body, decodeUpdateAccount)
        const { approval_limit, connection_id, limits, statement_account, ...others } = changes
        if (typeof connection_id === "string") {
          yield* Effect.catchTag(connections.get(connection_id), "NotFoundError", () =>
            Effect.fail(new RequestRefused({ code: "VALIDATION_ERROR", details: ["connection_id"] }))
          )
        }
        const settings = {
          ...withoutNulls(others),
          ...(connection_id !== undefined && { connection_id }),
          ...(approval_limit !== undefined && { approval_limit }),
          ...(statement_account !== undefined && { statement_account }),
          ...(limits !== undefined && { limits })
        }
        return yield* run(
          Effect.map(fields, (row) => updateOf(row, settings)),
          accounts
            .update(id, settings)
            .pipe(audit.recordChange("accounts.update", { table: "accounts", id }, fields, changes)),
          (row) => {
            pausedDeliveries.wake()
            return answer(200, toOperatorAccount(row))
          }
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, InvalidStateError: invalidState })),
    move: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { target } = yield* decodeBody(body, decodeMoveAccount)
        if (Option.isNone(cell)) return yield* new InvalidStateError({ status: "no cell" })
        if (cell.value === target) {
          return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["target"] })
        }
        return yield* run(
          Effect.flatMap(accounts.get(id), (row) => moveOf(row, target)),
          accounts.move(id, target).pipe(audit.recordWith("accounts.move", { after: { target } })),
          (row) => answer(202, toOperatorAccount(row))
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, InvalidStateError: invalidState }))
  }
  return handlers
})

/** The fields of an account whose change a second operator approves (OPR-112). */
const approvedChanges = (
  before: OperatorAccount,
  after: Partial<AccountSettings>
): ReadonlyArray<keyof OperatorAccount> =>
  (["connection_id", "approval_limit", "auto_payout_enabled", "payout_duplicate_window", "limits"] as const).filter(
    (name) => {
      if (after[name] === undefined || after[name] === before[name]) return false
      if (name === "limits") return loosenedLimits(before.limits, withChanges(before.limits, after.limits!)).length > 0
      if (name === "auto_payout_enabled") return after[name] === true && before.approval_limit !== null
      return name !== "payout_duplicate_window" || Number(after[name]) < before[name]
    }
  )

const updateOf = (before: OperatorAccount, settings: Partial<AccountSettings>): ApprovalRequest | undefined => {
  if (approvedChanges(before, settings).length === 0) return undefined
  return {
    action: "account.update",
    resourceId: before.id,
    accountId: before.id,
    concerns: null,
    request: { ...settings, ...(settings.limits && { limits: withChanges(before.limits, settings.limits) }) }
  }
}

/** Nothing to approve where the account moves there already. */
const moveOf = (
  { id, moved_to }: AccountRow,
  target: string
): Effect.Effect<ApprovalRequest | undefined, InvalidStateError> => {
  if (moved_to !== null && moved_to !== target) return Effect.fail(new InvalidStateError({ status: "moved" }))
  return Effect.succeed(
    moved_to === target
      ? undefined
      : { action: "account.move", resourceId: id, accountId: id, concerns: null, request: { target } }
  )
}

export const applicationHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const audit = yield* AuditLog
  const pausedDeliveries = yield* PausedDeliveries

  const handlers: OperatorHandlers<"applications"> = {
    create: ({ body, params }) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.get(yield* knownId(params))
        const { name } = yield* decodeBody(body, decodeCreateApplication)
        const row = yield* accounts
          .createApplication(id, name)
          .pipe(audit.recordWith("applications.create", { after: { name } }))
        return answer(201, toApplication(row))
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound })),
    list: ({ params, query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* accounts.listApplications(yield* knownId(params), page)
        return listAnswer(rows, toApplication, page)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toApplication(yield* accounts.getApplication(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const before = Effect.map(accounts.getApplication(id), (row) => ({ ...row }))
        yield* before
        const changes = yield* decodeBody(body, decodeUpdateApplication)
        const row = yield* accounts
          .updateApplication(id, withoutNulls(changes))
          .pipe(audit.recordChange("applications.update", { table: "applications", id }, before, changes))
        pausedDeliveries.wake()
        return answer(200, toApplication(row))
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound }))
  }
  return handlers
})

export const keyHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const keys = yield* ApiKeys
  const audit = yield* AuditLog
  const { run } = yield* fourEyes

  const handlers: OperatorHandlers<"keys"> = {
    create: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const application = yield* accounts.getApplication(yield* knownId(params))
        const input = yield* decodeBody(body, decodeCreateApiKey)
        if (!mayGrantScopes(caller.role, input.scopes)) return yield* new Forbidden({})
        const expiresAtMs = typeof input.expires_at === "string" ? parseInstant(input.expires_at) : undefined
        if (expiresAtMs !== undefined && expiresAtMs <= (yield* Clock.currentTimeMillis)) {
          return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["expires_at"] })
        }
        const scopes = [...new Set(input.scopes)]
        const asked: ApprovalRequest = {
          action: "key.create",
          resourceId: application.id,
          accountId: application.account_id,
          concerns: null,
          request: { name: input.name, scopes, expires_at: input.expires_at ?? null }
        }
        return yield* run(
          Effect.succeed(scopes.includes("payout:write") ? asked : undefined),
          keys
            .create({ applicationId: application.id, name: input.name, scopes, expiresAtMs })
            .pipe(audit.recordWith("keys.create", { after: input })),
          (row) => answer(201, { ...toApiKey(row), key: row.key })
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound })),
    list: ({ params, query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* keys.list(yield* knownId(params), page)
        return listAnswer(rows, toApiKey, page)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toApiKey(yield* keys.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { limits: changes } = yield* decodeBody(body, decodeUpdateApiKey)
        const fields = Effect.map(keys.get(id), toApiKey)
        yield* fields
        return yield* run(
          Effect.gen(function* () {
            const now = yield* fields
            const limits = withChanges(now.limits, changes)
            if (loosenedLimits(now.limits, limits).length === 0) return undefined
            const { account_id: accountId } = yield* accounts.getApplication(now.application_id)
            return { action: "key.update", resourceId: id, accountId, concerns: null, request: { limits } } as const
          }),
          keys
            .limit(id, changes)
            .pipe(audit.recordChange("keys.update", { table: "api_keys", id }, fields, { limits: changes })),
          (row) => answer(200, toApiKey(row))
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound })),
    revoke: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toApiKey(yield* keys.revoke(yield* knownId(params)).pipe(audit.recordWith("keys.revoke"))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

const invalid = refusedAs("VALIDATION_ERROR")

type WithoutNulls<A> = { readonly [K in keyof A]: Exclude<A[K], null> }

/** A field that is null counts as absent. */
const withoutNulls = <A extends object>(input: A): WithoutNulls<A> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)) as WithoutNulls<A>
