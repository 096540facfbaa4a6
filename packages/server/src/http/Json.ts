/**
 * JSON in and out of the raw handlers.
 */
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

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

/** A response whose body is already in its wire form. */
export const jsonResponse = (body: unknown, status: number, headers?: Record<string, string>) =>
  HttpServerResponse.text(JSON.stringify(body), { status, contentType: "application/json", headers })
