/**
 * Calls of the operator interface, through the client that effect derives from `OperatorApi`.
 *
 * Guarantees:
 * - An answer is returned as the service wrote it, with fields that this release does not know.
 * - A success that is empty, or of another service, is a `Failure`: callers read its fields without a check.
 * - A refusal, or no answer, is a `Failure` that says what to do. It contains no token.
 * - The token goes to the URL that it is for: redirects are not followed.
 * - A verification may take an hour. So requests are those of `node:http`: `fetch` gives up after five minutes.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { OperatorAuthentication } from "@pix-payments/api/Security"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Http from "node:http"
import * as Https from "node:https"
import { isAnswerOf } from "./AnswerObject.ts"
import { exitCodes, Failure, usage } from "./Failure.ts"

/** What an operation takes. Names are those of the declaration. */
export interface OperatorRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: unknown
}

export interface Answer {
  readonly status: number
  /** The text of the body, and what it says if it is JSON. */
  readonly text: string
  readonly body: unknown
}

export interface Service {
  readonly url: string
  readonly token: Redacted.Redacted<string>
}

/** How long an answer may take. The longest wait of `GET /events` is 10 s; all books of an installation may be read. */
const timeoutOf = (operation: string) => (operation === "ledger.verify" ? "1 hour" : "30 seconds")

type Method = (
  request: OperatorRequest & { readonly responseMode: "response-only" }
) => Effect.Effect<HttpClientResponse.HttpClientResponse, unknown>

/** Sends a request: `open(service, "charges.list", {})`. Returns once the headers of the answer are there. */
export const open = Effect.fnUntraced(
  function* (service: Service, operation: string, request: OperatorRequest) {
    const [group = "", endpoint = ""] = operation.split(".")
    const method = yield* HttpApiClient.endpoint(OperatorApi, {
      // The names of operations are text here: commands are made from the declaration.
      group: group as "charges",
      endpoint: endpoint as "list",
      httpClient: yield* HttpClient.HttpClient,
      baseUrl: service.url
    })
    return yield* (method as unknown as Method)({
      params: {},
      query: {},
      headers: {},
      ...request,
      responseMode: "response-only"
    })
  },
  (effect, service) =>
    effect.pipe(
      Effect.provide([
        HttpApiMiddleware.layerClient(OperatorAuthentication, ({ next, request }) =>
          next(HttpClientRequest.setHeader(request, "x-operator-token", Redacted.value(service.token)))
        ),
        Layer.provide(
          NodeHttpClient.layerNodeHttpNoAgent,
          // An answer is read after the call of `open`.
          Layer.succeed(NodeHttpClient.HttpAgent, { http: Http.globalAgent, https: Https.globalAgent })
        )
      ]),
      Effect.mapError((error) => failureOf(error, service))
    )
)

/** The answer to a call. Fails if the service refuses it. */
export const call = (
  service: Service,
  operation: string,
  request: OperatorRequest = {}
): Effect.Effect<Answer, Failure> =>
  Effect.flatMap(accepted(service, operation, request), (response) =>
    Effect.flatMap(
      Effect.mapError(response.text, (error) => failureOf(error, service)),
      (text) => {
        const answer = { status: response.status, text, body: parsed(text) }
        const isExpected = text === "" || /json/.test(response.headers["content-type"] ?? "")
        return isExpected && isAnswerOf(operation, answer.body)
          ? Effect.succeed(answer)
          : Effect.fail(notOperator(service))
      }
    )
  ).pipe(answeredInTime(service, operation))

/** The answer to a call, whose body is not read yet. Fails if the service refuses it. */
export const openAnswer = (
  service: Service,
  operation: string,
  request: OperatorRequest
): Effect.Effect<HttpClientResponse.HttpClientResponse, Failure> =>
  accepted(service, operation, request).pipe(answeredInTime(service, operation))

const accepted = Effect.fnUntraced(function* (service: Service, operation: string, request: OperatorRequest) {
  const response = yield* open(service, operation, request)
  const { headers, status } = response
  if (status < 300) return response
  // The listener of /v1 answers 404 to each route of operators, also to that of the session, which always exists.
  if (status === 404 && (yield* open(service, SESSION, {})).status === 404) return yield* notOperator(service)
  const text = yield* Effect.mapError(response.text, (error) => failureOf(error, service))
  return yield* refusalOf(
    { status, text, body: parsed(text) },
    service,
    headers["retry-after"],
    headers["x-request-id"]
  )
})

const SESSION = "session.retrieve"

const answeredInTime = (service: Service, operation: string) =>
  Effect.timeoutOrElse({
    duration: timeoutOf(operation),
    orElse: () =>
      Effect.fail(
        new Failure({
          message: `${service.url} did not answer within ${timeoutOf(operation)}.`,
          exitCode: exitCodes.unreachable
        })
      )
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Why a request was not sent, or not answered. */
const failureOf = (error: unknown, { url }: Service): Failure => {
  if (error instanceof Failure) return error
  if (Schema.isSchemaError(error)) return usage(`The request is not valid.\n${error.message}`)
  return new Failure({
    message: `No service answers at ${url}. Start it, or set PIX_URL to its operator listener.`,
    exitCode: exitCodes.unreachable
  })
}

/** Something answers, but not as the operator interface does: a web site, or a proxy that asks people to sign in. */
export const notOperator = ({ url }: Service): Failure =>
  new Failure({
    message: `${url} is not an operator listener. Set PIX_URL, or --url of pix login, to the one of the service.`,
    exitCode: exitCodes.unreachable
  })

/** What the service refused, and what to do. */
export const refusalOf = (
  { body, status }: Answer,
  service: Service,
  retryAfter?: string,
  requestId?: string
): Failure => {
  const { url } = service
  const { code, details, message } = Object(body) as Record<string, unknown>
  const fields = Array.isArray(details) && details.length > 0 ? ` (${details.map(String).join(", ")})` : ""
  const said = typeof message === "string" ? `${message}${fields}` : `${url} answers ${status}.`
  const failure = (exitCode: Failure["exitCode"], text: string) =>
    new Failure({ message: text, exitCode, ...(typeof code === "string" ? { code } : {}) })
  switch (status) {
    case 401:
      return failure(exitCodes.denied, `${url} does not accept the token. Sign in again: pix login`)
    case 403:
      return failure(exitCodes.denied, `${said} Run pix status to see your role and accounts.`)
    case 421:
      return failure(exitCodes.denied, `${url} does not answer to this host name. Add the name to OPERATOR_HOSTS.`)
    case 429:
      return failure(
        exitCodes.unavailable,
        `${said} Try again${retryAfter === undefined ? " later" : ` in ${retryAfter} s`}.`
      )
    default:
      return status >= 500
        ? failure(
            exitCodes.unavailable,
            `${said}${fields === "" ? " Try again." : ""}${requestId === undefined ? "" : ` The request's id is ${requestId}.`}`
          )
        : typeof code === "string"
          ? failure(exitCodes.refused, `${said} [${code}]`)
          : notOperator(service)
  }
}
