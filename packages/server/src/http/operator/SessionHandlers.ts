/**
 * The operator routes of signing in and of sessions.
 */
import { type OperatorSession, decodeSignIn, type Session } from "@pix-payments/api/operator/Sessions"
import { CurrentOperator, type Operator } from "@pix-payments/api/Security"
import * as Effect from "effect/Effect"
import { Metrics } from "../../observability/Metrics.ts"
import { CurrentRequest } from "../../observability/RequestContext.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { installation } from "../../operators/Operator.ts"
import { type OperatorSessionRow, OperatorSessions } from "../../operators/OperatorSessions.ts"
import { OperatorTokens } from "../../operators/OperatorTokens.ts"
import { SignIns } from "../../operators/SignIns.ts"
import { Settings } from "../../Settings.ts"
import { answer } from "../Answer.ts"
import { listAnswer, pageFrom } from "../Lists.ts"
import { decodeBody } from "../RequestDecoding.ts"
import { notFound, refusedAs, unknownCursor } from "../WireTranslation.ts"
import { refused } from "./OperatorGuard.ts"
import { knownId, type OperatorHandlers } from "./OperatorHandlers.ts"
import { OperatorToken } from "./OperatorToken.ts"
import { CurrentConnection, setCookie } from "./SessionCookie.ts"

export const signInHandlers = Effect.gen(function* () {
  const installationToken = yield* OperatorToken
  const tokens = yield* OperatorTokens
  const sessions = yield* OperatorSessions
  const signIns = yield* SignIns
  const metrics = yield* Metrics
  const audit = yield* AuditLog
  const settings = yield* Settings

  const operatorOf = Effect.fnUntraced(function* (token: string) {
    if (installationToken.accepts(token)) {
      metrics.installationTokenUsed()
      return { ...installation, via: "installation", sessionId: null } satisfies Operator
    }
    return (yield* tokens.authenticate(token)) ?? (yield* tokens.useLink(token))
  })

  const handlers: OperatorHandlers<"signIn"> = {
    create: ({ body }) =>
      Effect.gen(function* () {
        const connection = yield* CurrentConnection
        const { token } = yield* decodeBody(body, decodeSignIn)
        const signIn = yield* signIns.attempt(connection.address, token, operatorOf(token))
        if (signIn._tag !== "Accepted") {
          return yield* refused(metrics, connection.address, signIn, yield* CurrentRequest)
        }
        const operator = signIn.value
        const started = yield* sessions
          .start({ operatorId: operator.id, address: connection.address, userAgent: connection.userAgent })
          .pipe(audit.recordWith("session.start"), Effect.provideService(CurrentOperator, operator))
        return {
          ...answer(200, toSession({ ...operator, via: "session", sessionId: started.id }, started, settings)),
          headers: { "set-cookie": setCookie(connection, started.secret) }
        }
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
        const { origin } = yield* CurrentConnection
        const { expiresAt, token } = yield* tokens.makeLink(caller.id).pipe(audit.recordWith("session.link"))
        return answer(201, {
          object: "sign_in_link" as const,
          // The fragment of a URL is not sent to servers and does not reach their logs.
          url: `${origin}/#link=${token}`,
          expires_at: expiresAt.toISOString()
        })
      })
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
  { acquirer }: Settings["Service"]
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
  settings: { acquirer }
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
