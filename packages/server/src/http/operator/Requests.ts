/**
 * What the operator handlers read from a request in the same way.
 */
import { defaultLimit } from "@pix-payments/domain/List"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Effect from "effect/Effect"
import { NotFoundError } from "../../Errors.ts"
import type { Page } from "../../sql/Paging.ts"

/** An id that can name something: one that is no UUID is answered like an unknown one. */
export const knownId = (id: string): Effect.Effect<string, NotFoundError> =>
  isUuid(id) ? Effect.succeed(id) : Effect.fail(new NotFoundError())

export const pageFrom = (query: {
  readonly limit?: number | undefined
  readonly starting_after?: string | undefined
}): Page => ({ limit: query.limit ?? defaultLimit, startingAfter: query.starting_after })
