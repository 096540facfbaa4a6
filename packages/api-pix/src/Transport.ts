/**
 * HTTPS with a client certificate.
 *
 * Guarantees
 * - A request ends in an answer that was read to its end, or in a `TransportFailure` that says whether a connection was
 *   made. Failures carry a code, never a request.
 * - Requests are not traced here and send no trace headers: URLs and headers contain secrets.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as Scope from "effect/Scope"
import { type Credentials, tlsOptions } from "./Credentials.ts"
import type { Answer } from "./Outcome.ts"

export class TransportFailure extends Data.TaggedError("TransportFailure")<{
  /** `closed-silently`: the other side closed the connection and had sent nothing. */
  readonly kind: "no-connection" | "our-certificate" | "their-certificate" | "closed-silently" | "connection-cut"
  readonly code: string
}> {}

export interface TransportRequest {
  readonly method: "GET" | "PUT" | "PATCH" | "POST" | "DELETE"
  readonly url: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: { readonly text: string; readonly type: string }
}

/** What carries requests: HTTPS, or a provider in the same process. */
export type Transport = (request: TransportRequest) => Effect.Effect<Answer, TransportFailure>

/** A page of 1,000 Pix has about 1 MB. */
const LARGEST_ANSWER = 16 * 1024 * 1024

export const makeTransport = (
  credentials: Credentials,
  maxConnections: number
): Effect.Effect<Transport, never, Scope.Scope> =>
  Effect.gen(function* () {
    const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
      connect: tlsOptions(credentials),
      connections: maxConnections,
      maxResponseSize: LARGEST_ANSWER
    })
    const made = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)
    const client = HttpClient.withScope(made)

    return (request) =>
      Effect.scoped(
        Effect.gen(function* () {
          const response = yield* client.execute(toClientRequest(request))
          const text = yield* response.text
          return answerOf(response.status, response.headers["retry-after"], text, response.headers["date"])
        })
      ).pipe(
        Effect.mapError(failureFrom),
        Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
        Effect.provideService(HttpClient.TracerPropagationEnabled, false)
      )
  })

/** An answer of any transport, from its text. */
export const answerOf = (status: number, retryAfter: string | undefined, text: string, date?: string): Answer => ({
  status,
  retryAfter,
  dateMs: date === undefined || Number.isNaN(Date.parse(date)) ? undefined : Date.parse(date),
  body: parsed(text),
  isEmpty: text.trim() === ""
})

const toClientRequest = ({ method, url, query, headers, body }: TransportRequest) => {
  const request = HttpClientRequest.make(method)(url).pipe(
    HttpClientRequest.appendUrlParams(query),
    HttpClientRequest.setHeaders({ accept: "application/json, application/problem+json", ...headers })
  )
  return body === undefined ? request : HttpClientRequest.bodyText(request, body.text, body.type)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const CONNECTING = new Set(["connect", "getaddrinfo"])
const OUR_CERTIFICATE = /ALERT.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)/
const THEIR_CERTIFICATE = /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_)/

const failureFrom = (error: HttpClientError.HttpClientError): TransportFailure => {
  if (error.reason._tag === "InvalidUrlError")
    return new TransportFailure({ kind: "no-connection", code: "INVALID_URL" })
  const chain = causesOf(error.reason)
  const code = chain.map(({ code: each }) => each).find((each): each is string => typeof each === "string") ?? "UNKNOWN"
  if (chain.some(({ syscall }) => typeof syscall === "string" && CONNECTING.has(syscall))) {
    return new TransportFailure({ kind: "no-connection", code })
  }
  if (code === "UND_ERR_CONNECT_TIMEOUT") return new TransportFailure({ kind: "no-connection", code })
  if (OUR_CERTIFICATE.test(code)) return new TransportFailure({ kind: "our-certificate", code })
  if (THEIR_CERTIFICATE.test(code)) return new TransportFailure({ kind: "their-certificate", code })
  return new TransportFailure({ kind: chain.some(isSilent) ? "closed-silently" : "connection-cut", code })
}

const RESET = new Set<unknown>(["ECONNRESET", "EPIPE"])

const isSilent = ({ code, socket }: NodeError): boolean =>
  RESET.has(code) || (code === "UND_ERR_SOCKET" && socket?.bytesRead === 0)

interface NodeError {
  readonly code?: unknown
  readonly syscall?: unknown
  readonly cause?: unknown
  readonly errors?: unknown
  readonly socket?: { readonly bytesRead?: number } | null
}

/** The error, its causes, and those of several attempts to connect. */
const causesOf = (error: unknown, depth = 0): ReadonlyArray<NodeError> => {
  if (typeof error !== "object" || error === null || depth > 5) return []
  const each = error as NodeError
  const others = Array.isArray(each.errors) ? each.errors : []
  return [each, ...[each.cause, ...others].flatMap((cause) => causesOf(cause, depth + 1))]
}
