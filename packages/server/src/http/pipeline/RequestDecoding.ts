/** Decodes a request body by the schema of its operation. */
import type { Refusal } from "@pix-payments/domain/Request"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { RequestRefused } from "../../base/Errors.ts"

/** `body` is the parsed JSON, or `undefined`, which a decoder refuses unless the body is optional. */
export const decodeBody = <A>(
  body: unknown,
  decode: (body: unknown) => Result.Result<A, Refusal>
): Effect.Effect<A, RequestRefused> =>
  Result.match(decode(body), {
    onSuccess: Effect.succeed,
    onFailure: (refusal) => Effect.fail(new RequestRefused(refusal))
  })
