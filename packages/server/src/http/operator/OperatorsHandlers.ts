/**
 * The operator routes of operators and their tokens.
 */
import type { Operator as CallingOperator } from "@pix-payments/api/Security"
import {
  decodeCreateOperator,
  decodeCreateOperatorToken,
  decodeUpdateOperator,
  type Operator,
  type OperatorToken
} from "@pix-payments/api/operator/Operators"
import { Forbidden } from "@pix-payments/api/WireErrors"
import { parseInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { RequestRefused } from "../../Errors.ts"
import { AuditLog, changeOf } from "../../operations/AuditLog.ts"
import { type OperatorRow, Operators } from "../../operators/Operators.ts"
import { type OperatorTokenRow, OperatorTokens } from "../../operators/OperatorTokens.ts"
import { answer } from "../Answer.ts"
import { listAnswer, pageFrom } from "../Lists.ts"
import { decodeBody } from "../RequestDecoding.ts"
import { notFound, refusedAs, unknownCursor } from "../WireTranslation.ts"
import { knownId, type OperatorHandlers } from "./OperatorHandlers.ts"

export const operatorHandlers = Effect.gen(function* () {
  const operators = yield* Operators
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"operators"> = {
    create: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeCreateOperator)
        const row = yield* operators
          .create({ ...input, account_ids: lowerCase(input.account_ids) ?? null })
          .pipe(audit.recordWith("operators.create", { after: input }))
        return answer(201, toOperator(row))
      }).pipe(Effect.catchTags({ RequestRefused: invalid })),
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        return listAnswer(yield* operators.list(page), toOperator, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toOperator(yield* operators.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const before = toOperator(yield* operators.get(yield* knownId(params)))
        const changes = yield* decodeBody(body, decodeUpdateOperator)
        const row = yield* operators
          .update(before.id, { ...changes, account_ids: lowerCase(changes.account_ids) })
          .pipe(audit.recordWith("operators.update", changeOf(before, changes)))
        return answer(200, toOperator(row))
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound }))
  }
  return handlers
})

export const operatorTokenHandlers = Effect.gen(function* () {
  const operators = yield* Operators
  const tokens = yield* OperatorTokens
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"operatorTokens"> = {
    create: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const id = yield* ownOrAny(caller, params)
        yield* operators.get(id)
        const input = yield* decodeBody(body, decodeCreateOperatorToken)
        const expiresAtMs = typeof input.expires_at === "string" ? parseInstant(input.expires_at) : undefined
        if (expiresAtMs !== undefined && expiresAtMs <= (yield* Clock.currentTimeMillis)) {
          return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["expires_at"] })
        }
        const created = yield* tokens
          .create({ operatorId: id, name: input.name, expiresAtMs })
          .pipe(audit.recordWith("operatorTokens.create", { after: { operator_id: id, ...input } }))
        return answer(201, { ...toToken(created), token: created.token })
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound })),
    list: ({ caller, params, query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const id = yield* ownOrAny(caller, params)
        yield* operators.get(id)
        return listAnswer(yield* tokens.list(id, page), toToken, page)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    revoke: ({ caller, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const row = yield* tokens
          .revoke(id, caller.role === "admin" ? null : caller.id)
          .pipe(audit.recordWith("operatorTokens.revoke"))
        return answer(200, toToken(row))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

const invalid = refusedAs("VALIDATION_ERROR")

/** The operator in the path: the calling one, or for admins anybody (OPR-42). */
const ownOrAny = Effect.fnUntraced(function* (caller: CallingOperator, params: { readonly id: string }) {
  const id = (yield* knownId(params)).toLowerCase()
  if (caller.role !== "admin" && id !== caller.id) return yield* new Forbidden({})
  return id
})

/** PostgreSQL's form of ids. */
const lowerCase = <A extends ReadonlyArray<string> | null | undefined>(ids: A) =>
  ids?.map((id) => id.toLowerCase()) ?? (ids as Exclude<A, ReadonlyArray<string>>)

const toOperator = (row: OperatorRow): Operator => ({
  id: row.id,
  object: "operator",
  name: row.name,
  email: row.email,
  role: row.role,
  account_ids: row.account_ids,
  active: row.active,
  created_at: row.created_at.toISOString()
})

const toToken = (row: OperatorTokenRow): OperatorToken => ({
  id: row.id,
  object: "operator_token",
  operator_id: row.operator_id,
  name: row.name,
  prefix: row.prefix,
  expires_at: row.expires_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString()
})
