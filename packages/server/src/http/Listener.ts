/**
 * An HTTP listener, bounded: headers, requests and idle connections have their time, and what is not HTTP is
 * answered in the contract's error body.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { Listening } from "./Listening.ts"

/** The server of one listener; where it listens is told to `Listening`. */
export const layer = (name: "public" | "operator", options: { readonly host: string; readonly port: number }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const listening = yield* Listening
      const { address } = yield* HttpServer.HttpServer
      if (address._tag !== "UnixPathAddress") listening[name] = `http://${hostOf(options.host)}:${address.port}`
    })
  ).pipe(Layer.provideMerge(NodeHttpServer.layer(makeServer, { ...options, gracefulShutdownTimeout: "20 seconds" })))

const makeServer = () => {
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 5_000
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const { message } = errorCodes.VALIDATION_ERROR
    const body = JSON.stringify({ code: "VALIDATION_ERROR", message })
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    )
  })
  return server
}

const hostOf = (host: string): string => (host.includes(":") ? `[${host}]` : host)
