/**
 * Lets an operator in: the token, then the body size.
 *
 * Guarantees: failed sign-ins are limited by address (`SignIns`), counted and logged; a missing or empty token is no
 * sign-in.
 *
 * Source: operator-api.md.
 */
import { CurrentOperator, OperatorAuthentication } from "@pix-payments/api/Security"
import { PayloadTooLarge, Unauthorized } from "@pix-payments/api/WireErrors"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Metrics } from "../../observability/Metrics.ts"
import { CurrentRequest } from "../../observability/RequestContext.ts"
import { errorResponse } from "../Edge.ts"
import { OperatorToken } from "./OperatorToken.ts"
import * as SignIns from "./SignIns.ts"

export const layer = Layer.effect(
  OperatorAuthentication,
  Effect.gen(function* () {
    const token = yield* OperatorToken
    const metrics = yield* Metrics
    const signIns = yield* SignIns.make(token.accepts)

    return OperatorAuthentication.of({
      "x-operator-token": Effect.fnUntraced(function* (handler, { credential, endpoint }) {
        const info = yield* CurrentRequest
        info.route = routeOf(endpoint)
        const sent = Redacted.value(credential)
        if (sent === "") return yield* new Unauthorized({})
        const address = Option.getOrElse((yield* HttpServerRequest).remoteAddress, () => "unknown")
        const signIn = signIns.attempt(address, sent)
        if (signIn._tag === "Limited") {
          metrics.signInRefused("limit")
          const headers = { "retry-after": String(signIn.retryAfterSeconds) }
          return errorResponse("RATE_LIMITED", { headers })
        }
        if (signIn._tag === "Refused") {
          metrics.signInRefused("token")
          yield* Effect.annotateLogs(
            Effect.logWarning(
              signIn.isLast
                ? "a sign-in failed; further sign-ins from its address are refused for 30 seconds"
                : "a sign-in failed"
            ),
            { address, route: info.route, request_id: info.requestId }
          )
          return yield* new Unauthorized({})
        }
        if (endpoint.payload.size > 0) yield* readBody
        return yield* Effect.provideService(handler, CurrentOperator, { name: "operator" })
      })
    })
  })
)

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
