/**
 * JSON in and out of the raw handlers.
 */
import type { Refusal } from "@pix-payments/domain/Request"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Result from "effect/Result"
import { RequestRefused } from "../Errors.ts"

/**
 * The parsed body. Malformed JSON is `undefined`, which no request schema takes: what is answered then is the
 * schema's to say.
 */
export const jsonBody = (request: HttpServerRequest): Effect.Effect<unknown> =>
  Effect.map(Effect.orDie(request.text), (text) => {
    try {
      return JSON.parse(text)
    } catch {
      return undefined
    }
  })

/** The body, as its decoder reads it. */
export const decodeBody = <A>(
  request: HttpServerRequest,
  decode: (body: unknown) => Result.Result<A, Refusal>
): Effect.Effect<A, RequestRefused> =>
  Effect.flatMap(jsonBody(request), (body) =>
    Result.match(decode(body), {
      onSuccess: Effect.succeed,
      onFailure: (refusal) => Effect.fail(new RequestRefused(refusal))
    })
  )

/** A response whose body is already in its wire form. */
export const jsonResponse = (body: unknown, status: number, headers?: Record<string, string>) =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json", headers })
