/**
 * An HTTP listener on node:http: routing and bounds. `Exchange.ts` answers a request. Both listeners are made with it.
 *
 * Guarantees:
 * - An unknown route is `NOT_FOUND`. A known one with another verb is `METHOD_NOT_ALLOWED` with `Allow`.
 * - Beyond `MAX_REQUESTS_IN_FLIGHT`, or the account's share of it (`InFlight`), a request is answered 503 at once, before
 *   any query. A request counts from the end of its body until its answer has left.
 * - The sender of a body is authenticated while it arrives: a refusal does not wait for its end.
 * - A streamed answer has bounds beside these (`Streams`), and takes no slot.
 * - A request runs to its end whether or not its caller waits for the answer, also while the listener closes.
 *
 * Measured: one fiber per request, and only the compiled routes between node and the handler (bench/RESULTS.md).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import type { IncomingMessage, Server } from "node:http"
import type { Server as NetServer } from "node:net"
import { Metrics } from "../../base/observability/Metrics.ts"
import { Ids } from "../../base/Ids.ts"
import type { RequestInfo } from "../../base/observability/RequestContext.ts"
import { type Sampler, samplerOf } from "../../base/observability/Tracing.ts"
import { Settings } from "../../base/Settings.ts"
import { type Answer, codeAnswer } from "./Answer.ts"
import type { Guard, ReadRequest, Route } from "./CompiledApi.ts"
import { CLIENT_CLOSED, type Exchange, makeExchanges, sendText } from "./Exchange.ts"
import * as InFlight from "./InFlight.ts"
import { hostOf, LONGEST_REQUEST_MS, makeServer } from "./Listener.ts"
import { refuse } from "./LowLevelRefusals.ts"
import { makePageLimiter, negotiated, type Page } from "./Pages.ts"
import { type BodyReader, heldBack, makeBodies, textOf } from "./RequestBody.ts"
import { traced } from "./RequestTrace.ts"
import { findRoute, makeTable } from "./Router.ts"
import { apiHeaders } from "./SecurityHeaders.ts"
import type { BoundedResponse } from "./SocketBounds.ts"
import * as Streams from "./Streams.ts"

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

export interface ListenerOptions<Credentials> {
  readonly name: "public" | "operator"
  readonly host: string
  readonly port: number
  readonly routes: ReadonlyArray<Route<Credentials>>
  readonly guard: Pick<Guard<Credentials, never, never>, "credentialsOf" | "accountOf">
  readonly pages: ReadonlyArray<Page>
  /** What a browser gets at an unknown address, with 404. */
  readonly missing?: Page | undefined
  readonly probes: ReadonlyArray<Probe>
  /** Refuses a request before it is routed. */
  readonly refusalOf: (request: IncomingMessage, path: string) => Answer | undefined
  /** Called once for each request that was not shed; its status is 499 where the caller left before the answer. */
  readonly onAnswered: (info: RequestInfo, method: string, status: number, durationMs: number) => void
}

/** Listens until the scope closes; returns the URL. */
export const listen = Effect.fnUntraced(function* <Credentials>(options: ListenerOptions<Credentials>) {
  const settings = yield* Settings
  const metrics = yield* Metrics
  const ids = yield* Ids
  const runFork = Effect.runForkWith(yield* Effect.context())
  const streams = Streams.make(runFork, settings.answerTimeoutMs)
  const listener: ListenerState<Credentials> = {
    name: options.name,
    guard: options.guard,
    metrics,
    runFork,
    sampler: Option.isSome(settings.otlpEndpoint)
      ? samplerOf(settings.tracesSampler, settings.tracesSamplerArg)
      : undefined,
    inFlight: InFlight.make(settings.maxRequestsInFlight),
    bodies: makeBodies(),
    pages: makePageLimiter(Math.max(1, Math.floor(settings.maxRequestsInFlight / PAGES_SHARE)))
  }
  const served = [...options.routes, ...options.pages, ...options.probes]
  const table = makeTable<Route<Credentials> | Page | Probe>(served)
  const beginExchange = makeExchanges({ ...options, ids, metrics, runFork, streams })
  metrics.routes(options.name, served)
  metrics.onRead(() =>
    metrics.gauges(
      {
        http_streams: streams.count(),
        http_requests_in_flight: listener.inFlight.count() + listener.pages.inFlight()
      },
      { listener: options.name }
    )
  )

  const serve = (request: IncomingMessage, response: BoundedResponse): void => {
    const exchange = beginExchange(request, response)
    const url = targetOf(request.url ?? "/")
    const mark = url.indexOf("?")
    const path = mark < 0 ? url : url.slice(0, mark)
    const search = mark < 0 ? "" : url.slice(mark + 1)
    const found = findRoute(table, exchange.method, path)
    const isProbe = found._tag === "Found" && "probe" in found.route
    if (request.headers.host === undefined && request.httpVersion === "1.1" && !isProbe) {
      exchange.answered(400)
      return refuse(response, 400, "VALIDATION_ERROR", exchange.info.requestId, ["Host"])
    }
    const refusal = options.refusalOf(request, path)
    if (refusal !== undefined) return exchange.finish(refusal)
    if (found._tag === "Missing") {
      const isBrowser = exchange.method === "GET" && request.headers.accept?.startsWith("text/html") === true
      if (options.missing === undefined || !isBrowser) return exchange.finish(codeAnswer("NOT_FOUND"))
      return servePage(listener, exchange, options.missing, search, true)
    }
    if (found._tag === "OtherVerbs") {
      return exchange.finish(codeAnswer("METHOD_NOT_ALLOWED", { headers: { allow: found.verbs.join(", ") } }))
    }
    const { params, route } = found
    exchange.routed(route.template, params["id"])
    if ("page" in route) return servePage(listener, exchange, route, search)
    if ("probe" in route) return serveProbe(listener, exchange, route)
    serveRoute(listener, exchange, route, params, search)
  }

  const server = yield* makeServer(options.name)
  server.on("request", serve)
  const port = yield* Effect.acquireRelease(bind(server, options), () => close(server, listener.inFlight, streams))
  return `http://${hostOf(options.host)}:${port}`
})

/** What all requests to a listener share. */
interface ListenerState<Credentials> {
  readonly name: ListenerOptions<Credentials>["name"]
  readonly guard: ListenerOptions<Credentials>["guard"]
  readonly metrics: Metrics["Service"]
  readonly runFork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  /** Undefined where nothing is traced. */
  readonly sampler: Sampler | undefined
  readonly inFlight: InFlight.InFlight
  readonly bodies: ReturnType<typeof makeBodies>
  readonly pages: ReturnType<typeof makePageLimiter>
}

const servePage = <Credentials>(
  { pages }: ListenerState<Credentials>,
  { answered, finishWith, info, method, request, response, shed, startedAt }: Exchange,
  route: Page,
  search: string,
  isMissing = false
): void => {
  void route.page(search).then(
    (page) => {
      const asked = isMissing ? { ...request.headers, "if-none-match": undefined } : request.headers
      const { body, headers, ...found } = negotiated(page, asked)
      const status = isMissing ? 404 : found.status
      if (!pages.take(method === "HEAD" ? 0 : (body?.length ?? 0), startedAt)) return shed("pages")
      answered(status)
      if (!response.destroyed) response.writeHead(status, [...headers, "x-request-id", info.requestId]).end(body)
      response.whenLeft(pages.release)
    },
    (error: unknown) => finishWith(Exit.die(error))
  )
}

const serveProbe = <Credentials>(
  { runFork }: ListenerState<Credentials>,
  { answered, finishWith, info, response }: Exchange,
  { probe }: Probe
): void => {
  runFork(probe).addObserver((exit) => {
    if (Exit.isFailure(exit)) return finishWith(exit)
    const { contentType, status, text } = exit.value
    answered(status)
    sendText(response, status, [...apiHeaders, "x-request-id", info.requestId, "content-type", contentType], text)
  })
}

const serveRoute = <Credentials>(
  listener: ListenerState<Credentials>,
  exchange: Exchange,
  route: Route<Credentials>,
  params: Readonly<Record<string, string>>,
  search: string
): void => {
  const { guard, inFlight, metrics, name, runFork, sampler } = listener
  const { finishWith, info, request, shed } = exchange
  // Node discards the rest of the body.
  if (inFlight.isFull()) return shed("all")

  const run = (body: ReadRequest<Credentials>["body"], credentials: Credentials) => {
    const slot = inFlight.take(guard.accountOf(credentials))
    if (slot === undefined) return shed(inFlight.isFull() ? "all" : "account")
    const read = {
      credentials,
      idempotencyKey: headerOf(request, "idempotency-key"),
      lastEventId: headerOf(request, "last-event-id"),
      params,
      search,
      body,
      info
    }
    const admit = (accountId: string | undefined) => {
      if (accountId === undefined || inFlight.moveTo(slot, accountId)) return true
      metrics.requestShed(name, "account")
      return false
    }
    // Suspended, so that what a route throws is a defect of its request.
    const answering = Effect.suspend(() => route.answer(read, admit))
    runFork(sampler === undefined ? answering : traced(answering, sampler, request, info)).addObserver((exit) =>
      finishWith(exit, answering, () => inFlight.release(slot))
    )
  }
  const credentials = guard.credentialsOf(request)
  if (!route.takesBody) return run("", credentials)
  readBody(listener, exchange, route, credentials, run)
}

/** Reads the body of a request, while its sender is authenticated, and runs the route. */
const readBody = <Credentials>(
  { bodies, guard, inFlight, runFork }: ListenerState<Credentials>,
  { answered, finishWith, info, request, response, shed }: Exchange,
  route: Route<Credentials>,
  credentials: Credentials,
  run: (body: ReadRequest<Credentials>["body"], credentials: Credentials) => void
): void => {
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
  // Little of a body is read before its sender is known, so that it takes no room from the bodies of others.
  let arrived = 0
  const waits = (piece: Buffer) => {
    arrived += piece.length
    if (arrived > UNKNOWN_SENDER_BYTES) request.pause()
  }
  request.on("data", waits)
  runFork(authentication).addObserver((exit) => {
    inFlight.release(slot)
    request.off("data", waits)
    request.resume()
    if (Exit.isSuccess(exit) && exit.value === undefined) return held.release()
    drop()
    if (!request.complete) response.shouldKeepAlive = false
    finishWith(Exit.map(exit, (refusal) => refusal ?? codeAnswer("UNAUTHORIZED")))
  })
}

/** As many as of most bodies. */
const UNKNOWN_SENDER_BYTES = 16 * 1024

/** A header's value; of a repeated header, its values separated by commas. */
export const headerOf = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(", ") : value
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
