/**
 * Answers a request whose query or headers do not fit their declaration.
 *
 * Source: decisions.md "Answers" (`IDEMPOTENCY_KEY_REQUIRED`, malformed query values, `details`).
 */
import { RequestErrors } from "@pix-payments/api/Security"
import { violationsOf, refusalOf } from "@pix-payments/domain/Request"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { errorResponse } from "./Edge.ts"

export const layer = HttpApiMiddleware.layerSchemaErrorTransform(RequestErrors, (error) => {
  switch (error.kind) {
    case "Headers":
      return Effect.map(HttpServerRequest, ({ headers }) =>
        headers["idempotency-key"]
          ? errorResponse("VALIDATION_ERROR", { details: ["Idempotency-Key"] })
          : errorResponse("IDEMPOTENCY_KEY_REQUIRED")
      )
    case "Params":
    case "Query": {
      const violations = violationsOf(Cause.fail(error.cause), {})
      const fields = violations.map(({ code, path }) => ({ code, path: path.slice(0, 1) }))
      const { details } = refusalOf(fields, {})
      return Effect.succeed(errorResponse("VALIDATION_ERROR", details === undefined ? {} : { details }))
    }
    default:
      return Effect.die(error)
  }
})
