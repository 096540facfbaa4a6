/**
 * Bounds of the connections of a listener.
 *
 * Guarantees:
 * - At most `maxConnections` connections are open. One more is closed at once.
 * - A connection has at most `MAX_PIPELINED` requests without an answer. One more closes it.
 * - A connection whose answer is not read within `answerTimeoutMs` is reset.
 * - A body that nobody reads has at most `MOST_UNREAD_PIECES`. One more closes its connection.
 * - A connection with a streamed answer takes no further request. One more closes it.
 * - A connection that is refused as a whole (`endWith`), or closed by an answer before the end of its request, closes when the
 *   caller has read the answer, or sends nothing for `LINGER_MS`, and within `LONGEST_LINGER_MS`. What it sends until then is dropped,
 *   and not parsed.
 * - No request is served behind one whose answer closes the connection.
 * - While the process stops, every answer has `Connection: close`. So has one that comes before the last chunk of its request.
 *
 * Why subclasses of node's server and response: the bounds apply below any routing. Measured: less than a microsecond for
 * a request.
 */
import { IncomingMessage, Server, type ServerOptions, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { CutReason } from "../../base/observability/Metrics.ts"
import { type Entry, OrderedList } from "./OrderedList.ts"
import { MAX_BODY_BYTES, MIN_PIECE_BYTES } from "./RequestBody.ts"

export interface Limits {
  readonly maxConnections: number
  readonly answerTimeoutMs: number
  readonly isStopping: () => boolean
  /** Called with every request before it is routed; false where it has answered. */
  readonly prepare: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** Maximum requests of one connection without an answer. */
export const MAX_PIPELINED = 16

/** How long a caller whose connection ends may be silent, and how long it may send what is dropped. */
const LINGER_MS = 2000
const LONGEST_LINGER_MS = 30_000

class Connection {
  unanswered = 0
  /** The answer to the latest request. */
  newest: BoundedResponse | undefined
  unsent = 0
  isClosed = false
  /** Its current answer is a stream. */
  isStreaming = false
  /** It closes with an answer that is written or due. */
  isEnding = false
  /** Written after the pending answers; then the connection closes. */
  last: string | undefined

  /** True while a complete request has no answer. An incomplete one gets none. */
  get hasPendingAnswer(): boolean {
    const { newest, unanswered } = this
    const isIncomplete = newest !== undefined && !newest.req.complete && !newest.headersSent
    return unanswered > (isIncomplete ? 1 : 0)
  }
}

const connections = new WeakMap<Socket, Connection>()

/** A server whose connections are bounded. */
export class BoundedServer extends Server<typeof IncomingMessage, typeof BoundedResponse> {
  /** Answers that are written and have not left. */
  readonly unsent = new OrderedList<BoundedResponse>()
  readonly limits: Limits
  readonly onCut: (reason: CutReason) => void
  open = 0
  readonly #sweep: NodeJS.Timeout

  constructor(options: ServerOptions, limits: Limits, onCut: (reason: CutReason) => void) {
    super({
      ...options,
      IncomingMessage: BoundedRequest,
      ServerResponse: BoundedResponse,
      // No protocol upgrades: such a request is answered as any other, within the same bounds.
      shouldUpgradeCallback: () => false
    } as never)
    this.limits = limits
    this.onCut = onCut
    this.maxConnections = limits.maxConnections
    // In a cluster, a full process closes new connections instead of passing them on without end.
    Object.assign(this, { dropMaxConnection: true })
    this.on("connection", (socket) => this.#opened(socket))
    this.on("drop", () => onCut("connections"))
    this.#sweep = setInterval(() => this.#cutUnread(), Math.max(5, limits.answerTimeoutMs / 4))
    this.#sweep.unref()
    this.on("close", () => clearInterval(this.#sweep))
  }

  override emit(event: string | symbol, ...args: ReadonlyArray<unknown>): boolean {
    if (
      (event === "request" || event === "checkContinue" || event === "checkExpectation") &&
      !this.#admits(args[1] as BoundedResponse)
    ) {
      return true
    }
    return super.emit(event, ...(args as []))
  }

  /** Ends a connection with these bytes, after its pending answers. */
  endWith(socket: Socket, bytes: string): void {
    const connection = connections.get(socket)
    if (connection?.hasPendingAnswer === true) connection.last = bytes
    else endSoon(socket, bytes)
  }

  #opened(socket: Socket): void {
    const connection = new Connection()
    connections.set(socket, connection)
    // Node removes its error listener for CONNECT. Without this one, a reset would then end the process.
    socket.on("error", ignored)
    this.open++
    socket.once("close", () => {
      this.open--
      connection.isClosed = true
      // Node emits `close` for the answer being written only, and not for those queued behind it.
      if (connection.unsent > 0)
        for (const response of this.unsent) if (response.connectionState === connection) response.left()
    })
  }

  #admits(response: BoundedResponse): boolean {
    const { connectionState: connection, req } = response
    response.server = this
    if (connection === undefined) return true
    if (connection.isEnding) return false
    connection.unanswered++
    connection.newest = response
    if (connection.isStreaming || connection.unanswered > MAX_PIPELINED) {
      if (!req.socket.destroyed) this.onCut("pipelined")
      // Node still parses the rest of the buffer; nobody answers those requests.
      req.socket.destroy()
      return false
    }
    response.on("close", answered)
    const isServed = this.limits.prepare(req, response)
    if (!response.shouldKeepAlive) connection.isEnding = true
    return isServed
  }

  #cutUnread(): void {
    const latest = performance.now() - this.limits.answerTimeoutMs
    for (const response of this.unsent) {
      if (response.endedAt > latest) return
      // It waits for the answer before it, not for the reader.
      if (response.socket === null || response.socket.destroyed) continue
      this.onCut("unread")
      // A reset frees what the kernel has buffered as well.
      reset(response.socket)
    }
  }
}

/** A request whose body, while nobody reads it, has a bounded number of pieces: each has a cost far beyond its bytes. */
export class BoundedRequest extends IncomingMessage {
  #unread = 0

  override push(piece: unknown): boolean {
    if (piece === null || this.readableFlowing === true) return super.push(piece)
    if (++this.#unread <= MOST_UNREAD_PIECES) return super.push(piece)
    if (!this.socket.destroyed) this.socket.destroy()
    return false
  }
}

/** As many as of most bodies that are read. */
const MOST_UNREAD_PIECES = MAX_BODY_BYTES / MIN_PIECE_BYTES

/** A response that reports when it has left. */
export class BoundedResponse extends ServerResponse<IncomingMessage> {
  readonly connectionState: Connection | undefined
  server: BoundedServer | undefined
  endedAt = 0
  #unsent: Entry<BoundedResponse> | undefined
  #then: (() => void) | undefined

  constructor(request: IncomingMessage, options?: object) {
    // Node passes a second argument that its types lack.
    super(...([request, options] as unknown as [IncomingMessage]))
    this.connectionState = connections.get(request.socket)
  }

  override writeHead(...args: ReadonlyArray<unknown>): this {
    if (this.server?.limits.isStopping() === true || hasChunksLeft(this.req)) this.shouldKeepAlive = false
    return super.writeHead(...(args as unknown as [number]))
  }

  override end(...args: ReadonlyArray<unknown>): this {
    const { req } = this
    // Node calls it once the answer is written. A reset would take the answer from a caller who is still sending.
    if (!this.shouldKeepAlive && !req.complete) req.socket.destroySoon = () => endSoon(req.socket)
    super.end(...(args as []))
    const { connectionState: connection, server } = this
    if (connection !== undefined && !this.shouldKeepAlive) connection.isEnding = true
    if (
      connection === undefined ||
      server === undefined ||
      connection.isClosed ||
      this.destroyed ||
      this.#unsent !== undefined
    )
      return this
    this.endedAt = performance.now()
    connection.unsent++
    this.#unsent = server.unsent.add(this)
    return this
  }

  /** Takes the connection for a streamed answer; false where another request waits behind it. */
  takeConnection(): boolean {
    const { connectionState: connection } = this
    this.shouldKeepAlive = false
    if (connection === undefined) return true
    connection.isStreaming = connection.newest === this
    if (!connection.isStreaming) this.cut("pipelined")
    return connection.isStreaming
  }

  /** Resets the connection, which frees what the kernel has buffered as well. */
  cut(reason: CutReason): void {
    if (this.req.socket.destroyed) return
    this.server?.onCut(reason)
    reset(this.req.socket)
  }

  /** Calls `then` once the answer has left, or its connection has closed. */
  whenLeft(then: () => void): void {
    if (this.#unsent !== undefined) this.#then = then
    else then()
  }

  left(): void {
    if (this.#unsent === undefined) return
    this.server?.unsent.remove(this.#unsent)
    this.#unsent = undefined
    if (this.connectionState !== undefined) this.connectionState.unsent--
    const then = this.#then
    this.#then = undefined
    then?.()
  }
}

/** Nobody reads what comes of a body after its answer, and Node takes each chunk of it by itself. */
const hasChunksLeft = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && headers["transfer-encoding"] !== undefined

function answered(this: BoundedResponse): void {
  this.left()
  const { connectionState: connection } = this
  if (connection === undefined) return
  connection.unanswered--
  if (connection.last !== undefined && !connection.hasPendingAnswer && !connection.isClosed)
    endSoon(this.req.socket, connection.last)
}

/** Only a TCP socket can be reset: for one with TLS, Node would throw. */
const reset = (socket: Socket): void => {
  if ("encrypted" in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Writes the last bytes, unless they are written. The connection closes when they are read, and within a bound in any case. */
const endSoon = (socket: Socket, bytes = ""): void => {
  if (!socket.writable) return
  const silent = setTimeout(() => socket.destroy(), LINGER_MS)
  const latest = setTimeout(() => socket.destroy(), LONGEST_LINGER_MS)
  silent.unref()
  latest.unref()
  socket.once("close", () => {
    clearTimeout(silent)
    clearTimeout(latest)
  })
  // Without the parser's listener: a request that still arrives is not served.
  socket
    .removeAllListeners("data")
    .on("data", () => silent.refresh())
    .resume()
  // The parser may have paused it, of which only the parser's own listener would know.
  socket._read(0)
  socket.end(bytes)
}

const ignored = (): void => {}
