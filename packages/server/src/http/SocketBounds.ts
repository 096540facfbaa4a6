/**
 * The bounds of the connections of a listener, below every route.
 *
 * Guarantees:
 * - At most `maxConnections` connections are open; one more is closed at once.
 * - A connection has at most `MOST_PIPELINED` requests without an answer; one more closes it.
 * - An answer that is not read within `answerTimeoutMs` has its connection reset.
 * - A connection that is refused as a whole (`endWith`) is closed within `LINGER_MS`, whatever its caller does with it.
 * - While the process stops, every answer carries `Connection: close`.
 *
 * Why a subclass of node's server and response: both listeners get the same bounds, whatever routes them, and a request
 * costs a counter and an entry in a list (measured: below a microsecond).
 */
import { type IncomingMessage, Server, type ServerOptions, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { CutReason } from "../observability/Metrics.ts"
import { type Entry, OrderedList } from "./OrderedList.ts"

export interface Limits {
  readonly maxConnections: number
  readonly answerTimeoutMs: number
  readonly isStopping: () => boolean
  /** Done to every request before anything routes by it. */
  readonly prepare: (request: IncomingMessage) => void
}

/** Most requests of one connection that wait for their answers. */
export const MOST_PIPELINED = 16

/** How long a caller has to read the last bytes of a refused connection. */
const LINGER_MS = 2000

class Connection {
  unanswered = 0
  /** The answer to the request that came last. */
  newest: BoundedResponse | undefined
  unsent = 0
  isClosed = false
  /** Its last bytes are written: what still comes is not done. */
  isEnding = false
  /** Bytes to write, and then to close, once the answers before them have left. */
  last: string | undefined

  /** True while a whole request waits for its answer. One that broke off gets none. */
  get isAwaited(): boolean {
    const { newest, unanswered } = this
    const hasBrokenOff = newest !== undefined && !newest.req.complete && !newest.headersSent
    return unanswered > (hasBrokenOff ? 1 : 0)
  }
}

const connections = new WeakMap<Socket, Connection>()

/** A server whose connections are bounded. */
export class BoundedServer extends Server<typeof IncomingMessage, typeof BoundedResponse> {
  /** Answers that have been made and have not left. */
  readonly unsent = new OrderedList<BoundedResponse>()
  readonly limits: Limits
  readonly onCut: (reason: CutReason) => void
  open = 0
  readonly #sweep: NodeJS.Timeout

  constructor(options: ServerOptions, limits: Limits, onCut: (reason: CutReason) => void) {
    super({
      ...options,
      IncomingMessage: undefined,
      ServerResponse: BoundedResponse,
      // Nothing here is upgraded: a request that asks for it is answered as any other, within the same bounds.
      shouldUpgradeCallback: () => false
    } as never)
    this.limits = limits
    this.onCut = onCut
    this.maxConnections = limits.maxConnections
    // Of several processes that share a port, a full one closes what comes as well, instead of handing it on for ever.
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

  /** Ends a connection with these bytes, after the answers that are still under way on it. */
  endWith(socket: Socket, bytes: string): void {
    const connection = connections.get(socket)
    if (connection?.isAwaited === true) connection.last = bytes
    else endSoon(socket, bytes)
  }

  #opened(socket: Socket): void {
    const connection = new Connection()
    connections.set(socket, connection)
    // Node takes its own listener away where a tunnel is asked for: a reset would then end the process.
    socket.on("error", ignored)
    this.open++
    socket.once("close", () => {
      this.open--
      connection.isClosed = true
      // Node closes the answer that is being written, and none of those behind it.
      if (connection.unsent > 0) for (const response of this.unsent) if (response.link === connection) response.left()
    })
  }

  #admits(response: BoundedResponse): boolean {
    const { link, req } = response
    response.server = this
    if (link === undefined) return true
    if (link.isEnding) {
      req.socket.destroy()
      return false
    }
    link.unanswered++
    link.newest = response
    if (link.unanswered > MOST_PIPELINED) {
      if (!req.socket.destroyed) this.onCut("pipelined")
      // What is left in the buffer is parsed all the same; nobody answers it.
      req.socket.destroy()
      return false
    }
    response.on("close", answered)
    this.limits.prepare(req)
    return true
  }

  #cutUnread(): void {
    const latest = performance.now() - this.limits.answerTimeoutMs
    for (const response of this.unsent) {
      if (response.endedAt > latest) return
      // One that waits for the answer before it is not the reader's fault.
      if (response.socket === null || response.socket.destroyed) continue
      this.onCut("unread")
      // A reset frees what the kernel has buffered as well.
      response.socket.resetAndDestroy()
    }
  }
}

/** A response that knows when it has left. */
export class BoundedResponse extends ServerResponse<IncomingMessage> {
  readonly link: Connection | undefined
  server: BoundedServer | undefined
  endedAt = 0
  #unsent: Entry<BoundedResponse> | undefined
  #then: (() => void) | undefined

  constructor(request: IncomingMessage, options?: object) {
    // Node passes its options on, which its types do not say.
    super(...([request, options] as unknown as [IncomingMessage]))
    this.link = connections.get(request.socket)
  }

  override writeHead(...args: ReadonlyArray<unknown>): this {
    if (this.server?.limits.isStopping() === true) this.shouldKeepAlive = false
    return super.writeHead(...(args as unknown as [number]))
  }

  override end(...args: ReadonlyArray<unknown>): this {
    super.end(...(args as []))
    const { link, server } = this
    if (link === undefined || server === undefined || link.isClosed || this.destroyed || this.#unsent !== undefined)
      return this
    this.endedAt = performance.now()
    link.unsent++
    this.#unsent = server.unsent.add(this)
    return this
  }

  /** Calls `then` once the answer has left, or cannot leave any more. */
  whenLeft(then: () => void): void {
    if (this.#unsent !== undefined) this.#then = then
    else then()
  }

  left(): void {
    if (this.#unsent === undefined) return
    this.server?.unsent.remove(this.#unsent)
    this.#unsent = undefined
    if (this.link !== undefined) this.link.unsent--
    const then = this.#then
    this.#then = undefined
    then?.()
  }
}

function answered(this: BoundedResponse): void {
  this.left()
  const { link } = this
  if (link === undefined) return
  link.unanswered--
  if (link.last !== undefined && !link.isAwaited && !link.isClosed) endSoon(this.req.socket, link.last)
}

/** Writes the last bytes; the connection is closed when they are read, or soon in any case. */
const endSoon = (socket: Socket, bytes: string): void => {
  const connection = connections.get(socket)
  if (connection !== undefined) connection.isEnding = true
  if (connection?.newest?.req.complete === false) {
    // The rest of it may still come, and it must not be done then.
    socket.write(bytes)
    return socket.destroySoon()
  }
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  timer.unref()
  socket.once("close", () => clearTimeout(timer))
  // What still comes is not read by anybody; its end has to be seen.
  socket.resume()
  socket.end(bytes)
}

const ignored = (): void => {}
