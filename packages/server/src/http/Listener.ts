/**
 * An HTTP listener, bounded: headers, requests and idle connections have their time, and `SocketBounds` the rest; what
 * is not HTTP is answered in the contract's error body (`LowLevelRefusals`).
 *
 * Guarantees: once told to close, connections end with the answers that are under way, and none is waited for
 * longer than the longest request may take; a path is what is written in it: upper and lower case differ, a doubled slash is none of ours, and
 * escapes that name no text are taken as they stand, so that an id that is one is an unknown id.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import type { IncomingMessage } from "node:http"
import { Metrics } from "../observability/Metrics.ts"
import { Settings } from "../Settings.ts"
import { Drain } from "./Drain.ts"
import { ListenAddresses } from "./ListenAddresses.ts"
import { refuseOn } from "./LowLevelRefusals.ts"
import { BoundedServer } from "./SocketBounds.ts"

/** How the routes of a listener are found. */
export const routing = { maxParamLength: 16_384, caseSensitive: true, ignoreDuplicateSlashes: false } as const

/** The server of the operator listener; where it listens is told to `Listening`. */
export const layer = (options: { readonly host: string; readonly port: number }) =>
  Layer.unwrap(
    Effect.map(makeServer("operator"), (server) =>
      Layer.effectDiscard(
        Effect.gen(function* () {
          const listening = yield* ListenAddresses
          const { address } = yield* HttpServer.HttpServer
          if (address._tag !== "UnixPathAddress") listening.operator = `http://${hostOf(options.host)}:${address.port}`
        })
      ).pipe(
        Layer.provideMerge(NodeHttpServer.layer(() => server, { ...options, gracefulShutdownTimeout: "20 seconds" }))
      )
    )
  )

/** A server with its bounds; see above. */
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
