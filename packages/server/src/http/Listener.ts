/**
 * A bounded HTTP server of node: time limits for headers, requests and idle connections, and `SocketBounds` for the rest.
 *
 * Guarantees:
 * - What is not HTTP is answered in the contract's error body (`LowLevelRefusals`).
 * - After `close`, a connection ends with the answers under way. None lasts longer than the longest request may take.
 * - Escapes in a path that decode to no text stay as they are, so that an id with one is an unknown id.
 */
import * as Effect from "effect/Effect"
import type { IncomingMessage } from "node:http"
import { Metrics } from "../observability/Metrics.ts"
import { Settings } from "../Settings.ts"
import { Drain } from "./Drain.ts"
import { refuseOn } from "./LowLevelRefusals.ts"
import { BoundedServer } from "./SocketBounds.ts"

/** A server that does not listen yet. */
export const makeServer = Effect.fnUntraced(function* (name: "public" | "operator") {
  const { answerTimeoutMs, maxConnections } = yield* Settings
  const drain = yield* Drain
  const metrics = yield* Metrics
  const server = new BoundedServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5_000,
      // Each listener refuses a request without a host itself, in the contract's error body.
      requireHostHeader: false
    },
    { answerTimeoutMs, maxConnections, isStopping: () => drain.phase === "stopping", prepare },
    (reason) => metrics.connectionCut(name, reason)
  )
  const { close } = server
  server.close = (callback) => {
    // What is busy now is not kept alive afterwards.
    server.keepAliveTimeout = 1
    server.keepAliveTimeoutBuffer = 0
    setTimeout(() => server.closeAllConnections(), LONGEST_REQUEST_MS).unref()
    return close.call(server, callback)
  }
  refuseOn(server)
  metrics.listener(name, { connections: () => server.open, unsent: () => server.unsent.size })
  return server
})

const LONGEST_REQUEST_MS = 12_000

const prepare = (request: IncomingMessage): void => {
  if (request.url !== undefined) request.url = withReadableEscapes(request.url)
}

/**
 * The URL with its path's percent signs escaped, where they do not decode to text, and its semicolons, which a router
 * may take for the beginning of a query.
 */
const withReadableEscapes = (url: string): string => {
  const mark = url.indexOf("?")
  const path = mark < 0 ? url : url.slice(0, mark)
  const readable = (isText(path) ? path : path.replaceAll("%", "%25")).replaceAll(";", "%3B")
  return readable === path ? url : readable + url.slice(path.length)
}

const isText = (path: string): boolean => {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** A host as it is written in a URL. */
export const hostOf = (host: string): string => (host.includes(":") ? `[${host}]` : host)
