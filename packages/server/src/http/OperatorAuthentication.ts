/**
 * Lets an operator in: the token, then the body size.
 *
 * Source: operator-api.md.
 */
import { CurrentOperator, OperatorAuthentication } from "@pix-payments/api/Security"
import { PayloadTooLarge, Unauthorized } from "@pix-payments/api/WireErrors"
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { CurrentRequest } from "./Edge.ts"
import { OperatorToken } from "./OperatorToken.ts"

export const layer = Layer.effect(
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
