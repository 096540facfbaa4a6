/**
 * Authenticates the API key of a `/v1` request, and checks its rate limit and scopes.
 *
 * Guarantees:
 * - A body is not waited for without a key that is known.
 * - Checks run in the contract's order: key, body size, rate limit, scopes, idempotency key, query.
 * - While nobody may be called, a creation is `SERVICE_UNAVAILABLE`; so is every request of an account that moves to another cell, or has.
 * - A request is never refused on cached data, except by its account's share of the places. A `revalidating` operation runs with the cached caller. Where no statement proves
 *   that the caller is as cached (`accounts/Caller.ts`), the request starts again here, with a confirmed one.
 *
 * Rules: KEY-1 to KEY-7. Why: docs/decisions/0009-confirmed-cache.md.
 */
import { RequiredScopes } from "@pix-payments/api/Security"
import { InsufficientScope, PayloadTooLarge, ServiceUnavailable, Unauthorized } from "@pix-payments/api/WireErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { IncomingMessage } from "node:http"
import type { ApiKeys } from "../../accounts/ApiKeys.ts"
import { type Cached, type Caller, type Confirmed, isStaleCaller } from "../../accounts/Caller.ts"
import { closedReason, type OutwardGate } from "../../base/Outward.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { Answer, WireError } from "../pipeline/Answer.ts"
import type { Admit, Guard, Operation, ReadRequest, Route } from "../pipeline/CompiledApi.ts"
import { headerOf } from "../pipeline/HttpServer.ts"
import { rateLimited } from "../pipeline/WireTranslation.ts"
import type { Counted, KeyRateLimit } from "./KeyRateLimit.ts"

export interface KeyCredentials {
  readonly key: string | undefined
  /** The cached caller of the key. */
  readonly cached: Cached | undefined
}

export const make = (
  keys: ApiKeys["Service"],
  limit: KeyRateLimit["Service"],
  outward: OutwardGate
): Guard<KeyCredentials, Confirmed, never, Cached> => ({
  credentialsOf: (request: IncomingMessage) => {
    const key = headerOf(request, "x-api-key")
    return { key, cached: key === undefined ? undefined : keys.cached(key) }
  },
  accountOf: ({ cached }) => cached?.account.id,
  beforeBody: (_, { credentials: { cached, key } }) => {
    if (cached !== undefined) return undefined
    if (key === undefined || key === "") return withoutKey
    return Effect.flatMap(keys.authenticate(key), (caller) =>
      caller === undefined ? Effect.fail(new Unauthorized({})) : Effect.undefined
    )
  },
  protect: (operation) => protect(operation, keys, limit, outward)
})

// After a turn of the event loop, in which a small body arrives: its connection is then kept.
const withoutKey = Effect.andThen(
  Effect.yieldNow,
  Effect.suspend(() => Effect.fail(new Unauthorized({})))
)

type Request = ReadRequest<KeyCredentials>

const protect = (
  { decode, endpoint, run, runCached, takesBody }: Operation<KeyCredentials, Confirmed, never, Cached>,
  keys: ApiKeys["Service"],
  limit: KeyRateLimit["Service"],
  outward: OutwardGate
): Route<KeyCredentials>["answer"] => {
  const required = Context.get(endpoint.annotations, RequiredScopes)
  const isCreation = endpoint.method === "POST"

  /** The query, where the caller may make the request. */
  const decodeFor = (request: Request, caller: Caller): Exit.Exit<unknown, WireError> => {
    if (!required.every((scope) => caller.scopes.includes(scope))) {
      return Exit.fail(new InsufficientScope({ details: required }))
    }
    if (isCreation && closedReason(outward) !== undefined) return Exit.fail(new ServiceUnavailable({}))
    return decode(request)
  }

  const identified = ({ info }: Request, caller: Caller | undefined, admit: Admit): boolean => {
    info.keyId = caller?.keyId ?? null
    info.accountId = caller?.account.id ?? null
    return caller === undefined || admit(caller.account.id)
  }

  /** Answers for the caller that the database returns. */
  const withLookup = (
    request: Request,
    key: string,
    admit: Admit,
    counted: Counted
  ): Effect.Effect<Answer, WireError | Unavailable> =>
    Effect.flatMap(keys.authenticate(key), (caller): Effect.Effect<Answer, WireError | Unavailable> => {
      const isAdmitted = identified(request, caller, admit)
      if (caller === undefined) return Effect.fail(new Unauthorized({}))
      if (!isAdmitted || caller.account.isMoved) return Effect.fail(new ServiceUnavailable({}))
      if (takesBody && request.body === undefined) return Effect.fail(new PayloadTooLarge({}))
      const waitSeconds = limit.take(caller, counted)
      if (waitSeconds > 0) return rateLimited(waitSeconds)
      return Effect.flatMap(decodeFor(request, caller), (query) => run(request, query, caller))
    })

  return (request, admit) => {
    const { cached, key } = request.credentials
    if (key === undefined || key === "") return Effect.fail(new Unauthorized({}))
    if (
      cached === undefined ||
      cached.account.isMoved ||
      runCached === undefined ||
      (takesBody && request.body === undefined)
    ) {
      return withLookup(request, key, admit, new Map())
    }
    const query = decodeFor(request, cached)
    if (Exit.isFailure(query)) return withLookup(request, key, admit, new Map())
    const counted: Counted = new Map()
    const again = () => withLookup(request, key, admit, counted)
    if (limit.take(cached, counted) > 0) return again()
    if (!identified(request, cached, admit)) return Effect.fail(new ServiceUnavailable({}))
    return Effect.catchIf(runCached(request, query.value, cached), isStaleCaller, again)
  }
}
