/**
 * Lets a caller in: key, then body size, then scopes, in the contract's order.
 *
 * Guarantees: every request looks its key up (see `ApiKeys`); the message of a 401 says nothing of the reason;
 * the scopes asked for are those that the endpoint is annotated with.
 *
 * Source: payments-api-v1.md "Authentication"; decisions.md "Answers" (order of checks), "Finer points" (413).
 */
import {
  Authentication,
  CurrentCaller,
  OperatorAuthentication,
  CurrentOperator,
  RequiredScopes
} from "@pix-payments/api/Security"
import { InsufficientScope, PayloadTooLarge, Unauthorized } from "@pix-payments/api/WireErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ApiKeys } from "../accounts/ApiKeys.ts"
import { CurrentRequest, errorResponse } from "./Edge.ts"
import { OperatorToken } from "./OperatorToken.ts"
import { KeyRateLimit } from "./KeyRateLimit.ts"

export const layer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const limit = yield* KeyRateLimit

    return Authentication.of({
      "x-api-key": Effect.fnUntraced(function* (handler, { credential, endpoint }) {
        const info = yield* CurrentRequest
        info.route = routeOf(endpoint)
        const key = Redacted.value(credential)
        const caller =
          key === "" ? undefined : yield* Effect.catchTag(keys.authenticate(key), "Unavailable", () => unavailable)
        if (caller === undefined) return yield* new Unauthorized({})
        if (caller === "unavailable") return errorResponse("SERVICE_UNAVAILABLE")
        info.keyId = caller.keyId
        info.accountId = caller.account.id
        if (endpoint.payload.size > 0) yield* readBody
        const waitSeconds = yield* limit.take(caller.keyId)
        if (waitSeconds > 0) return errorResponse("RATE_LIMITED", { headers: { "retry-after": String(waitSeconds) } })
        const required = scopesOf(endpoint)
        if (!required.every((scope) => caller.scopes.includes(scope))) {
          return yield* new InsufficientScope({ details: required })
        }
        return yield* Effect.provideService(handler, CurrentCaller, caller)
      })
    })
  })
)

export const operatorLayer = Layer.effect(
  OperatorAuthentication,
  Effect.gen(function* () {
    const token = yield* OperatorToken

    return OperatorAuthentication.of({
      "x-operator-token": Effect.fnUntraced(function* (handler, { credential, endpoint }) {
        const info = yield* CurrentRequest
        info.route = routeOf(endpoint)
        if (!token.accepts(Redacted.value(credential))) return yield* new Unauthorized({})
        if (endpoint.payload.size > 0) yield* readBody
        return yield* Effect.provideService(handler, CurrentOperator, { name: "operator" })
      })
    })
  })
)

const unavailable = Effect.succeed("unavailable" as const)

/** Reads the body, which the request keeps, so that one over the limit is refused before anything else is said. */
const readBody = Effect.flatMap(HttpServerRequest, (request) =>
  Effect.catch(request.text, (error) =>
    error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"
      ? Effect.fail(new PayloadTooLarge({}))
      : Effect.interrupt
  )
)

/** The path template as people write it: `/v1/charges/{id}`. */
const routeOf = (endpoint: HttpApiEndpoint.Top): string =>
  endpoint.path.replace(/\/$/, "").replace(/:([A-Za-z_]+)/g, "{$1}")

const scopesOf = (endpoint: HttpApiEndpoint.Top) => Context.get(endpoint.annotations, RequiredScopes)
