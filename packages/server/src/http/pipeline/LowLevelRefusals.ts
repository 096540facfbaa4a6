/**
 * Answers to requests that reach no route: malformed HTTP, headers that are too large, `Expect`, `CONNECT`.
 *
 * Guarantees:
 * - They have the contract's error body, a request id and the security headers; then the connection closes.
 * - They come after the pending answers of the connection, never inside one.
 */
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import { randomUUID } from "node:crypto"
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { BoundedServer } from "./SocketBounds.ts"
import { requestIdOf } from "../../base/observability/RequestContext.ts"
import { apiHeaders } from "./SecurityHeaders.ts"

/** Adds these answers to a server. */
export const refuseOn = (server: BoundedServer): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // Its answer is written, and the rest of its request is being dropped.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.writableEnded) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const status = statusOf(error)
    const code = status === 413 ? "PAYLOAD_TOO_LARGE" : "VALIDATION_ERROR"
    server.endWith(socket, rawRefusal(status, code, randomUUID()))
  })
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    refuse(response, 417, "VALIDATION_ERROR", requestIdOf(request.headers["x-request-id"]), ["Expect"])
  })
  server.on("connect", (request: IncomingMessage, socket: Socket) => {
    const id = requestIdOf(request.headers["x-request-id"])
    server.endWith(socket, rawRefusal(405, "METHOD_NOT_ALLOWED", id, ["allow", "GET"]))
  })
}

/** Answers with an error body, and closes the connection. */
export const refuse = (
  response: ServerResponse,
  status: number,
  code: ErrorCode,
  requestId: string,
  details?: ReadonlyArray<string>
): void => {
  const body = JSON.stringify({ code, message: errorCodes[code].message, details })
  response.shouldKeepAlive = false
  response.writeHead(status, headersOf(body, requestId)).end(body)
}

const rawRefusal = (status: number, code: ErrorCode, requestId: string, more: ReadonlyArray<string> = []): string => {
  const body = JSON.stringify({ code, message: errorCodes[code].message })
  const headers = [...headersOf(body, requestId), "connection", "close", ...more]
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []))
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, "", body].join("\r\n")
}

const headersOf = (body: string, requestId: string): Array<string> => [
  ...apiHeaders,
  "content-type",
  "application/json",
  "content-length",
  String(Buffer.byteLength(body)),
  "x-request-id",
  requestId
]

const statusOf = ({ code }: NodeJS.ErrnoException): number => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return 431
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return 413
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return 408
    default:
      return 400
  }
}
