/**
 * Posts to receivers, which are strangers.
 *
 * Guarantees:
 * - no redirects, no proxy, no HTTP/2: its frames cannot be counted;
 * - what a receiver sends is bounded: header, informational answers, chunk framing and body together, and the number of
 *   reads that they come in; past that, or past the part of a body that is kept, the connection is destroyed and nothing
 *   of it is drained;
 * - an interrupted request is aborted with its connection.
 *
 * undici is called directly: measured, the HTTP client's adapter costs twice as much for each delivery. It bounds a
 * header, but each `1xx` begins a new one, and it never counts chunk extensions: the sockets are counted here.
 */
import * as Undici from "@effect/platform-node/Undici"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { LookupFunction, Socket } from "node:net"

export interface Post {
  /** Of the delivery: by it the connection is found. */
  readonly id: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly statusCode: number
  /** The first 1 KiB. */
  readonly body: Buffer
}

/** Why there is no answer, in undici's errors. */
export class PostFailed extends Data.TaggedError("PostFailed")<{ readonly cause: unknown }> {}

/** A receiver that sends more than an answer has. */
export class AnswerTooLarge extends Data.TaggedError("AnswerTooLarge") {}

/** The name of the header that carries the delivery's id. */
export const DELIVERY_HEADER = "X-Webhook-Delivery"

/** Bytes of an answer that are kept. */
export const KEPT_BYTES = 1024
/** Bytes of an answer that are read, a read counting as so many at least. */
export const READ_BYTES = 32_768
export const LEAST_READ_BYTES = 64
const HEADER_BYTES = 16_384

export const makeReceiverClient = Effect.fnUntraced(function* (options: {
  readonly lookup: LookupFunction
  readonly timeoutMs: number
  /** Most connections to one origin. */
  readonly connections: number
}) {
  const { lookup, timeoutMs: timeout } = options
  const agent = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Undici.Agent({
          allowH2: false,
          connect: { lookup, timeout },
          headersTimeout: timeout,
          bodyTimeout: timeout,
          maxHeaderSize: HEADER_BYTES,
          connections: options.connections,
          keepAliveTimeout: 10_000,
          pipelining: 1
        })
    ),
    (dispatcher) => Effect.promise(() => dispatcher.destroy())
  )
  const connections = yield* watchConnections

  return {
    post: ({ body, headers, id, url }: Post): Effect.Effect<Answer, PostFailed> =>
      Effect.callback<Answer, PostFailed>((resume) => {
        let controller: Undici.Dispatcher.DispatchController | undefined
        let isOver = false
        let statusCode = 0
        let length = 0
        const chunks: Array<Buffer> = []
        const end = (exit: Effect.Effect<Answer, PostFailed>) => {
          if (isOver) return
          isOver = true
          // Not before undici is done with this answer: its connection is free for the next request then.
          queueMicrotask(() => resume(exit))
        }
        const answered = () => end(Effect.succeed({ statusCode, body: Buffer.concat(chunks).subarray(0, KEPT_BYTES) }))

        agent.dispatch(
          {
            origin: url.origin,
            path: url.pathname + url.search,
            method: "POST",
            headers: { ...headers, [DELIVERY_HEADER]: id },
            body
          },
          {
            onRequestStart: (started) => {
              controller = started
              if (isOver) started.abort(new Error("the attempt is over"))
            },
            onResponseStart: (_, status) => {
              statusCode = status
            },
            onResponseData: (_, chunk) => {
              if (isOver) return
              chunks.push(chunk)
              length += chunk.length
              if (length < KEPT_BYTES) return
              answered()
              controller?.abort(new Error("enough is read"))
            },
            onResponseEnd: answered,
            onResponseError: (_, error) => end(Effect.fail(new PostFailed({ cause: error })))
          }
        )
        return Effect.sync(() => {
          isOver = true
          controller?.abort(new Error("the attempt is over"))
        })
      }),
    /** The address that a delivery was sent to last; it is forgotten. */
    takeAddress: connections.takeAddress
  }
})

/** Follows which connection each delivery is written to, and counts what comes back on it. */
const watchConnections = Effect.gen(function* () {
  const addresses = new Map<string, string>()
  const counters = new WeakMap<Socket, () => void>()

  const onSent = (message: unknown) => {
    const { request, socket } = message as SentHeaders
    const id = deliveryIdOf(request.headers)
    if (id === undefined) return
    if (socket.remoteAddress !== undefined) addresses.set(id, socket.remoteAddress)
    const restart = counters.get(socket) ?? countReads(socket)
    counters.set(socket, restart)
    restart()
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe(SENT, onSent)),
    () => Effect.sync(() => unsubscribe(SENT, onSent))
  )
  return {
    takeAddress: (deliveryId: string): string | null => {
      const address = addresses.get(deliveryId)
      addresses.delete(deliveryId)
      return address ?? null
    }
  }
})

const SENT = "undici:client:sendHeaders"

interface SentHeaders {
  readonly request: { readonly headers: ReadonlyArray<string> | string }
  readonly socket: Socket
}

/**
 * Destroys a socket that gives more than an answer may have. Returns what begins the count anew, for the next request.
 *
 * It listens after undici, which has parsed by then what was read: a body that came whole is an answer by now.
 */
const countReads = (socket: Socket): (() => void) => {
  let from = 0
  let reads = 0
  socket.on("readable", () => {
    reads++
    if (socket.bytesRead - from + reads * LEAST_READ_BYTES > READ_BYTES) socket.destroy(new AnswerTooLarge())
  })
  return () => {
    from = socket.bytesRead
    reads = 0
  }
}

const deliveryIdOf = (headers: ReadonlyArray<string> | string): string | undefined => {
  if (typeof headers === "string") return sentId.exec(headers)?.[1]
  const at = headers.indexOf(DELIVERY_HEADER)
  return at < 0 ? undefined : headers[at + 1]
}

const sentId = new RegExp(`${DELIVERY_HEADER}: (\\S+)`)
