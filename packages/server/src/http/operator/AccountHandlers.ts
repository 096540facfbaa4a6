/**
 * Accounts, applications and keys, for operators.
 */
import {
  AccountsGroup,
  decodeCreateAccount,
  decodeUpdateAccount,
  type OperatorAccount
} from "@pix-payments/api/operator/Accounts"
import {
  type Application,
  ApplicationsGroup,
  decodeCreateApplication,
  decodeUpdateApplication
} from "@pix-payments/api/operator/Applications"
import { type ApiKey, decodeCreateApiKey, KeysGroup } from "@pix-payments/api/operator/Keys"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { documentType } from "@pix-payments/domain/Document"
import { parseInstant } from "@pix-payments/domain/Instant"
import { pageOf } from "@pix-payments/domain/List"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { type AccountRow, Accounts, type ApplicationRow } from "../../accounts/Accounts.ts"
import { type ApiKeyRow, ApiKeys } from "../../accounts/ApiKeys.ts"
import { RequestRefused } from "../../Errors.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { PausedDeliveries } from "../../webhooks/PausedDeliveries.ts"
import { toAccount } from "../public/AccountHandlers.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import { notFound, refusedAs, serviceUnavailable, unknownCursor } from "../WireTranslation.ts"
import { knownId, pageFrom } from "./Requests.ts"

const accountsLayer = HttpApiBuilder.group(
  OperatorApi,
  AccountsGroup.identifier,
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const audit = yield* AuditLog
    const held = yield* PausedDeliveries

    return handlers
      .handleRaw("create", ({ request }) =>
        Effect.gen(function* () {
          const input = yield* decodeBody(request, decodeCreateAccount)
          const row = yield* accounts
            .create(withoutNulls({ ...input, document_type: documentType(input.document) }))
            .pipe(audit.around("accounts.create"))
          return jsonResponse(toOperatorAccount(row), 201)
        }).pipe(
          Effect.catchTags({
            RequestRefused: refusedAs("VALIDATION_ERROR", "INVALID_DOCUMENT"),
            Unavailable: serviceUnavailable
          })
        )
      )
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* accounts.list(page)
          return pageOf(rows.map(toOperatorAccount), page.limit)
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("retrieve", ({ params }) =>
        Effect.gen(function* () {
          return toOperatorAccount(yield* accounts.get(yield* knownId(params.id)))
        }).pipe(Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
      .handleRaw("update", ({ params, request }) =>
        Effect.gen(function* () {
          const id = yield* knownId(params.id)
          yield* accounts.get(id)
          const changes = yield* decodeBody(request, decodeUpdateAccount)
          const row = yield* accounts.update(id, withoutNulls(changes)).pipe(audit.around("accounts.update"))
          held.wake()
          return jsonResponse(toOperatorAccount(row), 200)
        }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
  })
)

const applicationsLayer = HttpApiBuilder.group(
  OperatorApi,
  ApplicationsGroup.identifier,
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const audit = yield* AuditLog
    const held = yield* PausedDeliveries

    return handlers
      .handleRaw("create", ({ params, request }) =>
        Effect.gen(function* () {
          const { id } = yield* accounts.get(yield* knownId(params.id))
          const { name } = yield* decodeBody(request, decodeCreateApplication)
          const row = yield* accounts.createApplication(id, name).pipe(audit.around("applications.create"))
          return jsonResponse(toApplication(row), 201)
        }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
      .handle("list", ({ params, query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* accounts.listApplications(yield* knownId(params.id), page)
          return pageOf(rows.map(toApplication), page.limit)
        }).pipe(
          Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor, Unavailable: serviceUnavailable })
        )
      )
      .handleRaw("update", ({ params, request }) =>
        Effect.gen(function* () {
          const id = yield* knownId(params.id)
          yield* accounts.getApplication(id)
          const changes = yield* decodeBody(request, decodeUpdateApplication)
          const row = yield* accounts
            .updateApplication(id, withoutNulls(changes))
            .pipe(audit.around("applications.update"))
          held.wake()
          return jsonResponse(toApplication(row), 200)
        }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
  })
)

const keysLayer = HttpApiBuilder.group(
  OperatorApi,
  KeysGroup.identifier,
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const keys = yield* ApiKeys
    const audit = yield* AuditLog

    return handlers
      .handleRaw("create", ({ params, request }) =>
        Effect.gen(function* () {
          const application = yield* accounts.getApplication(yield* knownId(params.id))
          const input = yield* decodeBody(request, decodeCreateApiKey)
          const expiresAtMs = typeof input.expires_at === "string" ? parseInstant(input.expires_at) : undefined
          if (expiresAtMs !== undefined && expiresAtMs <= (yield* Clock.currentTimeMillis)) {
            return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["expires_at"] })
          }
          const made = yield* keys
            .create({
              applicationId: application.id,
              name: input.name,
              scopes: [...new Set(input.scopes)],
              expiresAtMs
            })
            .pipe(audit.around("keys.create"))
          return jsonResponse({ ...toApiKey(made), key: made.key }, 201)
        }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
      .handle("list", ({ params, query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* keys.list(yield* knownId(params.id), page)
          return pageOf(rows.map(toApiKey), page.limit)
        }).pipe(
          Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor, Unavailable: serviceUnavailable })
        )
      )
      .handle("revoke", ({ params }) =>
        Effect.gen(function* () {
          return toApiKey(yield* keys.revoke(yield* knownId(params.id)).pipe(audit.around("keys.revoke")))
        }).pipe(Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
  })
)

export const layer = Layer.mergeAll(accountsLayer, applicationsLayer, keysLayer)

const invalid = refusedAs("VALIDATION_ERROR")

const toOperatorAccount = (row: AccountRow): OperatorAccount => ({
  ...toAccount(row),
  payout_fee: { fixed: Number(row.payout_fee_fixed), basis_points: row.payout_fee_basis_points },
  default_expires_in: row.default_expires_in,
  release_delay: row.release_delay,
  payout_duplicate_window: row.payout_duplicate_window,
  payouts_paused: row.payouts_paused,
  charges_paused: row.charges_paused,
  balance: {
    object: "balance",
    currency: "BRL",
    available: Number(row.available),
    pending: Number(row.pending),
    total: Number(row.available + row.pending)
  }
})

const toApplication = (row: ApplicationRow): Application => ({
  id: row.id,
  object: "application",
  account_id: row.account_id,
  name: row.name,
  active: row.active,
  created_at: row.created_at.toISOString()
})

const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  object: "api_key",
  application_id: row.application_id,
  name: row.name,
  prefix: row.prefix,
  scopes: row.scopes,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString()
})

type WithoutNulls<A> = { readonly [K in keyof A]: Exclude<A[K], null> }

/** `null` for an optional field is the same as absent. */
const withoutNulls = <A extends object>(input: A): WithoutNulls<A> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)) as WithoutNulls<A>
