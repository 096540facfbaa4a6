/**
 * Authenticates a request to `/operator/v1` and checks what its operator may do.
 *
 * Guarantees:
 * - A body is not read without a token or session that is accepted, and a role that may call; both are checked again once it has
 *   arrived.
 * - Checks run in this order: token or session, role, body size, account, idempotency key, query. A use of the
 *   installation's token, which has every role, is recorded after the first.
 * - An operator has its share of the listener's slots, as an account has of the public one's (`InFlight`).
 * - Roles and the limit to accounts are those of the endpoint's declaration (`Access`).
 * - Personal data is masked in every answer to a role that may not see it, by the annotations of the answer's schema.
 *   Revealing it is an entry of the audit log before the answer leaves.
 * - Failed sign-ins are limited by address (`SignIns`), counted and logged. A request without a credential is not one.
 * - A request with a cookie is refused unless it comes from the same origin, and unless its body is JSON.
 * - A change of a resource of an account that moves to another cell, or has, is refused: it would be lost, or done in both.
 * - Each request with the installation's token, or in a session of it, is counted, and is an entry of the audit log before it is served.
 *
 * Rules: OPR-2, OPR-5, OPR-37 to OPR-40, OPR-46, OPR-48, OPR-49, OPR-201, OPR-391.
 */
import { Access, defaultAccess } from "@pix-payments/api/operator/Access"
import { CurrentOperator, type Operator, OperatorAuthentication } from "@pix-payments/api/Security"
import { Forbidden, NotFound, PayloadTooLarge, ServiceUnavailable, Unauthorized } from "@pix-payments/api/WireErrors"
import { includesRole, personalDataFor } from "@pix-payments/domain/Operator"
import { maskOf } from "@pix-payments/domain/PersonalData"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { listOf } from "../../base/network/Networks.ts"
import { Metrics } from "../../base/observability/Metrics.ts"
import { CurrentRequest, type RequestInfo } from "../../base/observability/RequestContext.ts"
import { Settings } from "../../base/Settings.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { AccountOf, nameInPath, type ResourceKind, resourceKindOf } from "../../operators/AccountOf.ts"
import { installation } from "../../operators/Operator.ts"
import { OperatorSessions } from "../../operators/OperatorSessions.ts"
import { OperatorTokens } from "../../operators/OperatorTokens.ts"
import { SignIns } from "../../operators/SignIns.ts"
import { LimitedTo } from "../../database/statements/Paging.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type Answer, codeAnswer, type WireError } from "../pipeline/Answer.ts"
import type { Guard, Operation, ReadRequest, Route, Unread } from "../pipeline/CompiledApi.ts"
import { headerOf } from "../pipeline/HttpServer.ts"
import { movedTo } from "../pipeline/WireTranslation.ts"
import { InstallationUses } from "./InstallationUses.ts"
import { shareOf } from "./OperatorHandlers.ts"
import { OperatorToken } from "./sign-in/OperatorToken.ts"
import {
  type Connection,
  connectionOf,
  CurrentConnection,
  isJson,
  isSameOrigin,
  sessionSecretOf
} from "./sign-in/SessionCookie.ts"

export interface OperatorCredentials {
  readonly token: string | undefined
  /** The secret of a session's cookie. */
  readonly secret: string | undefined
  readonly isSameOrigin: boolean
  readonly isJson: boolean
  readonly connection: Connection
}

type OperatorGuard = Guard<OperatorCredentials, Operator, CurrentOperator>
type OperatorOperation = Operation<OperatorCredentials, Operator, CurrentOperator>
type Request = ReadRequest<OperatorCredentials>
type Answered<R = never> = Effect.Effect<Answer, WireError | Unavailable, R>

export const make = Effect.gen(function* () {
  const authenticated = yield* authentication
  const accountOf = yield* AccountOf
  const uses = yield* InstallationUses
  const audit = yield* AuditLog
  const proxies = listOf((yield* Settings).operatorTrustedProxy)

  const protect = (operation: OperatorOperation): Route<OperatorCredentials>["answer"] => {
    const { decode, endpoint, run, takesBody } = operation
    if (!endpoint.middlewares.has(OperatorAuthentication)) return open(operation)
    const access = accessOf(endpoint)
    const { accounts, roles } = access
    const kind = resourceKindOf(endpoint.path)
    if (accounts === "resource" && kind === undefined) {
      throw new Error(`${endpoint.path} needs a line in operators/AccountOf.ts`)
    }
    const inAccounts = accountLimit(accountOf, access, kind)
    const isHere =
      endpoint.method !== "GET" && accounts === "resource" && !staysPossible(endpoint.path)
        ? notMoved(accountOf, kind!)
        : () => Effect.void
    const withPersonalData = personalDataOf(audit, endpoint, access)

    return (request, admit) =>
      authenticated(request, takesBody && request.body !== "", (operator) => {
        if (!admit(shareOf(operator))) return Effect.fail(new ServiceUnavailable({}))
        const recorded = operator.id === null ? uses.record(request.info, endpoint.method) : Effect.void
        return recorded.pipe(
          Effect.andThen(includesRole(operator.role, roles) ? Effect.void : Effect.fail(new Forbidden({}))),
          Effect.andThen(takesBody && request.body === undefined ? Effect.fail(new PayloadTooLarge({})) : Effect.void),
          Effect.andThen(inAccounts(operator, request)),
          Effect.andThen(isHere(request)),
          Effect.andThen(
            Effect.suspend(() =>
              withPersonalData(
                Effect.flatMap(decode(request), (query) => run(request, query, operator)),
                operator,
                request
              )
            )
          ),
          Effect.provideService(CurrentOperator, operator),
          Effect.provideService(CurrentRequest, request.info),
          Effect.provideService(CurrentConnection, request.credentials.connection),
          Effect.provideService(LimitedTo, accounts === "filtered" ? (operator.accountIds ?? undefined) : undefined)
        )
      })
  }

  const guard: OperatorGuard = {
    credentialsOf: (request) => ({
      token: headerOf(request, "x-operator-token"),
      secret: sessionSecretOf(request),
      isSameOrigin: isSameOrigin(request),
      isJson: isJson(request),
      connection: connectionOf(request, proxies)
    }),
    accountOf: () => undefined,
    beforeBody: (endpoint, request) =>
      endpoint.middlewares.has(OperatorAuthentication)
        ? // After a turn of the event loop, in which a small body arrives: its connection is then kept.
          Effect.andThen(
            Effect.yieldNow,
            authenticated(request, false, ({ role }) =>
              includesRole(role, accessOf(endpoint).roles) ? Effect.undefined : Effect.fail(new Forbidden({}))
            )
          )
        : undefined,
    protect
  }
  return guard
})

const accessOf = ({ annotations }: OperatorOperation["endpoint"]): Access =>
  Context.get(annotations, Access) ?? defaultAccess

const authentication = Effect.gen(function* () {
  const installationToken = yield* OperatorToken
  const tokens = yield* OperatorTokens
  const sessions = yield* OperatorSessions
  const metrics = yield* Metrics
  const signIns = yield* SignIns

  const ofToken = (token: string): Effect.Effect<Operator | undefined, Unavailable> =>
    Effect.suspend(() =>
      installationToken.accepts(token)
        ? Effect.succeed<Operator | undefined>({ ...installation, via: "installation", sessionId: null })
        : tokens.authenticate(token)
    )

  /** Runs `then` with the operator of the request's credential. */
  return <A extends Answer | undefined>(
    { credentials, info }: Unread<OperatorCredentials>,
    hasBody: boolean,
    then: (operator: Operator) => Effect.Effect<A, WireError | Unavailable>
  ): Effect.Effect<A | Answer, WireError | Unavailable> => {
    const { connection, secret, token } = credentials
    info.address = connection.address
    const isToken = token !== undefined && token !== ""
    const credential = isToken ? token : secret
    if (credential === undefined || credential === "") return Effect.fail(new Unauthorized({}))
    if (!isToken && (!credentials.isSameOrigin || (hasBody && !credentials.isJson))) {
      return Effect.fail(new Forbidden({}))
    }
    const authenticate: Effect.Effect<Operator | "ended" | undefined, Unavailable> = isToken
      ? ofToken(credential)
      : sessions.authenticate(credential)
    return Effect.flatMap(
      signIns.attempt(connection.address, authenticate),
      (signIn): Effect.Effect<A | Answer, WireError | Unavailable> => {
        if (signIn._tag !== "Accepted") return refused(metrics, connection.address, signIn, info)
        return signIn.value === "ended" ? Effect.fail(new Unauthorized({})) : then(signIn.value)
      }
    )
  }
})

/** Whether the operator's limit to accounts allows the request. */
const accountLimit =
  (accountOf: AccountOf["Service"], { accounts }: Access, kind: ResourceKind | undefined) =>
  ({ accountIds }: Operator, { params }: Request): Effect.Effect<void, Forbidden | NotFound | Unavailable> => {
    if (accountIds === null || accounts === "own" || accounts === "filtered") return Effect.void
    const id = params["id"] ?? ""
    if (accounts === "installation" || kind === undefined) return Effect.fail(new Forbidden({}))
    if (!isUuid(id)) return Effect.fail(new NotFound({}))
    return Effect.flatMap(accountOf.isOneOf(kind, id, accountIds), (isOne) =>
      isOne ? Effect.void : Effect.fail(new NotFound({}))
    )
  }

/** The move can be repeated, and approvals that hold it up decided. */
const staysPossible = (path: string): boolean =>
  path.endsWith("/accounts/:id/move") || resourceKindOf(path) === "approvals"

/** Refuses where the resource's account moves to another cell, or has. */
const notMoved =
  (accountOf: AccountOf["Service"], kind: ResourceKind) =>
  ({ params }: Request): Effect.Effect<void, ServiceUnavailable | Unavailable> => {
    const id = params["id"] ?? ""
    if (!isUuid(id)) return Effect.void
    return Effect.flatMap(accountOf.movedTo(kind, id), (cell) =>
      cell === undefined ? Effect.void : Effect.fail(movedTo(cell))
    )
  }

const personalDataOf = (
  audit: AuditLog["Service"],
  endpoint: OperatorOperation["endpoint"],
  { isClear = false, reveals = false }: Access
) => {
  const recorded = new WeakSet<RequestInfo>()
  const masks = (isClear ? [] : [...endpoint.success]).map(maskOf).filter((mask) => mask !== undefined)

  /** Masks the answer, or records that it is revealed. */
  return (
    answering: Answered<CurrentOperator>,
    { role }: Operator,
    { params, search }: Request
  ): Answered<CurrentOperator> => {
    const shown = personalDataFor[role]
    const isRevealing = reveals && new URLSearchParams(search).get("reveal") === "true"
    if (isRevealing && shown === "masked") return Effect.fail(new Forbidden({}))
    if (isRevealing) {
      const record = audit.recordAfter(`${nameInPath(endpoint.path)}.reveal`)(
        Effect.succeed({ id: params["id"] ?? "" })
      )
      // A stream is one request, however often it is admitted.
      const entry = Effect.flatMap(CurrentRequest, (info) =>
        recorded.has(info) ? Effect.void : Effect.tap(record, () => Effect.sync(() => recorded.add(info)))
      )
      return Effect.tap(answering, ({ status }) => (status === 200 ? entry : Effect.void))
    }
    if (shown === "clear" || masks.length === 0) return answering
    return Effect.map(answering, ({ body, ...rest }) => ({
      ...rest,
      body: rest.status < 300 ? masks.reduce<unknown>((masked, mask) => mask(masked), body) : body
    }))
  }
}

/** An operation that needs no credential: a sign-in. */
const open =
  ({ decode, run, takesBody }: OperatorOperation): Route<OperatorCredentials>["answer"] =>
  (request) => {
    const { connection, isJson } = request.credentials
    const { fetchSite } = connection
    request.info.address = connection.address
    if (takesBody && request.body === undefined) return Effect.fail(new PayloadTooLarge({}))
    if (takesBody && (!isJson || (fetchSite !== undefined && fetchSite !== "same-origin"))) {
      return Effect.fail(new Forbidden({}))
    }
    return Effect.flatMap(decode(request), (query) => run(request, query, nobody)).pipe(
      Effect.provideService(CurrentOperator, nobody),
      Effect.provideService(CurrentRequest, request.info),
      Effect.provideService(CurrentConnection, connection)
    )
  }

/** Who calls an operation that needs no credential. */
const nobody: Operator = {
  id: null,
  name: "nobody",
  email: null,
  role: "viewer",
  accountIds: [],
  via: "session",
  sessionId: null
}

/** Counts, logs and answers a sign-in that was not accepted. */
export const refused = (
  metrics: Metrics["Service"],
  address: string,
  signIn:
    | { readonly _tag: "Limited"; readonly retryAfterSeconds: number }
    | { readonly _tag: "Refused"; readonly isLast: boolean },
  { requestId, route }: RequestInfo
): Effect.Effect<Answer<never>, Unauthorized> => {
  if (signIn._tag === "Limited") {
    metrics.signInRefused("limit")
    const headers = { "retry-after": String(signIn.retryAfterSeconds) }
    return Effect.succeed(codeAnswer("RATE_LIMITED", { headers }) as Answer<never>)
  }
  metrics.signInRefused("token")
  return Effect.andThen(
    Effect.annotateLogs(
      Effect.logWarning(
        signIn.isLast
          ? "a sign-in failed; further sign-ins from its address are refused for 30 seconds"
          : "a sign-in failed"
      ),
      { address, route, request_id: requestId }
    ),
    Effect.fail(new Unauthorized({}))
  )
}
