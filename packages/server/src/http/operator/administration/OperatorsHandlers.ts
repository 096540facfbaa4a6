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
import { isDeepStrictEqual } from "node:util"
import type { ApprovalRequest } from "../../../operators/approvals/ApprovalStore.ts"
import { RequestRefused } from "../../../base/Errors.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { type OperatorChanges, type OperatorCheck, type OperatorRow, Operators } from "../../../operators/Operators.ts"
import { type OperatorTokenRow, OperatorTokens } from "../../../operators/OperatorTokens.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { fourEyes } from "../approvals/FourEyes.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const operatorHandlers = Effect.gen(function* () {
  const operators = yield* Operators
  const audit = yield* AuditLog
  const { run } = yield* fourEyes

  const handlers: OperatorHandlers<"operators"> = {
    create: ({ body }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeCreateOperator)
        const { email, name, role } = input
        const request = { name, email, role, account_ids: lowerCase(input.account_ids) ?? null }
        return yield* run(
          Effect.as(operators.check(request), {
            action: "operator.create",
            resourceId: null,
            accountId: null,
            concerns: null,
            request
          } as const),
          operators.create(request).pipe(audit.recordWith("operators.create", { after: input })),
          (row) => answer(201, toOperator(row))
        )
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
        const id = yield* knownId(params)
        const fields = Effect.map(operators.get(id), toOperator)
        yield* fields
        const input = yield* decodeBody(body, decodeUpdateOperator)
        const changes = withoutUndefined({ ...input, account_ids: lowerCase(input.account_ids) })
        return yield* run(
          Effect.gen(function* () {
            const now = yield* fields
            const asked = updateOf(now, changes)
            if (asked !== undefined) yield* operators.check({ ...now, ...changes, email: null } as OperatorCheck)
            return asked
          }),
          operators
            .update(id, changes)
            .pipe(audit.recordChange("operators.update", { table: "operators", id }, fields, changes)),
          (row) => answer(200, toOperator(row))
        )
      }).pipe(Effect.catchTags({ RequestRefused: invalid, NotFoundError: notFound }))
  }
  return handlers
})

export const operatorTokenHandlers = Effect.gen(function* () {
  const operators = yield* Operators
  const tokens = yield* OperatorTokens
  const audit = yield* AuditLog
  const { run } = yield* fourEyes

  const handlers: OperatorHandlers<"operatorTokens"> = {
    create: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const id = yield* ownOrAny(caller, params)
        // The token would have more than this session (OPR-135).
        if (caller.isNarrowed === true) return yield* new Forbidden({})
        // The token would name one of the two behind it, and the other could approve with it what it asks itself (OPR-203).
        if ((caller.madeBy ?? null) !== null && id !== caller.id) return yield* new Forbidden({})
        yield* operators.get(id)
        const input = yield* decodeBody(body, decodeCreateOperatorToken)
        const expiresAtMs = typeof input.expires_at === "string" ? parseInstant(input.expires_at) : undefined
        if (expiresAtMs !== undefined && expiresAtMs <= (yield* Clock.currentTimeMillis)) {
          return yield* new RequestRefused({ code: "VALIDATION_ERROR", details: ["expires_at"] })
        }
        const asked: ApprovalRequest = {
          action: "operator_token.create",
          resourceId: id,
          accountId: null,
          concerns: id,
          request: { name: input.name, expires_at: input.expires_at ?? null }
        }
        return yield* run(
          Effect.succeed(id === caller.id ? undefined : asked),
          tokens
            .create({ operatorId: id, by: caller, name: input.name, expiresAtMs })
            .pipe(audit.recordWith("operatorTokens.create", { after: { operator_id: id, ...input } })),
          (row) => answer(201, { ...toToken(row), token: row.token })
        )
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

/** The request for a change of what an operator may do; `undefined` where it takes nothing but rights away (OPR-112). */
const updateOf = (before: Operator, changes: OperatorChanges): ApprovalRequest | undefined => {
  const isActivated = changes.active === true && !before.active
  const hasNewRole = changes.role !== undefined && changes.role !== before.role
  const hasNewAccounts =
    changes.account_ids !== undefined && !isDeepStrictEqual(changes.account_ids, before.account_ids)
  if (!isActivated && !hasNewRole && !hasNewAccounts) return undefined
  return {
    action: "operator.update",
    resourceId: before.id,
    accountId: null,
    concerns: before.id,
    request: { ...changes }
  }
}

const withoutUndefined = <A extends object>(changes: A): { [K in keyof A]: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as never

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

/** A personal token as it is shown. */
export const toToken = (row: OperatorTokenRow): OperatorToken => ({
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
