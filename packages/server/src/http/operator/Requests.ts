/**
 * What the operator handlers read from a request in the same way.
 */
import { defaultLimit } from "@pix-payments/domain/List"
import type { Refusal } from "@pix-payments/domain/Request"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Result from "effect/Result"
import { NotFoundError, RequestRefused } from "../../Errors.ts"
import type { Page } from "../../sql/Paging.ts"
import { jsonBody } from "../Json.ts"

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

/** An id that can name something: one that is no UUID is answered like an unknown one. */
export const knownId = (id: string): Effect.Effect<string, NotFoundError> =>
  isUuid(id) ? Effect.succeed(id) : Effect.fail(new NotFoundError())

export const pageFrom = (query: {
  readonly limit?: number | undefined
  readonly starting_after?: string | undefined
}): Page => ({ limit: query.limit ?? defaultLimit, startingAfter: query.starting_after })
