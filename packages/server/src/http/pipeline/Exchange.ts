/**
 * One request to a listener, and its answer.
 *
 * Guarantees:
 * - Every answer carries `X-Request-Id` (the caller's, where it is well-formed), and every 503 `Retry-After`.
 * - Each request is shed, or answered once: `onAnswered` is called with its status, 499 where the caller left before.
 * - A read of a single resource has an `ETag`, and is 304 for a caller that has it. Larger reads are sent as gzip to callers that
 *   accept it: ADD-4, ADD-5. Only reads: a secret that is shown once is not compressed beside text of a caller.
 * - A defect is logged with the request id and answered `INTERNAL_ERROR`. No stack and no SQL reaches a caller.
 */
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import { hasProperty } from "effect/Predicate"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Ids } from "../../base/Ids.ts"
import type { Metrics, ShedReason } from "../../base/observability/Metrics.ts"
import { type RequestInfo, requestIdOf } from "../../base/observability/RequestContext.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import { type Answer, codeAnswer, errorAnswer, type StreamedBody, type WireError } from "./Answer.ts"
import { compress, MIN_COMPRESSED_BYTES } from "./Compression.ts"
import { encodingsOf, has, tagOf } from "./Negotiation.ts"
import { apiHeaders } from "./SecurityHeaders.ts"
import type { BoundedResponse } from "./SocketBounds.ts"
import type * as Streams from "./Streams.ts"

export type Answering = Effect.Effect<Answer, WireError | Unavailable>

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: BoundedResponse
  readonly method: string
  readonly startedAt: number
  readonly info: RequestInfo
  /** Names the route, and the id in its path, where there is one. */
  readonly routed: (template: string, pathId: string | undefined) => void
  /** For answers that are sent otherwise. */
  readonly answered: (status: number) => void
  /** Sends the answer. */
  readonly finish: (answer: Answer) => void
  /**
   * Sends the answer or the error. A streamed answer runs `again` for what it sends later. `left` is called once the answer has left;
   * of a stream, once it has begun.
   */
  readonly finishWith: (exit: Exit.Exit<Answer, WireError | Unavailable>, again?: Answering, left?: () => void) => void
  /** Answers 503 without any work. */
  readonly shed: (reason: ShedReason) => void
}

/** What all exchanges of a listener share. */
export interface Exchanges {
  readonly name: "public" | "operator"
  readonly onAnswered: (info: RequestInfo, method: string, status: number, durationMs: number) => void
  readonly ids: Ids["Service"]
  readonly metrics: Metrics["Service"]
  readonly runFork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly streams: Streams.Streams
}

/** Returns the function that begins an exchange. */
export const makeExchanges =
  ({ ids, metrics, name, onAnswered, runFork, streams }: Exchanges) =>
  (request: IncomingMessage, response: BoundedResponse): Exchange => {
    const startedAt = performance.now()
    const arrival = ids.next()
    const method = request.method ?? "GET"
    const info: RequestInfo = {
      arrival,
      requestId: requestIdOf(request.headers["x-request-id"], () => arrival.id),
      route: "unknown",
      keyId: null,
      accountId: null,
      resourceId: null,
      address: null,
      traceId: null
    }
    let pathId: string | undefined
    const answered = (status: number): void => {
      const seenStatus = response.destroyed && !response.writableEnded ? CLIENT_CLOSED : status
      const durationMs = performance.now() - startedAt
      metrics.answered(name, method, info.route, seenStatus, durationMs)
      onAnswered(info, method, seenStatus, durationMs)
    }
    const finish = (answer: Answer, left?: () => void): void => {
      info.resourceId = resourceOf(answer, pathId)
      send(response, answer, info.requestId, (status) => {
        answered(status)
        if (left !== undefined) response.whenLeft(left)
      })
    }
    const shed = (reason: ShedReason): void => {
      metrics.requestShed(name, reason)
      metrics.answered(name, method, info.route, 503, performance.now() - startedAt)
      if (!response.destroyed) {
        response.writeHead(503, [...shedHeaders, "x-request-id", info.requestId]).end(shedBody, "latin1")
      }
    }
    const stream = (status: number, body: StreamedBody, again: Answering): void => {
      const headers = [...apiHeaders, "x-request-id", info.requestId]
      if (!streams.start(response, status, headers, body, again)) return shed("streams")
      answered(status)
    }
    const finishWith: Exchange["finishWith"] = (exit, again, left) => {
      if (Exit.isSuccess(exit)) {
        const { status, stream: body } = exit.value
        if (body !== undefined && again !== undefined) {
          stream(status, body, again)
          if (left !== undefined) response.whenLeft(left)
          return
        }
        try {
          return finish(exit.value, left)
        } catch (error) {
          // The answer cannot be sent: JSON has no form for its body.
          return finishWith(Exit.die(error), again, left)
        }
      }
      const answer = wireErrorOf(exit.cause)
      if (answer === undefined) runFork(logDefect(exit.cause, info))
      finish(answer ?? codeAnswer("INTERNAL_ERROR"), left)
    }
    const routed = (template: string, id: string | undefined): void => {
      info.route = template
      pathId = id
    }
    return { request, response, method, startedAt, info, routed, answered, finish, finishWith, shed }
  }

const logDefect = (cause: Cause.Cause<unknown>, { requestId, route, traceId }: RequestInfo) =>
  Effect.annotateLogs(Effect.logError("a request failed unexpectedly", describeCause(cause)), {
    request_id: requestId,
    route,
    ...(traceId !== null && { trace_id: traceId })
  })

/** The resource that an answer is about: the one in its body or, where it has none, that of the path. */
const resourceOf = ({ body, status }: Answer, pathId: string | undefined): string | null => {
  if (hasProperty(body, "id") && typeof body.id === "string") return body.id
  // The charge that was stored, and that the acquirer refused.
  if (hasProperty(body, "charge_id") && typeof body.charge_id === "string") return body.charge_id
  // Of a refused request, the path may name a resource of another account.
  return status < 300 && pathId !== undefined && isUuid(pathId) ? pathId : null
}

/** The answer to an expected failure; `undefined` for a defect. */
export const wireErrorOf = (cause: Cause.Cause<WireError | Unavailable>): Answer | undefined => {
  const error = Cause.findErrorOption(cause)
  if (error._tag === "None") return undefined
  return error.value instanceof Unavailable ? codeAnswer("SERVICE_UNAVAILABLE") : errorAnswer(error.value)
}

// Made once: shedding must cost less than serving.
const shedBody = JSON.stringify(codeAnswer("SERVICE_UNAVAILABLE").body)
const shedHeaders: ReadonlyArray<string> = [
  ...apiHeaders,
  "content-type",
  "application/json",
  "content-length",
  String(Buffer.byteLength(shedBody)),
  "retry-after",
  "1"
]

/** Sends an answer. `sent` is called with its status, at once or when it is compressed. */
const send = (response: ServerResponse, answer: Answer, requestId: string, sent: (status: number) => void): void => {
  const headers = [...apiHeaders, "x-request-id", requestId]
  for (const name in answer.headers) {
    const value = answer.headers[name] ?? ""
    for (const each of typeof value === "string" ? [value] : value) headers.push(name, each)
  }
  // The rest of a body that is too large is not read.
  if (answer.status === 413) response.shouldKeepAlive = false
  if (answer.file !== undefined) {
    const { bytes, contentType } = answer.file
    headers.push("content-type", contentType)
    sendBytes(response, answer.status, headers, bytes)
  } else if (answer.body === undefined) {
    if (!response.destroyed) response.writeHead(answer.status, headers).end()
  } else {
    const text = JSON.stringify(answer.body)
    if (answer.status === 200 && isRead(response.req)) return sendRead(response, answer.body, headers, text, sent)
    headers.push("content-type", "application/json")
    sendText(response, answer.status, headers, text)
  }
  sent(answer.status)
}

const isRead = ({ method }: IncomingMessage): boolean => method === "GET" || method === "HEAD"

const sendRead = (
  response: ServerResponse,
  body: unknown,
  headers: Array<string>,
  text: string,
  sent: (status: number) => void
): void => {
  const asked = response.req.headers
  if (!hasProperty(body, "object") || body.object !== "list") {
    const etag = tagOf(text)
    headers.push("etag", etag)
    if (has(asked, etag)) {
      if (!response.destroyed) response.writeHead(304, headers).end()
      return sent(304)
    }
  }
  headers.push("content-type", "application/json")
  const plain = (): void => {
    sendText(response, 200, headers, text)
    sent(200)
  }
  if (text.length < MIN_COMPRESSED_BYTES) return plain()
  headers.push("vary", "accept-encoding")
  if (!encodingsOf(asked).has("gzip")) return plain()
  compress(text, (bytes) => {
    if (bytes === undefined) return plain()
    headers.push("content-encoding", "gzip")
    sendBytes(response, 200, headers, bytes)
    sent(200)
  })
}

const sendBytes = (response: ServerResponse, status: number, headers: Array<string>, bytes: Buffer): void => {
  headers.push("content-length", String(bytes.length))
  if (!response.destroyed) response.writeHead(status, headers).end(bytes)
}

export const sendText = (response: ServerResponse, status: number, headers: Array<string>, text: string): void => {
  if (response.destroyed) return
  const length = Buffer.byteLength(text)
  headers.push("content-length", String(length))
  if (status === 503) headers.push("retry-after", "1")
  // Measured: for ASCII, as most answers are, Latin-1 saves a tenth of the time to send a page of a list.
  response.writeHead(status, headers).end(text, length === text.length ? "latin1" : "utf8")
}

// nginx's status for a caller that closed the connection before the answer.
export const CLIENT_CLOSED = 499
