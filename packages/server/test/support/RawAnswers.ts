/** What receivers send, byte by byte, and whether a delivery has arrived by it: DLV-2. */
import type { Socket } from "node:net"

export interface RawAnswer {
  readonly name: string
  readonly talk: (socket: Socket) => void
  /** Of the status line; null where there is none. */
  readonly status: number | null
  /** Where there is no status line: the reason in an attempt. */
  readonly reason?: string
}

const says = (text: string) => (socket: Socket) => void socket.end(text)
const keepsOpen = (text: string) => (socket: Socket) => void socket.write(text)

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n"
const EARLY = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

export const rawAnswers: ReadonlyArray<RawAnswer> = [
  { name: "200", talk: says(OK), status: 200 },
  { name: "204 of HTTP/1.0", talk: says("HTTP/1.0 204 No Content\r\n\r\n"), status: 204 },
  { name: "299 without a reason phrase", talk: says("HTTP/1.1 299\r\nContent-Length: 0\r\n\r\n"), status: 299 },
  { name: "100, then 200", talk: says(CONTINUE + OK), status: 200 },
  { name: "100, then 500", talk: says(`${CONTINUE}HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n`), status: 500 },
  { name: "100, 102 and 103 many times, then 200", talk: says((CONTINUE + EARLY).repeat(200) + OK), status: 200 },
  { name: "103 in pieces, then 200 in pieces", talk: inPieces(EARLY + OK), status: 200 },
  { name: "more 103 than is read", talk: keepsOpen(EARLY.repeat(1000)), status: null, reason: "answer too large" },
  { name: "100 and no more", talk: says(CONTINUE), status: null, reason: "connection closed" },
  { name: "blank lines, then 200", talk: says(`\r\n\r\n${OK}`), status: 200 },
  {
    name: "200 after bare line feeds",
    talk: says("HTTP/1.1 103 x\n\nHTTP/1.1 200 OK\nContent-Length: 0\n\n"),
    status: 200
  },
  {
    name: "199 with a status line among its headers",
    talk: says(`HTTP/1.1 199 x\r\nHTTP/1.1 500 No\r\n\r\n${OK}`),
    status: 200
  },
  { name: "200 with 8,000 headers", talk: says(`HTTP/1.1 200 OK\r\n${"a:\r\n".repeat(8000)}\r\n`), status: 200 },
  { name: "two answers", talk: says(`HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n${OK}`), status: 500 },
  { name: "the preface of HTTP/2", talk: says("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), status: null, reason: "not HTTP" },
  {
    name: "101",
    talk: says("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
    status: 101
  },
  {
    name: "200 with a body that breaks off",
    talk: says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"),
    status: 200
  },
  { name: "200 with a body that never ends", talk: keepsOpen(`${CHUNKED}2\r\nok\r\n`), status: 200 },
  { name: "200 with a chunk that is none", talk: says(`${CHUNKED}zz\r\nok`), status: 200 },
  { name: "200 with a body that is reset", talk: reset("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), status: 200 },
  {
    name: "200 with two lengths",
    talk: says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
    status: 200
  },
  { name: "200 with headers that never end", talk: keepsOpen("HTTP/1.1 200 OK\r\nx: y\r\n"), status: 200 },
  { name: "200 with 40 KB of headers", talk: says(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(40_000)}\r\n\r\n`), status: 200 },
  {
    name: "500 with a body that breaks off",
    talk: says("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno"),
    status: 500
  },
  { name: "301", talk: says("HTTP/1.1 301 Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"), status: 301 },
  { name: "a status line that breaks off", talk: says("HTTP/1.1 200 O"), status: null, reason: "connection closed" },
  { name: "nothing", talk: says(""), status: null, reason: "connection closed" },
  { name: "SMTP", talk: says("220 mail.example ESMTP\r\n"), status: null, reason: "not HTTP" },
  { name: "HTTP/9.9", talk: says("HTTP/9.9 200 OK\r\n\r\n"), status: null, reason: "not HTTP" },
  { name: "a status of two digits", talk: says("HTTP/1.1 20 OK\r\n\r\n"), status: null, reason: "not HTTP" }
]

/** Each piece leaves by itself. */
function inPieces(text: string) {
  return (socket: Socket) => {
    socket.setNoDelay(true)
    const pieces = text.match(/[^]{1,7}/g) ?? []
    const next = () => {
      const piece = pieces.shift()
      if (piece === undefined) return void socket.end()
      socket.write(piece, () => setImmediate(next))
    }
    next()
  }
}

/** Resets the connection once the bytes have left. */
function reset(text: string) {
  return (socket: Socket) => void socket.write(text, () => socket.resetAndDestroy())
}
