/**
 * An HTTP listener on node:http: routing, bounds, request ids and error bodies. Both listeners are made with it.
 *
 * Guarantees:
 * - Every answer carries `X-Request-Id` (the caller's, where it is well-formed), and every 503 `Retry-After`.
 * - An unknown route is `NOT_FOUND`. A known one with another verb is `METHOD_NOT_ALLOWED` with `Allow`.
 * - A defect is logged with the request id and answered `INTERNAL_ERROR`. No stack and no SQL reaches a caller.
 * - Beyond `MAX_REQUESTS_IN_FLIGHT`, or the account's share of it (`InFlight`), a request is answered 503 at once, before
 *   any query. A request counts from the end of its body until its answer has left.
 * - The sender of a body is authenticated while it arrives: a refusal does not wait for its end.
 * - A streamed answer has bounds beside these (`Streams`), and takes no slot.
 * - A request runs to its end whether or not its caller waits for the answer, also while the listener closes.
 *
 * Measured: one fiber per request, and only the compiled routes between node and the handler (bench/RESULTS.md).
 */
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Server as NetServer } from "node:net"
import { Metrics, type ShedReason } from "../../base/observability/Metrics.ts"
import { Ids } from "../../base/Ids.ts"
import { type RequestInfo, requestIdOf } from "../../base/observability/RequestContext.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { Settings } from "../../base/Settings.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import { type Answer, codeAnswer, errorAnswer, type StreamedBody, type WireError } from "./Answer.ts"
import type { Guard, ReadRequest, Route } from "./CompiledApi.ts"
import * as InFlight from "./InFlight.ts"
import { hostOf, LONGEST_REQUEST_MS, makeServer } from "./Listener.ts"
import { refuse } from "./LowLevelRefusals.ts"
import { makePageLimiter, negotiated, type Page } from "./Pages.ts"
import { type BodyReader, heldBack, makeBodies, textOf } from "./RequestBody.ts"
import { findRoute, makeTable } from "./Router.ts"
import { apiHeaders } from "./SecurityHeaders.ts"
import type { BoundedResponse } from "./SocketBounds.ts"
import * as Streams from "./Streams.ts"

type Answering = Effect.Effect<Answer, WireError | Unavailable>

/** A path outside the API that takes no slot: health and metrics. */
export interface Probe {
  readonly method: "GET"
  readonly template: string
  readonly segments: ReadonlyArray<string>
  readonly probe: Effect.Effect<ProbeAnswer>
}

export interface ProbeAnswer {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

export const probe = (path: string, answer: Effect.Effect<ProbeAnswer>): Probe => ({
  method: "GET",
  template: path,
  segments: path.split("/").slice(1),
  probe: answer
})

export interface ListenerOptions<Credentials, Caller, R> {
  readonly name: "public" | "operator"
  readonly host: string
  readonly port: number
  readonly routes: ReadonlyArray<Route<Credentials>>
  readonly guard: Guard<Credentials, Caller, R>
  readonly pages: ReadonlyArray<Page>
  readonly probes: ReadonlyArray<Probe>
  /** Refuses a request before it is routed. */
  readonly refusalOf: (request: IncomingMessage, path: string) => Answer | undefined
  readonly onShed: (info: RequestInfo, durationMs: number) => void
  /** Called once for each request that was not shed; its status is 499 where the caller left before the answer. */
  readonly onAnswered: (info: RequestInfo, method: string, status: number, durationMs: number) => void
}

/** Listens until the scope closes; returns the URL. */
export const listen = Effect.fnUntraced(function* <Credentials, Caller, R>(
  options: ListenerOptions<Credentials, Caller, R>
) {
  const settings = yield* Settings
  const metrics = yield* Metrics
  const ids = yield* Ids
  const runFork = Effect.runForkWith(yield* Effect.context())
  const isTraced = Option.isSome(settings.otlpEndpoint)
  const { guard } = options

  const table = makeTable<Route<Credentials> | Page | Probe>([...options.routes, ...options.pages, ...options.probes])
  const inFlight = InFlight.make(settings.maxRequestsInFlight)
  const bodies = makeBodies()
  const pageLimiter = makePageLimiter(Math.max(1, Math.floor(settings.maxRequestsInFlight / PAGES_SHARE)))
  const streams = Streams.make(runFork, settings.answerTimeoutMs)
  metrics.streams(options.name, streams.count)
  metrics.requestsInFlight(options.name, () => inFlight.count() + pageLimiter.inFlight())

  const serve = (request: IncomingMessage, response: BoundedResponse) => {
    const startedAt = performance.now()
    const arrival = ids.next()
    const info: RequestInfo = {
      arrival,
      requestId: requestIdOf(request.headers["x-request-id"], () => arrival.id),
      route: "unknown",
      keyId: null,
      accountId: null,
      resourceId: null,
      address: null
    }
    const method = request.method ?? "GET"
    const answered = (status: number) => {
      const loggedStatus = response.destroyed && !response.writableEnded ? CLIENT_CLOSED : status
      options.onAnswered(info, method, loggedStatus, performance.now() - startedAt)
    }
    const finish = (answer: Answer) => {
      info.resourceId = resourceOf(answer, found._tag === "Found" ? found.params["id"] : undefined)
      send(response, answer, info.requestId)
      answered(answer.status)
    }
    const shed = (reason: ShedReason) => {
      metrics.requestShed(options.name, reason)
      options.onShed(info, performance.now() - startedAt)
      if (!response.destroyed) {
        response.writeHead(503, [...shedHeaders, "x-request-id", info.requestId]).end(shedBody, "latin1")
      }
    }
    const stream = (status: number, body: StreamedBody, again: Answering): void => {
      const headers = [...apiHeaders, "x-request-id", info.requestId]
      if (!streams.start(response, status, headers, body, again)) return shed("streams")
      answered(status)
    }
    const finishWith = (exit: Exit.Exit<Answer, WireError | Unavailable>, again?: Answering): void => {
      if (Exit.isSuccess(exit)) {
        const { status, stream: body } = exit.value
        if (body !== undefined && again !== undefined) return stream(status, body, again)
        try {
          return finish(exit.value)
        } catch (error) {
          // The answer cannot be sent: JSON has no form for its body.
          return finishWith(Exit.die(error))
        }
      }
      const answer = wireErrorOf(exit.cause)
      if (answer === undefined) logDefect(exit.cause, info)
      finish(answer ?? codeAnswer("INTERNAL_ERROR"))
    }

    const url = targetOf(request.url ?? "/")
    const mark = url.indexOf("?")
    const path = mark < 0 ? url : url.slice(0, mark)
    const search = mark < 0 ? "" : url.slice(mark + 1)
    const found = findRoute(table, method, path)
    const isProbe = found._tag === "Found" && "probe" in found.route
    if (request.headers.host === undefined && request.httpVersion === "1.1" && !isProbe) {
      answered(400)
      return refuse(response, 400, "VALIDATION_ERROR", info.requestId, ["Host"])
    }
    const refusal = options.refusalOf(request, path)
    if (refusal !== undefined) return finish(refusal)
    if (found._tag === "Missing") return finish(codeAnswer("NOT_FOUND"))
    if (found._tag === "OtherVerbs") {
      return finish(codeAnswer("METHOD_NOT_ALLOWED", { headers: { allow: found.verbs.join(", ") } }))
    }
    const { route } = found
    info.route = route.template

    if ("page" in route) {
      return void route.page(search).then(
        (page) => {
          const { body, headers, status } = negotiated(page, request.headers)
          if (!pageLimiter.take(method === "HEAD" ? 0 : (body?.length ?? 0), startedAt)) return shed("pages")
          answered(status)
          if (!response.destroyed) {
            response.writeHead(status, [...headers, "x-request-id", info.requestId]).end(body)
          }
          response.whenLeft(pageLimiter.release)
        },
        (error: unknown) => finishWith(Exit.die(error))
      )
    }
    if ("probe" in route) {
      return void runFork(route.probe).addObserver((exit) => {
        if (Exit.isFailure(exit)) return finishWith(exit)
        const { contentType, status, text } = exit.value
        answered(status)
        sendText(response, status, [...apiHeaders, "x-request-id", info.requestId, "content-type", contentType], text)
      })
    }

    // Node discards the rest of the body.
    if (inFlight.isFull()) return shed("all")

    const run = (body: ReadRequest<Credentials>["body"], credentials: Credentials) => {
      const slot = inFlight.take(guard.accountOf(credentials))
      if (slot === undefined) return shed(inFlight.isFull() ? "all" : "account")
      const read = {
        credentials,
        idempotencyKey: headerOf(request, "idempotency-key"),
        lastEventId: headerOf(request, "last-event-id"),
        params: found.params,
        search,
        body,
        info
      }
      const admit = (accountId: string | undefined) => {
        if (accountId === undefined || inFlight.moveTo(slot, accountId)) return true
        metrics.requestShed(options.name, "account")
        return false
      }
      // Suspended, so that what a route throws is a defect of its request.
      const answering = Effect.suspend(() => route.answer(read, admit))
      runFork(isTraced ? traced(answering, method, info) : answering).addObserver((exit) => {
        finishWith(exit, answering)
        response.whenLeft(() => inFlight.release(slot))
      })
    }
    const credentials = guard.credentialsOf(request)
    if (!route.takesBody) return run("", credentials)
    const authentication = route.beforeBody({ credentials, info })
    const reader: BodyReader = {
      onDone: (body) =>
        run(
          body === undefined ? undefined : textOf(request, body),
          // Authentication may have found the caller.
          authentication === undefined ? credentials : guard.credentialsOf(request)
        ),
      onAborted: () => answered(CLIENT_CLOSED),
      onEvicted: () => {
        response.shouldKeepAlive = false
        shed("bodies")
      }
    }
    if (authentication === undefined) return void bodies.read(request, reader, route.maxBodyBytes)
    const slot = inFlight.take(undefined)
    if (slot === undefined) return shed("all")
    const held = heldBack(reader)
    const drop = bodies.read(request, held.reader, route.maxBodyBytes)
    runFork(authentication).addObserver((exit) => {
      inFlight.release(slot)
      if (Exit.isSuccess(exit) && exit.value === undefined) return held.release()
      drop()
      if (!request.complete) response.shouldKeepAlive = false
      finishWith(Exit.map(exit, (refusal) => refusal ?? codeAnswer("UNAUTHORIZED")))
    })
  }

  const logDefect = (cause: Cause.Cause<unknown>, info: RequestInfo) => {
    runFork(
      Effect.annotateLogs(Effect.logError("a request failed unexpectedly", describeCause(cause)), {
        request_id: info.requestId,
        route: info.route
      })
    )
  }

  const server = yield* makeServer(options.name)
  server.on("request", serve)
  const port = yield* Effect.acquireRelease(bind(server, options), () => close(server, inFlight, streams))
  return `http://${hostOf(options.host)}:${port}`
})

/** A header's value; of a repeated header, its values separated by commas. */
export const headerOf = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}

/** The resource that an answer is about: the one in its body or, where it has none, that of the path. */
const resourceOf = ({ body, status }: Answer, pathId: string | undefined): string | null => {
  if (hasProperty(body, "id") && typeof body.id === "string") return body.id
  // The charge that was stored, and that the acquirer refused.
  if (hasProperty(body, "charge_id") && typeof body.charge_id === "string") return body.charge_id
  // Of a refused request, the path may name a resource of another account.
  return status < 300 && pathId !== undefined && isUuid(pathId) ? pathId : null
}

/** The span of a request. Its name has the route and not the path, which may contain personal data. */
const traced = (
  answering: Effect.Effect<Answer, WireError | Unavailable>,
  method: string,
  { requestId, route }: RequestInfo
) =>
  answering.pipe(
    // A refusal is an answer: no error of the span.
    Effect.catchIf(
      (error): error is WireError => !(error instanceof Unavailable),
      (error) => Effect.succeed<Answer>(errorAnswer(error))
    ),
    Effect.onExit((exit) =>
      Effect.annotateCurrentSpan(
        "http.response.status_code",
        Exit.isSuccess(exit) ? exit.value.status : (wireErrorOf(exit.cause)?.status ?? 500)
      )
    ),
    Effect.withSpan(`${method} ${route}`, {
      kind: "server",
      attributes: { "http.request.method": method, "http.route": route, "pix.request_id": requestId }
    })
  )

/** The answer to an expected failure; `undefined` for a defect. */
const wireErrorOf = (cause: Cause.Cause<WireError | Unavailable>): Answer | undefined => {
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

const send = (response: ServerResponse, answer: Answer, requestId: string): void => {
  const headers = [...apiHeaders, "x-request-id", requestId]
  for (const name in answer.headers) {
    const value = answer.headers[name] ?? ""
    for (const each of typeof value === "string" ? [value] : value) headers.push(name, each)
  }
  // The rest of a body that is too large is not read.
  if (answer.status === 413) response.shouldKeepAlive = false
  if (answer.body === undefined) {
    if (!response.destroyed) response.writeHead(answer.status, headers).end()
    return
  }
  headers.push("content-type", "application/json")
  sendText(response, answer.status, headers, JSON.stringify(answer.body))
}

const sendText = (response: ServerResponse, status: number, headers: Array<string>, text: string): void => {
  if (response.destroyed) return
  const length = Buffer.byteLength(text)
  headers.push("content-length", String(length))
  if (status === 503) headers.push("retry-after", "1")
  // Measured: for ASCII, as most answers are, Latin-1 saves a tenth of the time to send a page of a list.
  response.writeHead(status, headers).end(text, length === text.length ? "latin1" : "utf8")
}

/** The path and query of a request target; proxies may write the host before it. */
const targetOf = (url: string): string => (url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, ""))

/** Starts to listen; returns the port. */
export const bind = (
  server: NetServer,
  { host, name, port }: { readonly host: string; readonly name: keyof typeof addressSettings; readonly port: number }
) =>
  Effect.tryPromise({
    try: async () => {
      server.listen({ host, port })
      await once(server, "listening")
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : port
    },
    catch: (cause) => {
      const why = hasProperty(cause, "code") ? ` (${String(cause.code)})` : ""
      return new CannotListen({
        message: `Cannot listen on ${hostOf(host)}:${port}${why}. Set ${addressSettings[name]} to another address.`
      })
    }
  })

const addressSettings = {
  public: "PORT or HOST",
  operator: "OPERATOR_PORT or OPERATOR_HOST",
  acquirer: "ACQUIRER_PORT or ACQUIRER_HOST"
}

/** The address is in use, or is not an address of this machine. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", { message: Schema.String }) {}

const close = Effect.fnUntraced(function* (server: Server, inFlight: InFlight.InFlight, streams: Streams.Streams) {
  const latest = performance.now() + LONGEST_REQUEST_MS
  yield* Effect.callback<void>((resume) => {
    streams.close()
    server.close(() => resume(Effect.void))
  })
  // No connection is left. Requests whose callers left are still in flight.
  while (inFlight.count() > 0 && performance.now() < latest) yield* Effect.sleep("10 millis")
})

/** Pages have a sixteenth as many slots as requests, separate from them. */
const PAGES_SHARE = 16

// nginx's status for a caller that closed the connection before the answer.
const CLIENT_CLOSED = 499
