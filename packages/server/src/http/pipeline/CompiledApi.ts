/**
 * The routes of an `HttpApi`, compiled once from its declaration.
 *
 * Guarantees:
 * - Every operation of the declaration has a handler. A handler fails only with errors that its endpoint declares, and
 *   its body fits the declared answer. The compiler checks all three.
 * - After the guard admitted the caller, headers are checked before the query, and the query before the body.
 *
 * Why not `HttpApiBuilder`: docs/decisions/0004-compiled-routes.md.
 */
import { BodyLimit } from "@pix-payments/api/BodyLimit"
import { IdempotencyKeyRequired, ValidationError } from "@pix-payments/api/WireErrors"
import { IDEMPOTENCY_KEY_SHAPE, isIdempotencyKey } from "@pix-payments/domain/IdempotencyKey"
import {
  cut,
  MAX_DETAILS,
  parseBody,
  refusalOf as refusalOfFields,
  type UnreadableBody,
  type Violation,
  violationsOf
} from "@pix-payments/domain/Request"
import type { ServiceUnavailable } from "@pix-payments/api/WireErrors"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Schema from "effect/Schema"
import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type { RequestInfo } from "../../base/observability/RequestContext.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { Answer, WireError } from "./Answer.ts"

/** What a handler receives. */
export interface Call<Caller, Params, Query, Key> {
  readonly caller: Caller
  readonly params: Params
  readonly query: Query
  /** A string where the endpoint requires one. */
  readonly idempotencyKey: Key
  readonly lastEventId: string | undefined
  /** The parsed body; `undefined` without a body; `UnreadableBody` where it is not JSON. */
  readonly body: unknown
}

type EndpointsOf<Group> = Group extends { readonly endpoints: infer Endpoints } ? Endpoints : never

/** Wire resources have no other encoding: the decoded success is sent as it is. */
type BodyOf<Endpoint> = HttpApiEndpoint.Success<Endpoint>["Type"]

type KeyOf<Endpoint> = HttpApiEndpoint.Headers<Endpoint>["Type"] extends { readonly "idempotency-key": string }
  ? string
  : string | undefined

type CallOf<Endpoint, Caller> = Call<
  Caller,
  HttpApiEndpoint.Params<Endpoint>["Type"],
  HttpApiEndpoint.Query<Endpoint>["Type"],
  KeyOf<Endpoint>
>

type HandlerOf<Endpoint, Caller, R, Cached> =
  | HandlerFor<Endpoint, Caller, R>
  /** A handler that accepts a cached caller too. */
  | { readonly revalidating: HandlerFor<Endpoint, Caller | Cached, R> }

/** Any operation may be answered "not now, or not here". */
type HandlerFor<Endpoint, Caller, R> = (
  call: CallOf<Endpoint, Caller>
) => Effect.Effect<
  Answer<BodyOf<Endpoint>>,
  HttpApiEndpoint.Error<Endpoint>["Type"] | ServiceUnavailable | Unavailable,
  R
>

/** The handlers of one group. `R` is what the guard provides. */
export type GroupHandlers<Group, Caller, R = never, Cached = never> = {
  readonly [Name in keyof EndpointsOf<Group>]: HandlerOf<EndpointsOf<Group>[Name], Caller, R, Cached>
}

/** The handlers of all groups of an API. */
export type Handlers<Groups, Caller, R = never, Cached = never> = {
  readonly [Name in keyof Groups]: GroupHandlers<Groups[Name], Caller, R, Cached>
}

/** A request after its body was read. */
export interface ReadRequest<Credentials> {
  readonly credentials: Credentials
  readonly idempotencyKey: string | undefined
  readonly lastEventId: string | undefined
  readonly params: Readonly<Record<string, string>>
  /** The query string, without its question mark. */
  readonly search: string
  /** `undefined` where the body was too large. */
  readonly body: string | UnreadableBody | undefined
  readonly info: RequestInfo
}

/** A request whose body has not arrived. */
export type Unread<Credentials> = Pick<ReadRequest<Credentials>, "credentials" | "info">

/** Ends without an answer where the sender of a body is known. */
export type Authentication = Effect.Effect<Answer | undefined, WireError | Unavailable>

/** Called with the caller's account once it is known. False where the account's share of the listener is used up. */
export type Admit = (accountId: string | undefined) => boolean

export interface Route<Credentials> {
  readonly method: string
  /** The path template as people write it: `/v1/charges/{id}`. */
  readonly template: string
  readonly segments: ReadonlyArray<string>
  readonly takesBody: boolean
  /** Undefined is the listener's. */
  readonly maxBodyBytes: number | undefined
  readonly beforeBody: (request: Unread<Credentials>) => Authentication | undefined
  readonly answer: (request: ReadRequest<Credentials>, admit: Admit) => Effect.Effect<Answer, WireError | Unavailable>
}

/** One operation, as a guard sees it. */
export interface Operation<Credentials, Caller, R, Cached = never> {
  readonly endpoint: HttpApiEndpoint.Top
  readonly takesBody: boolean
  /** Checks the headers, then the query, which it returns. */
  readonly decode: (request: ReadRequest<Credentials>) => Exit.Exit<unknown, WireError>
  readonly run: RunFor<Credentials, Caller, R>
  /** The same where the handler accepts a cached caller. */
  readonly runCached: RunFor<Credentials, Cached, R> | undefined
}

/** Runs an operation. `query` is what `decode` returned. */
type RunFor<Credentials, Caller, R> = (
  request: ReadRequest<Credentials>,
  query: unknown,
  caller: Caller
) => Effect.Effect<Answer, WireError | Unavailable, R>

/** Who may call: authentication and everything else that is checked before an operation runs. */
export interface Guard<Credentials, Caller, R, Cached = never> {
  /** Reads the credentials of a request, without I/O. */
  readonly credentialsOf: (request: IncomingMessage) => Credentials
  /** The account that a request most probably comes from, for its share of the listener. */
  readonly accountOf: (credentials: Credentials) => string | undefined
  /** Refuses a body of an unknown sender before it is read; `undefined` where there is nothing to find out. */
  readonly beforeBody: (endpoint: HttpApiEndpoint.Top, request: Unread<Credentials>) => Authentication | undefined
  readonly protect: (operation: Operation<Credentials, Caller, R, Cached>) => Route<Credentials>["answer"]
}

/** Compiles every route of the declaration. `refusesUnknownQuery` says where a query has declared parameters only. */
export const compile = <
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  Credentials,
  Caller,
  R,
  Cached = never
>(
  api: HttpApi.HttpApi<Id, Groups>,
  handlers: Handlers<HttpApi.HttpApi<Id, Groups>["groups"], Caller, R, Cached>,
  guard: Guard<Credentials, Caller, R, Cached>,
  refusesUnknownQuery: (endpoint: HttpApiEndpoint.Top) => boolean = () => false
): ReadonlyArray<Route<Credentials>> => {
  const routes: Array<Route<Credentials>> = []
  // `Handlers` has checked each handler against its endpoint.
  const all = handlers as unknown as Readonly<Record<string, Readonly<Record<string, AnyHandler<Caller, R, Cached>>>>>
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      const handler = all[group.identifier]?.[endpoint.identifier]
      if (handler === undefined) throw new Error(`${group.identifier}.${endpoint.identifier} has no handler`)
      const operation = operationOf<Credentials, Caller, R, Cached>(endpoint, handler, refusesUnknownQuery(endpoint))
      const path = endpoint.path.replace(/\/$/, "")
      routes.push({
        method: endpoint.method,
        template: path.replace(/:([A-Za-z_]+)/g, "{$1}"),
        segments: path.split("/").slice(1),
        takesBody: operation.takesBody,
        maxBodyBytes: Context.get(endpoint.annotations, BodyLimit),
        beforeBody: (request) => guard.beforeBody(endpoint, request),
        answer: guard.protect(operation)
      })
    }
  })
  return routes
}

type AnyHandler<Caller, R, Cached> = Handle<Caller, R> | { readonly revalidating: Handle<Caller | Cached, R> }

type Handle<Caller, R> = (call: Call<Caller, never, never, never>) => Effect.Effect<Answer, WireError | Unavailable, R>

const operationOf = <Credentials, Caller, R, Cached>(
  endpoint: HttpApiEndpoint.Top,
  handler: AnyHandler<Caller, R, Cached>,
  refusesUnknownQuery: boolean
): Operation<Credentials, Caller, R, Cached> => {
  const takesBody = endpoint.payload.size > 0
  const decodeQuery =
    endpoint.query === undefined && !refusesUnknownQuery
      ? undefined
      : queryDecoder(endpoint.query ?? Schema.Struct({}), refusesUnknownQuery)
  const keyRefusal = endpoint.headers === undefined ? undefined : keyCheck(endpoint.headers)
  const runOf =
    <C>(handle: Handle<C, R>): RunFor<Credentials, C, R> =>
    ({ body, idempotencyKey, lastEventId, params }, query, caller) =>
      handle({
        caller,
        // The handler's types come from the path and the schemas that produced these values.
        params: params as never,
        query: query as never,
        // Checked by `decode`. An empty key counts as absent.
        idempotencyKey: (idempotencyKey === "" ? undefined : idempotencyKey) as never,
        lastEventId: lastEventId === "" ? undefined : lastEventId,
        body: takesBody ? (typeof body === "string" ? parseBody(body) : body) : undefined
      })
  return {
    endpoint,
    takesBody,
    decode: ({ idempotencyKey, search }) => {
      const refusal = keyRefusal?.(idempotencyKey)
      if (refusal !== undefined) return Exit.fail(refusal)
      return decodeQuery === undefined ? NO_QUERY : decodeQuery(search)
    },
    run: runOf("revalidating" in handler ? handler.revalidating : handler),
    runCached: "revalidating" in handler ? runOf(handler.revalidating) : undefined
  }
}

const NO_QUERY = Exit.succeed({})

/** Checks `Idempotency-Key`. Handlers check `Last-Event-ID`, the other header that operations declare. */
const keyCheck = (headers: Schema.Top) => {
  const isOptional = Schema.is(headers)({})
  return (key: string | undefined): WireError | undefined => {
    if (key === undefined || key === "") return isOptional ? undefined : new IdempotencyKeyRequired({})
    if (isIdempotencyKey(key)) return undefined
    const violation = { code: "VALIDATION_ERROR", path: ["Idempotency-Key"], expected: IDEMPOTENCY_KEY_SHAPE } as const
    const { details = NONE, message = "" } = refusalOfFields([violation], { "Idempotency-Key": key })
    return new ValidationError({ details, message })
  }
}

const queryDecoder = (schema: Schema.Top, refusesUnknown: boolean) => {
  const known = new Set(namesOf(schema))
  const decode = Schema.decodeUnknownExit(
    Schema.toCodecArrayFromSingle(schema) as Schema.Codec<unknown, unknown>,
    // All bad fields at once, as for a body.
    { errors: "all" }
  )
  return (search: string): Exit.Exit<unknown, ValidationError> => {
    const fields = fieldsOf(search)
    const unknown = refusesUnknown ? Object.keys(fields).filter((name) => !known.has(name)) : NONE
    const decoded = decode(fields)
    const unreadable = notUtf8(search).filter((name) => known.has(name))
    if (Exit.isSuccess(decoded) && unknown.length === 0 && unreadable.length === 0) return Exit.succeed(decoded.value)
    const wrong = [
      ...(Exit.isSuccess(decoded) ? [] : violationsOf(decoded.cause, fields)).map((each) => ({
        ...each,
        path: each.path.slice(0, 1)
      })),
      ...unreadable.map((name) => ({ ...NOT_UTF8, path: [name] }))
    ]
    // The names are the caller's text, which no message repeats.
    const { message = "" } = refusalOfFields(unknown.length === 0 ? wrong : [...wrong, UNKNOWN], withNumbers(fields))
    const details = new Set([...wrong.map(({ path }) => String(path[0])), ...unknown.map(cut)])
    return Exit.fail(new ValidationError({ details: [...details].slice(0, MAX_DETAILS), message }))
  }
}

const NOT_UTF8 = { code: "VALIDATION_ERROR", expected: "UTF-8" } as const

const UNKNOWN: Violation = {
  code: "VALIDATION_ERROR",
  path: ["a parameter"],
  expected: "left out, as this call has none of that name"
}

const NONE: ReadonlyArray<string> = []

/** Fields as their reasons name them: `0` is a number there, not text of one character. */
const withNumbers = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      /^-?\d{1,8}(\.\d{1,8})?$/.test(String(value)) ? Number(value) : value
    ])
  )

/** The names of a query's parameters. */
const namesOf = ({ ast }: Schema.Top): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : NONE

/** The names of parameters whose escapes are not UTF-8. They would be read as U+FFFD, and find nothing. */
const notUtf8 = (search: string): ReadonlyArray<string> => {
  if (!search.includes("%")) return NONE
  const fields = search.split("&").filter((field) => !isUtf8(unescaped(field)))
  return [...new Set(fields.flatMap((field) => [...new URLSearchParams(`&${field}`).keys()]))]
}

/** The bytes that the escapes of an ASCII text stand for. */
const unescaped = (text: string): Buffer =>
  Buffer.from(
    text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1"
  )

/** The fields of a query. A repeated field is the list of its values. */
const fieldsOf = (search: string): Record<string, string | Array<string>> => {
  const fields: Record<string, string | Array<string>> = Object.create(null)
  if (search === "") return fields
  for (const [name, value] of new URLSearchParams(search)) {
    const known = fields[name]
    fields[name] = known === undefined ? value : Array.isArray(known) ? [...known, value] : [known, value]
  }
  return fields
}
