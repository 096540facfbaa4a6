/**
 * The listener of providers' callbacks: TLS by itself or plain behind a proxy, off while `ACQUIRER_PORT` is unset.
 *
 * Guarantees:
 * - A sender is authenticated before its body is read. An unknown connection, a wrong secret and a missing certificate get
 *   the same 404.
 * - While nobody may be called, every request is 503, and nothing is read.
 * - 2xx means that what the callback leads to is committed. 503 with `Retry-After` asks the provider to repeat it.
 * - A connection has at most `MAX_IN_FLIGHT` callbacks in flight, each of at most `MAX_BODY_BYTES`. Sockets have the
 *   bounds of the other listeners, and of TLS handshakes.
 *
 * Rules: OPR-90 to OPR-94.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { X509Certificate } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { createServer as createTlsServer, type TlsOptions } from "node:tls"
import { codeAnswer } from "../pipeline/Answer.ts"
import { bind } from "../pipeline/HttpServer.ts"
import { ListenAddresses } from "../pipeline/ListenAddresses.ts"
import { hostOf, LONGEST_REQUEST_MS, makeServer } from "../pipeline/Listener.ts"
import { makeBodies } from "../pipeline/RequestBody.ts"
import { apiHeaders } from "../pipeline/SecurityHeaders.ts"
import type { BoundedResponse, BoundedServer } from "../pipeline/SocketBounds.ts"
import { Metrics, type CallbackResult } from "../../base/observability/Metrics.ts"
import { closedReason, Outward } from "../../base/Outward.ts"
import { requestIdOf } from "../../base/observability/RequestContext.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { Settings, type SettingsShape } from "../../base/Settings.ts"
import { type CallbackConnection, CallbackConnections } from "../../reports/CallbackConnections.ts"
import { callbackTarget } from "./CallbackPath.ts"
import { Callbacks } from "../../reports/Callbacks.ts"
import { makeSenders } from "../../reports/CallbackSender.ts"

export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    Option.match(settings.acquirerPort, {
      onNone: () => Layer.empty,
      onSome: (port) => Layer.effectDiscard(listen(settings, port))
    })
  )
)

const listen = Effect.fnUntraced(function* (settings: SettingsShape, port: number) {
  const metrics = yield* Metrics
  const callbacks = yield* Callbacks
  const connections = yield* CallbackConnections
  const addresses = yield* ListenAddresses
  const outward = yield* Outward
  const runFork = Effect.runForkWith(yield* Effect.context())
  const senders = makeSenders(settings)
  const bodies = makeBodies(MAX_BUFFERED_BYTES, MAX_BODY_BYTES)
  const inFlight = new Map<string, number>()
  const count = (id: string, by: number) => {
    const next = (inFlight.get(id) ?? 0) + by
    if (next === 0) inFlight.delete(id)
    else inFlight.set(id, next)
  }
  const total = () => [...inFlight.values()].reduce((sum, each) => sum + each, 0)
  metrics.routes("acquirer", [])
  metrics.onRead(() => metrics.gauges({ http_requests_in_flight: total() }, { listener: "acquirer" }))

  const run = (connection: CallbackConnection, text: string, response: BoundedResponse, requestId: string) => {
    const finish = (result: CallbackResult) => {
      metrics.callback(connection.id, result)
      if (result === "unavailable" || result === "shed") send(response, requestId, UNAVAILABLE)
      else send(response, requestId, OK)
    }
    if ((inFlight.get(connection.id) ?? 0) >= MAX_IN_FLIGHT) return finish("shed")
    count(connection.id, 1)
    runFork(callbacks.receive(connection, text)).addObserver((exit) => {
      count(connection.id, -1)
      if (Exit.isSuccess(exit)) return finish(exit.value)
      runFork(
        Effect.annotateLogs(Effect.logError("a callback failed unexpectedly", describeCause(exit.cause)), {
          connection_id: connection.id,
          request_id: requestId
        })
      )
      finish("unavailable")
    })
  }

  const serve = (request: IncomingMessage, response: BoundedResponse) => {
    const requestId = requestIdOf(request.headers["x-request-id"])
    if (closedReason(outward) !== undefined) {
      metrics.callback(undefined, "unavailable")
      response.shouldKeepAlive = false
      return send(response, requestId, UNAVAILABLE)
    }
    const target = request.method === "POST" ? callbackTarget(request.url ?? "/") : undefined
    const sender = senders.senderOf(request)
    const find = () => {
      const connection = target === undefined ? undefined : connections.find(target.connectionId)
      return { connection, isAdmitted: senders.admits(sender, target?.secret, connection) }
    }
    const decide = ({ connection, isAdmitted }: ReturnType<typeof find>) => {
      if (isAdmitted && connection !== undefined) return receive(connection, request, response, requestId)
      metrics.callback(connection?.id, "refused")
      // The body is not read.
      response.shouldKeepAlive = false
      send(response, requestId, NOT_FOUND)
    }
    const found = find()
    if (target === undefined || (found.isAdmitted && sender.certificateName !== undefined)) return decide(found)
    if (!senders.mayBecomeKnown(sender, target.secret, found.connection)) return decide(found)
    // A provider tries a URL while it is being registered: another process may have made its secret, or required a
    // certificate.
    runFork(connections.refreshOnMiss).addObserver(() => {
      if (!request.destroyed) decide(find())
    })
  }

  const receive = (
    connection: CallbackConnection,
    request: IncomingMessage,
    response: BoundedResponse,
    requestId: string
  ) => {
    bodies.read(request, {
      onDone: (body) => {
        // What a provider reports is read in any case: texts of people may be in another character set.
        if (body !== undefined) return run(connection, body.toString("utf8"), response, requestId)
        response.shouldKeepAlive = false
        metrics.callback(connection.id, "unknown")
        send(response, requestId, TOO_LARGE)
      },
      onAborted: () => {},
      onEvicted: () => {
        response.shouldKeepAlive = false
        metrics.callback(connection.id, "shed")
        send(response, requestId, UNAVAILABLE)
      }
    })
  }

  const server = yield* makeServer("acquirer")
  server.on("request", serve)
  const tls = yield* tlsOptions(settings)
  const listening = tls === undefined ? server : behindTls(server, tls, settings.maxConnections)
  const bound = yield* Effect.acquireRelease(
    bind(listening, { name: "acquirer", host: settings.acquirerHost, port }),
    () => close(server, listening, total)
  )
  addresses.acquirer = `${tls === undefined ? "http" : "https"}://${hostOf(settings.acquirerHost)}:${bound}`
})

/** A TLS server whose connections `server` serves. Its own bounds are those before the handshake's end. */
const behindTls = (server: BoundedServer, options: TlsOptions, maxConnections: number) => {
  const listening = createTlsServer({ ...options, handshakeTimeout: 10_000, ALPNProtocols: ["http/1.1"] })
  listening.maxConnections = maxConnections
  Object.assign(listening, { dropMaxConnection: true })
  listening.on("secureConnection", (socket) => void server.emit("connection", socket))
  // Failed handshakes are the sender's.
  listening.on("tlsClientError", (_error, socket) => void socket.destroy())
  // Node starts the timeouts of requests when a server listens.
  listening.on("listening", () => void server.emit("listening"))
  return listening
}

const tlsOptions = Effect.fnUntraced(function* ({ acquirerTlsCa, acquirerTlsCert, acquirerTlsKey }: SettingsShape) {
  if (Option.isNone(acquirerTlsCert) && Option.isNone(acquirerTlsKey) && Option.isNone(acquirerTlsCa)) return undefined
  if (Option.isNone(acquirerTlsCert) || Option.isNone(acquirerTlsKey)) {
    return yield* new InvalidTls({
      message: "The listener of callbacks needs both ACQUIRER_TLS_CERT and ACQUIRER_TLS_KEY, or neither."
    })
  }
  const cert = yield* pem("ACQUIRER_TLS_CERT", acquirerTlsCert.value)
  yield* watchEnd(cert)
  const key = yield* pem("ACQUIRER_TLS_KEY", acquirerTlsKey.value)
  const ca = Option.isNone(acquirerTlsCa) ? undefined : yield* pem("ACQUIRER_TLS_CA", acquirerTlsCa.value)
  return yield* Effect.try({
    try: (): TlsOptions => {
      // Without an authority of the installation, a certificate of any public one would count.
      const options: TlsOptions = {
        cert,
        key,
        ...(ca !== undefined && { ca, requestCert: true }),
        rejectUnauthorized: false
      }
      createTlsServer(options)
      return options
    },
    catch: () => new InvalidTls({ message: "ACQUIRER_TLS_CERT, ACQUIRER_TLS_KEY or ACQUIRER_TLS_CA is not valid PEM." })
  })
})

/** Measures the time until the certificate ends; nothing where it cannot be read, which ends the start below. */
const watchEnd = Effect.fnUntraced(function* (cert: Buffer) {
  const metrics = yield* Metrics
  const clock = yield* Clock.Clock
  const endsAtMs = yield* Effect.orElseSucceed(
    Effect.try(() => new X509Certificate(cert).validToDate.getTime()),
    () => undefined
  )
  if (endsAtMs === undefined) return
  metrics.onRead(() =>
    metrics.gauges({ acquirer_callback_certificate_seconds: (endsAtMs - clock.currentTimeMillisUnsafe()) / 1000 })
  )
})

const pem = (name: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: () => new InvalidTls({ message: `${name}: cannot read ${path}.` })
  })

export class InvalidTls extends Schema.TaggedError<InvalidTls>()("InvalidTls", { message: Schema.String }) {}

const close = Effect.fnUntraced(function* (
  server: BoundedServer,
  listening: { readonly close: (done: () => void) => unknown },
  inFlight: () => number
) {
  const latest = performance.now() + LONGEST_REQUEST_MS
  yield* Effect.callback<void>((resume) => {
    listening.close(() => resume(Effect.void))
    // Ends idle connections, and busy ones with their answer.
    if (listening !== server) server.close()
  })
  while (inFlight() > 0 && performance.now() < latest) yield* Effect.sleep("10 millis")
})

interface Fixed {
  readonly status: number
  readonly headers: ReadonlyArray<string>
  readonly body: string
}

const fixed = (status: number, body: unknown, headers: ReadonlyArray<string> = []): Fixed => {
  const text = body === undefined ? "" : JSON.stringify(body)
  return {
    status,
    headers: [
      ...apiHeaders,
      ...headers,
      ...(body === undefined ? [] : ["content-type", "application/json"]),
      "content-length",
      String(Buffer.byteLength(text))
    ],
    body: text
  }
}

const OK = fixed(200, undefined)
const NOT_FOUND = fixed(404, codeAnswer("NOT_FOUND").body)
const TOO_LARGE = fixed(413, codeAnswer("PAYLOAD_TOO_LARGE").body)
const UNAVAILABLE = fixed(503, codeAnswer("SERVICE_UNAVAILABLE").body, ["retry-after", "30"])

const send = (response: BoundedResponse, requestId: string, { body, headers, status }: Fixed): void => {
  if (!response.destroyed) response.writeHead(status, [...headers, "x-request-id", requestId]).end(body)
}

/** A batch of 1,000 Pix, with room. */
const MAX_BODY_BYTES = 1024 * 1024
const MAX_BUFFERED_BYTES = 32 * 1024 * 1024
/** Of one connection, in one process. */
const MAX_IN_FLIGHT = 8
