/**
 * Authenticates the operator token of an `/operator/v1` request.
 *
 * Guarantees:
 * - Checks run in this order: token, body size, role, idempotency key, query.
 * - Failed sign-ins are limited by address (`SignIns`), counted and logged. A missing or empty token is not a sign-in.
 *
 * Rules: OPR-2, OPR-5, OPR-38.
 */
import { Access, defaultAccess } from "@pix-payments/api/operator/Access"
import { CurrentOperator, type Operator } from "@pix-payments/api/Security"
import { Forbidden, PayloadTooLarge, Unauthorized } from "@pix-payments/api/WireErrors"
import { includesRole } from "@pix-payments/domain/Operator"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Metrics } from "../../observability/Metrics.ts"
import { CurrentRequest, type RequestInfo } from "../../observability/RequestContext.ts"
import { codeAnswer } from "../Answer.ts"
import type { Guard, Operation, Route } from "../CompiledApi.ts"
import { headerOf } from "../HttpServer.ts"
import { OperatorToken } from "./OperatorToken.ts"
import * as SignIns from "./SignIns.ts"

export interface TokenCredentials {
  readonly token: string | undefined
  readonly address: string
}

type OperatorGuard = Guard<TokenCredentials, Operator, CurrentOperator>

export const make = Effect.gen(function* () {
  const token = yield* OperatorToken
  const metrics = yield* Metrics
  const signIns = yield* SignIns.make(token.accepts)

  const refused = (address: string, isLast: boolean, { requestId, route }: RequestInfo) => {
    metrics.signInRefused("token")
    return Effect.andThen(
      Effect.annotateLogs(
        Effect.logWarning(
          isLast ? "a sign-in failed; further sign-ins from its address are refused for 30 seconds" : "a sign-in failed"
        ),
        { address, route, request_id: requestId }
      ),
      Effect.fail(new Unauthorized({}))
    )
  }

  const protect = ({
    endpoint,
    headerRefusal,
    run,
    takesBody
  }: Operation<TokenCredentials, Operator, CurrentOperator>): Route<TokenCredentials>["answer"] => {
    const { roles } = Context.get(endpoint.annotations, Access) ?? defaultAccess
    return (request) => {
      const { address, token: sent } = request.credentials
      if (sent === undefined || sent === "") return Effect.fail(new Unauthorized({}))
      const signIn = signIns.attempt(address, sent)
      if (signIn._tag === "Limited") {
        metrics.signInRefused("limit")
        return Effect.succeed(
          codeAnswer("RATE_LIMITED", { headers: { "retry-after": String(signIn.retryAfterSeconds) } })
        )
      }
      if (signIn._tag === "Refused") return refused(address, signIn.isLast, request.info)
      if (takesBody && request.body === undefined) return Effect.fail(new PayloadTooLarge({}))
      if (!includesRole(OPERATOR.role, roles)) return Effect.fail(new Forbidden({}))
      const refusal = headerRefusal(request)
      if (refusal !== undefined) return Effect.fail(refusal)
      return run(request, OPERATOR, false).pipe(
        Effect.catchTag("StaleCaller", Effect.die),
        Effect.provideService(CurrentOperator, OPERATOR),
        Effect.provideService(CurrentRequest, request.info)
      )
    }
  }

  const guard: OperatorGuard = {
    credentialsOf: (request) => ({
      token: headerOf(request, "x-operator-token"),
      address: request.socket.remoteAddress ?? "unknown"
    }),
    accountOf: () => undefined,
    protect
  }
  return guard
})

/** The installation's token (OPR-2). */
const OPERATOR: Operator = { id: null, name: "operator", role: "admin", accountIds: null }
