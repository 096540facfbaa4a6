/**
 * `/v1` as it is served: the routes, decoders and guards of `PaymentsApi`, prepared once from the declaration.
 *
 * Guarantees: every operation that the declaration has is handled, and a handler fails with nothing but the errors
 * that its endpoint declares (both checked by the compiler); checks come in the contract's order: key, body size, rate
 * limit, scopes, idempotency key, query.
 *
 * A handler that is `revalidating` is tried with the caller as remembered, when there is nothing else to refuse; what it
 * cannot confirm is begun anew with the caller as looked up (see `Callers`).
 *
 * Why not `HttpApiBuilder`: it interprets the declaration for each request. Measured on the creation of charges, the
 * same handlers behind these prepared routes cost half of the server's time (see bench/RESULTS.md).
 *
 * Source: payments-api-v1.md "Authentication", "Errors"; decisions.md "Answers" (order of checks).
 */
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { type Caller, RequiredScopes } from "@pix-payments/api/Security"
import {
  IdempotencyKeyRequired,
  InsufficientScope,
  PayloadTooLarge,
  RateLimited,
  ServiceUnavailable,
  Unauthorized,
  ValidationError
} from "@pix-payments/api/WireErrors"
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import { isIdempotencyKey } from "@pix-payments/domain/IdempotencyKey"
import { MAX_DETAILS, refusalOf as refusalOfFields, violationsOf } from "@pix-payments/domain/Request"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as Schema from "effect/Schema"
import { StaleCaller } from "../accounts/CallerCache.ts"
import type { Unavailable } from "../sql/Unavailable.ts"

/** What a handler is given. */
export interface Call<Query = unknown> {
  readonly caller: Caller
  /** True where the caller is remembered, and what is done has to confirm them: in a `revalidating` handler only. */
  readonly isCached: boolean
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  /** Of operations that take one. */
  readonly idempotencyKey: string
  /** The parsed body; `undefined` where there is none, or none that is JSON. */
  readonly body: unknown
}

/** What a handler gives back: a body in its wire form. */
export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An error body of the contract. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly details?: ReadonlyArray<string>
  readonly charge_id?: string
}

type Groups = (typeof PaymentsApi)["groups"]
type Endpoints<G extends keyof Groups> = Groups[G]["endpoints"]

/** The handlers of a group, one for each of its endpoints. */
export type Handlers<G extends keyof Groups> = {
  readonly [E in keyof Endpoints<G>]:
    | ((
        call: Call<HttpApiEndpoint.Query<Endpoints<G>[E]>["Type"]>
      ) => Effect.Effect<Answer, HttpApiEndpoint.Error<Endpoints<G>[E]>["Type"] | Unavailable>)
    | Confirming<
        HttpApiEndpoint.Query<Endpoints<G>[E]>["Type"],
        HttpApiEndpoint.Error<Endpoints<G>[E]>["Type"] | Unavailable
      >
}

/** A handler that may be given a caller who is only remembered, and answers nothing before they are confirmed. */
export interface Confirming<Query, E> {
  readonly revalidating: (call: Call<Query>) => Effect.Effect<Answer, E | StaleCaller>
}

/** The handlers of all groups. */
export type AllHandlers = { readonly [G in keyof Groups]: Handlers<G> }

/** A request as the listener has read it. */
export interface ReadRequest {
  readonly key: string | undefined
  /** Who called with this key when it was last looked up. */
  readonly remembered: Caller | undefined
  readonly idempotencyKey: string | undefined
  readonly params: Readonly<Record<string, string>>
  /** The query string, without its question mark. */
  readonly search: string
  /** `undefined` where the body was larger than it may be. */
  readonly body: string | undefined
}

export interface Route {
  readonly method: string
  /** The path template as people write it: `/v1/charges/{id}`. */
  readonly template: string
  readonly segments: ReadonlyArray<string>
  readonly takesBody: boolean
  /**
   * Answers a request; `accepted` is called with who calls as soon as that is known, or with nobody after all. Where it
   * returns false, the request is answered `SERVICE_UNAVAILABLE` and nothing is done.
   */
  readonly answer: (
    request: ReadRequest,
    accepted: (caller: Caller | undefined) => boolean
  ) => Effect.Effect<Answer, WireError | Unavailable>
}

export interface Guards {
  readonly authenticate: (key: string) => Effect.Effect<Caller | undefined, Unavailable>
  /** Counts a request; the seconds to wait when it is one too many, else 0. */
  readonly take: (keyId: string) => Effect.Effect<number>
}

/** Prepares every route of the declaration. */
export const prepare = (all: AllHandlers, guards: Guards): ReadonlyArray<Route> => {
  const routes: Array<Route> = []
  HttpApi.reflect(PaymentsApi, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      const handlers: Readonly<Record<string, Handler>> = all[group.identifier as keyof Groups]
      const handler = handlers[endpoint.identifier]
      if (handler === undefined) throw new Error(`${group.identifier}.${endpoint.identifier} has no handler`)
      routes.push(prepareRoute(endpoint, handler, guards))
    }
  })
  return routes
}

/** The answer that tells an error. */
export const errorAnswer = (error: WireError, headers?: Readonly<Record<string, string>>): Answer => ({
  status: errorCodes[error.code].status,
  body: {
    code: error.code,
    message: error.message,
    // Wherever they come from: a hostile body must not make a long answer.
    details: error.details === undefined ? undefined : error.details.slice(0, MAX_DETAILS),
    charge_id: error.charge_id
  },
  ...(headers === undefined ? undefined : { headers })
})

/** The same for a code that no error class is at hand for. */
export const codeAnswer = (code: ErrorCode, headers?: Readonly<Record<string, string>>): Answer =>
  errorAnswer({ code, message: errorCodes[code].message }, headers)

// Each is checked against its own endpoint by `Handlers`; here they are called alike.
type Handler =
  | ((call: Call<never>) => Effect.Effect<Answer, WireError | Unavailable>)
  | Confirming<never, WireError | Unavailable>

const prepareRoute = (endpoint: HttpApiEndpoint.Top, handler: Handler, guards: Guards): Route => {
  const required = Context.get(endpoint.annotations, RequiredScopes)
  const takesBody = endpoint.payload.size > 0
  const takesKey = endpoint.headers !== undefined
  const decodeQuery = endpoint.query === undefined ? undefined : queryDecoder(endpoint.query)
  const path = endpoint.path.replace(/\/$/, "")
  const isRevalidating = "revalidating" in handler
  const handle = isRevalidating ? handler.revalidating : handler

  /** What is wrong with a request before its body is looked at. */
  const refusalOf = (request: ReadRequest, caller: Caller) => {
    if (!required.every((scope) => caller.scopes.includes(scope))) return new InsufficientScope({ details: required })
    if (!takesKey) return undefined
    if (!request.idempotencyKey) return new IdempotencyKeyRequired({})
    return isIdempotencyKey(request.idempotencyKey) ? undefined : new ValidationError({ details: ["Idempotency-Key"] })
  }

  const admitted = (request: ReadRequest, caller: Caller, isCached: boolean) => {
    const query = decodeQuery === undefined ? Exit.succeed({}) : decodeQuery(request.search)
    if (Exit.isFailure(query)) return Effect.failCause(query.cause)
    return handle({
      caller,
      isCached,
      params: request.params,
      // Decoded by the schema that the handler's own type comes from.
      query: query.value as never,
      idempotencyKey: request.idempotencyKey ?? "",
      body: takesBody ? parse(request.body) : undefined
    })
  }

  /** Answers for the caller as the key is looked up now. */
  const lookedUp = (
    request: ReadRequest,
    key: string,
    accepted: (caller: Caller | undefined) => boolean,
    take: Guards["take"]
  ) =>
    Effect.flatMap(guards.authenticate(key), (caller): Effect.Effect<Answer, WireError | Unavailable> => {
      const hasRoom = accepted(caller)
      if (caller === undefined) return Effect.fail(new Unauthorized({}))
      if (!hasRoom) return Effect.fail(new ServiceUnavailable({}))
      if (takesBody && request.body === undefined) return Effect.fail(new PayloadTooLarge({}))
      return Effect.flatMap(take(caller.keyId), (waitSeconds): Effect.Effect<Answer, WireError | Unavailable> => {
        if (waitSeconds > 0) {
          return Effect.succeed(errorAnswer(new RateLimited({}), { "retry-after": String(waitSeconds) }))
        }
        const refusal = refusalOf(request, caller)
        if (refusal !== undefined) return Effect.fail(refusal)
        return Effect.catchIf(admitted(request, caller, false), isUnconfirmed, Effect.die)
      })
    })

  return {
    method: endpoint.method,
    template: path.replace(/:([A-Za-z_]+)/g, "{$1}"),
    segments: path.split("/").slice(1),
    takesBody,
    answer: (request, accepted) => {
      const key = request.key
      if (key === undefined || key === "") return Effect.fail(new Unauthorized({}))
      const remembered = isRevalidating ? request.remembered : undefined
      const isPlain = remembered === undefined || (takesBody && request.body === undefined)
      if (isPlain || refusalOf(request, remembered) !== undefined) return lookedUp(request, key, accepted, guards.take)
      return Effect.flatMap(
        guards.take(remembered.keyId),
        (waitSeconds): Effect.Effect<Answer, WireError | Unavailable> => {
          const again = () => lookedUp(request, key, accepted, () => Effect.succeed(waitSeconds))
          if (waitSeconds > 0) return again()
          if (!accepted(remembered)) return Effect.fail(new ServiceUnavailable({}))
          return Effect.catchIf(admitted(request, remembered, true), isUnconfirmed, again)
        }
      )
    }
  }
}

const isUnconfirmed = (error: WireError | StaleCaller | Unavailable): error is StaleCaller =>
  error instanceof StaleCaller

const queryDecoder = (schema: Schema.Top) => {
  const decode = Schema.decodeUnknownExit(
    Schema.toCodecArrayFromSingle(schema) as Schema.Codec<unknown, unknown>,
    // As of a body, all bad fields at once.
    { errors: "all" }
  )
  return (search: string): Exit.Exit<unknown, ValidationError> => {
    const fields = fieldsOf(search)
    const decoded = decode(fields)
    if (Exit.isSuccess(decoded)) return Exit.succeed(decoded.value)
    const violations = violationsOf(decoded.cause, fields).map(({ code, path }) => ({ code, path: path.slice(0, 1) }))
    const { details } = refusalOfFields(violations, fields)
    return Exit.fail(new ValidationError(details === undefined ? {} : { details }))
  }
}

/** The fields of a query; one that is repeated is a list of its values. */
const fieldsOf = (search: string): Record<string, string | Array<string>> => {
  const fields: Record<string, string | Array<string>> = Object.create(null)
  if (search === "") return fields
  for (const [name, value] of new URLSearchParams(search)) {
    const known = fields[name]
    fields[name] = known === undefined ? value : Array.isArray(known) ? [...known, value] : [known, value]
  }
  return fields
}

const parse = (body: string | undefined): unknown => {
  if (body === undefined) return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
