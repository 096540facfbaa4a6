/**
 * Posts to receivers, which are not trusted.
 *
 * Guarantees:
 * - no redirects, no proxy, no HTTP/2 (its frames cannot be counted);
 * - a response is bounded: header, informational responses, chunk framing and body together, and the number of reads. Beyond
 *   that, or beyond the part of a body that is stored, the connection is destroyed and nothing is drained;
 * - an interrupted request is aborted with its connection.
 *
 * Measured: the adapter of Effect's HTTP client costs twice as much for each delivery, so undici is called directly.
 *
 * Why sockets are counted: undici bounds a header, but each `1xx` begins a new one, and it never counts chunk extensions.
 */
import * as Undici from "@effect/platform-node/Undici"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { LookupFunction, Socket } from "node:net"

export interface Post {
  /** The delivery's id, by which its connection is found. */
  readonly id: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ReceiverResponse {
  readonly statusCode: number
  /** The first 1 KiB. */
  readonly body: Buffer
}

/** There is no response. `cause` is undici's error. */
export class PostFailed extends Data.TaggedError("PostFailed")<{ readonly cause: unknown }> {}

/** The receiver sent more than `READ_BYTES`. */
export class ResponseTooLarge extends Data.TaggedError("ResponseTooLarge") {}

/** The name of the header that carries the delivery's id. */
export const DELIVERY_HEADER = "X-Webhook-Delivery"

/** Bytes of a body that are stored. */
export const KEPT_BYTES = 1024
/** Bytes of a response that are read. A read counts as at least `MIN_READ_BYTES`. */
export const READ_BYTES = 32_768
export const MIN_READ_BYTES = 64
const HEADER_BYTES = 16_384

export const makeReceiverClient = Effect.fnUntraced(function* (options: {
  readonly lookup: LookupFunction
  readonly timeoutMs: number
  /** The limit of connections to one origin. */
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
    post: ({ body, headers, id, url }: Post): Effect.Effect<ReceiverResponse, PostFailed> =>
      Effect.callback<ReceiverResponse, PostFailed>((resume) => {
        let controller: Undici.Dispatcher.DispatchController | undefined
        let isOver = false
        let statusCode = 0
        let length = 0
        const chunks: Array<Buffer> = []
        const end = (exit: Effect.Effect<ReceiverResponse, PostFailed>) => {
          if (isOver) return
          isOver = true
          // After undici has completed this response: its connection is then free for the next request.
          queueMicrotask(() => resume(exit))
        }
        const succeed = () => end(Effect.succeed({ statusCode, body: Buffer.concat(chunks).subarray(0, KEPT_BYTES) }))

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
              succeed()
              controller?.abort(new Error("the stored part of the body is complete"))
            },
            onResponseEnd: succeed,
            onResponseError: (_, error) => end(Effect.fail(new PostFailed({ cause: error })))
          }
        )
        return Effect.sync(() => {
          isOver = true
          controller?.abort(new Error("the attempt is over"))
        })
      }),
    /** Returns and forgets the address that a delivery was last sent to. */
    takeAddress: connections.takeAddress
  }
})

/** Finds the connection that each delivery is written to, and counts what is read from it. */
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
 * Destroys a socket that sends more than a response may have. Returns a function that restarts the count, for the next
 * request.
 *
 * Its listener runs after undici's, which has parsed what was read: a complete body is a response by then.
 */
const countReads = (socket: Socket): (() => void) => {
  let from = 0
  let reads = 0
  socket.on("readable", () => {
    reads++
    if (socket.bytesRead - from + reads * MIN_READ_BYTES > READ_BYTES) socket.destroy(new ResponseTooLarge())
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
