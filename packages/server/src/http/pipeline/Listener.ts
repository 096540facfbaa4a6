/**
 * A node:http server with timeouts for headers, requests and idle connections, and the bounds of `SocketBounds`.
 *
 * Guarantees:
 * - Malformed HTTP, and two `Host` lines, are answered with the contract's error body (`LowLevelRefusals`).
 * - After `close`, a connection ends with its current answers, at the latest after `LONGEST_REQUEST_MS`.
 * - A path whose percent escapes are not UTF-8 is taken literally, so that an id with one is an unknown id.
 */
import * as Effect from "effect/Effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Metrics } from "../../base/observability/Metrics.ts"
import { requestIdOf } from "../../base/observability/RequestContext.ts"
import { Settings } from "../../base/Settings.ts"
import { Drain } from "./Drain.ts"
import { refuse, refuseOn } from "./LowLevelRefusals.ts"
import { BoundedServer } from "./SocketBounds.ts"

/** A server that does not listen yet. */
export const makeServer = Effect.fnUntraced(function* (name: "public" | "operator" | "acquirer") {
  const { answerTimeoutMs, maxConnections } = yield* Settings
  const drain = yield* Drain
  const metrics = yield* Metrics
  const server = new BoundedServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5_000,
      // `HttpServer` refuses a request without a host, with the contract's error body.
      requireHostHeader: false
    },
    { answerTimeoutMs, maxConnections, isStopping: () => drain.phase === "stopping", prepare },
    (reason) => metrics.connectionCut(name, reason)
  )
  const { close } = server
  server.close = (callback) => {
    // Busy connections are not kept alive after their answer.
    server.keepAliveTimeout = 1
    server.keepAliveTimeoutBuffer = 0
    setTimeout(() => server.closeAllConnections(), LONGEST_REQUEST_MS).unref()
    return close.call(server, callback)
  }
  refuseOn(server)
  metrics.onRead(() =>
    metrics.gauges({ http_connections: server.open, http_answers_unsent: server.unsent.size }, { listener: name })
  )
  return server
})

export const LONGEST_REQUEST_MS = 12_000

const prepare = (request: IncomingMessage, response: ServerResponse): boolean => {
  if (request.url !== undefined) request.url = withDecodablePath(request.url)
  // HTTP/1.0 has no chunks (RFC 9112, 6.1): what follows such a body may be a part of it for somebody else.
  if (request.httpVersionMinor === 0 && request.headers["transfer-encoding"] !== undefined) {
    response.shouldKeepAlive = false
  }
  if (!hasTwoHosts(request)) return true
  refuse(response, 400, "VALIDATION_ERROR", requestIdOf(request.headers["x-request-id"]), ["Host"])
  return false
}

/** Node shows the first of several `Host` lines, where a proxy may have used another one. */
const hasTwoHosts = ({ rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts > 1
}

/**
 * Escapes semicolons in the path, which a router may take for the start of the query, and percent signs where the path
 * does not decode.
 */
const withDecodablePath = (url: string): string => {
  if (!url.includes("%") && !url.includes(";")) return url
  const mark = url.indexOf("?")
  const path = mark < 0 ? url : url.slice(0, mark)
  const decodable = (isDecodable(path) ? path : path.replaceAll("%", "%25")).replaceAll(";", "%3B")
  return decodable === path ? url : decodable + url.slice(path.length)
}

const isDecodable = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** A host as in a URL: IPv6 addresses in brackets. */
export const hostOf = (host: string): string => (host.includes(":") ? `[${host}]` : host)
