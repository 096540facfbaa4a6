/**
 * The operator routes of signing in and of sessions.
 */
import {
  decodeCreateSignInCode,
  decodeExchangeSignInCode,
  decodeSignIn,
  type ExchangeSignInCode,
  type OperatorSession,
  type Session
} from "@pix-payments/api/operator/Sessions"
import { CurrentOperator, type Operator } from "@pix-payments/api/Security"
import { Forbidden } from "@pix-payments/api/WireErrors"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { Metrics } from "../../../base/observability/Metrics.ts"
import { CurrentRequest } from "../../../base/observability/RequestContext.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { installation, linkUrl } from "../../../operators/Operator.ts"
import { type OperatorSessionRow, OperatorSessions } from "../../../operators/OperatorSessions.ts"
import { OperatorTokens } from "../../../operators/OperatorTokens.ts"
import { SignIns } from "../../../operators/SignIns.ts"
import { Settings } from "../../../base/Settings.ts"
import { runToCompletion } from "../../../database/RunToCompletion.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { refused } from "../OperatorGuard.ts"
import { InstallationUses } from "../InstallationUses.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"
import { oidcHandlers } from "./OidcHandlers.ts"
import { toToken } from "../administration/OperatorsHandlers.ts"
import { OperatorToken } from "./OperatorToken.ts"
import { CurrentConnection, setCookie } from "./SessionCookie.ts"

export const signInHandlers = Effect.gen(function* () {
  const installationToken = yield* OperatorToken
  const tokens = yield* OperatorTokens
  const sessions = yield* OperatorSessions
  const signIns = yield* SignIns
  const metrics = yield* Metrics
  const uses = yield* InstallationUses
  const audit = yield* AuditLog
  const settings = yield* Settings
  const sql = yield* SqlClient

  const operatorOf = Effect.fnUntraced(function* (token: string) {
    if (installationToken.accepts(token)) {
      const operator: Operator = { ...installation, via: "installation", sessionId: null }
      yield* Effect.provideService(uses.record(yield* CurrentRequest, "POST"), CurrentOperator, operator)
      return operator
    }
    return (yield* tokens.authenticate(token)) ?? (yield* tokens.useLink(token))
  })

  /** The new token of a code, and its entry in the audit log, in one commit. */
  const exchanged = (input: ExchangeSignInCode) =>
    Effect.gen(function* () {
      const found = yield* tokens.exchangeCode(input)
      if (found === undefined) return undefined
      const { expires_at, id, name, operator_id, token } = found.row
      yield* audit
        .record("operatorTokens.create", id, { after: { operator_id, name, expires_at } })
        .pipe(Effect.provideService(CurrentOperator, found.operator))
      return { ...toToken(found.row), token }
    }).pipe(sql.withTransaction, runToCompletion(sql))

  const handlers: OperatorHandlers<"signIn"> = {
    ...(yield* oidcHandlers),
    create: ({ body }) =>
      Effect.gen(function* () {
        const connection = yield* CurrentConnection
        const { token } = yield* decodeBody(body, decodeSignIn)
        const signIn = yield* signIns.attempt(connection.address, operatorOf(token))
        if (signIn._tag !== "Accepted") {
          return yield* refused(metrics, connection.address, signIn, yield* CurrentRequest)
        }
        const operator = signIn.value
        const started = yield* sessions
          .start({ operator, address: connection.address, userAgent: connection.userAgent })
          .pipe(audit.recordWith("session.start"), Effect.provideService(CurrentOperator, operator))
        return {
          ...answer(200, toSession({ ...operator, via: "session", sessionId: started.id }, started, settings)),
          headers: { "set-cookie": setCookie(connection, started.secret) }
        }
      }).pipe(Effect.catchTags({ RequestRefused: refusedAs("VALIDATION_ERROR") })),
    exchange: ({ body }) =>
      Effect.gen(function* () {
        const { address } = yield* CurrentConnection
        const input = yield* decodeBody(body, decodeExchangeSignInCode)
        const signIn = yield* signIns.attempt(address, exchanged(input))
        if (signIn._tag !== "Accepted") return yield* refused(metrics, address, signIn, yield* CurrentRequest)
        return answer(201, signIn.value)
      }).pipe(Effect.catchTags({ RequestRefused: refusedAs("VALIDATION_ERROR") }))
  }
  return handlers
})

export const sessionHandlers = Effect.gen(function* () {
  const tokens = yield* OperatorTokens
  const sessions = yield* OperatorSessions
  const audit = yield* AuditLog
  const settings = yield* Settings

  const handlers: OperatorHandlers<"session"> = {
    retrieve: ({ caller }) =>
      Effect.gen(function* () {
        const row = caller.sessionId === null ? undefined : yield* sessions.find(caller.sessionId)
        return answer(200, toSession(caller, row, settings))
      }).pipe(Effect.catchTags({ NotFoundError: Effect.die })),
    end: ({ caller }) =>
      Effect.gen(function* () {
        const connection = yield* CurrentConnection
        if (caller.sessionId !== null) {
          yield* sessions.end(caller.sessionId, undefined).pipe(audit.recordWith("session.end"))
        }
        return { status: 204, headers: { "set-cookie": setCookie(connection, undefined) } }
      }).pipe(Effect.catchTags({ NotFoundError: Effect.die })),
    link: ({ caller }) =>
      Effect.gen(function* () {
        // The link would give more than this session has (OPR-135), or a session without a credential (OPR-204).
        const isInstallations = caller.id === null && caller.sessionId !== null
        if (caller.isNarrowed === true || isInstallations) return yield* new Forbidden({})
        const { origin } = yield* CurrentConnection
        const { expiresAt, token } = yield* tokens.makeLink(caller).pipe(audit.recordWith("session.link"))
        return answer(201, {
          object: "sign_in_link" as const,
          url: linkUrl(origin, token),
          expires_at: expiresAt.toISOString()
        })
      }),
    code: ({ body, caller }) =>
      Effect.gen(function* () {
        // The token would have more than this session (OPR-135); the installation has no personal tokens.
        if (caller.id === null || caller.isNarrowed === true) return yield* new Forbidden({})
        const { challenge, name } = yield* decodeBody(body, decodeCreateSignInCode)
        const { code, expiresAt } = yield* tokens
          .makeCode({ operatorId: caller.id, madeBy: caller.madeBy ?? null, challenge, name })
          .pipe(audit.recordWith("session.code", { after: { name } }))
        return answer(201, { object: "sign_in_code" as const, code, expires_at: expiresAt.toISOString() })
      }).pipe(Effect.catchTags({ RequestRefused: refusedAs("VALIDATION_ERROR") }))
  }
  return handlers
})

export const sessionsHandlers = Effect.gen(function* () {
  const sessions = yield* OperatorSessions
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"sessions"> = {
    list: ({ caller, query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const rows = yield* sessions.list(ownerOf(caller), page)
        return listAnswer(rows, (row) => toOperatorSession(row, caller), page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    end: ({ caller, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const row = yield* sessions.end(id, ownerOf(caller)).pipe(audit.recordWith("sessions.end"))
        return answer(200, toOperatorSession(row, caller))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

/** Whose sessions an operator may see and end: its own, as an admin everybody's (OPR-45). */
const ownerOf = ({ id, role }: Operator): string | undefined => (role === "admin" ? undefined : (id ?? undefined))

const toSession = (
  operator: Operator,
  row: OperatorSessionRow | undefined,
  { acquirer, cell, cells }: Settings["Service"]
): Session => ({
  object: "session",
  id: operator.sessionId,
  via: operator.via,
  operator: {
    id: operator.id,
    name: operator.name,
    email: operator.email,
    role: operator.role,
    account_ids: operator.accountIds
  },
  expires_at: row?.expires_at.toISOString() ?? null,
  settings: { acquirer, cell: Option.getOrNull(cell), cells }
})

const toOperatorSession = (row: OperatorSessionRow, { sessionId }: Operator): OperatorSession => ({
  id: row.id,
  object: "operator_session",
  operator_id: row.operator_id,
  address: row.address,
  user_agent: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_seen_at: row.last_seen_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null,
  current: row.id === sessionId
})
