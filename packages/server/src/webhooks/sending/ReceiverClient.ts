/**
 * Posts to receivers, which are not trusted.
 *
 * Guarantees:
 * - No redirects, no proxy, no HTTP/2 (its frames cannot be counted).
 * - The status line is an answer, also where the rest of it is broken or does not come (`ReceiverAnswer`).
 * - What is read of an answer is bounded before it is parsed. Beyond the bound, or beyond the part of a body that is stored, the
 *   connection is destroyed and nothing is drained.
 * - An interrupted request is aborted with its connection.
 *
 * Measured: the adapter of Effect's HTTP client costs twice as much for each delivery, so undici is called directly.
 *
 * Why reads are intercepted: undici takes `100 Continue` for an error, shows a status only after all headers, counts neither
 * informational answers nor chunk extensions, and parses the whole of a read before a header's bound applies.
 */
import * as Undici from "@effect/platform-node/Undici"
import { type AnswerReader, answerReader } from "@pix-payments/domain/ReceiverAnswer"
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

/** What is known of a post, whatever became of it. */
export interface Exchange {
  /** The address that it was last sent to. */
  readonly address: string | null
  /** Of the status line. */
  readonly statusCode: number | null
  /** The first 1 KiB, or what arrived of it. */
  readonly body: Buffer
}

/** The answer is not complete. `cause` is the error of undici or of the connection. */
export class PostFailed extends Data.TaggedError("PostFailed")<{ readonly cause: unknown }> {}

/** What a receiver sent is not read any more: `message` says why. */
export class AnswerRefused extends Error {}

/** The name of the header that carries the delivery's id. */
export const DELIVERY_HEADER = "X-Webhook-Delivery"

/** Bytes of a body that are stored. */
export const KEPT_BYTES = 1024
const HEADER_BYTES = 16_384

/** A post that is under way, or is not taken yet. */
interface Running {
  address: string | null
  answer: AnswerReader | undefined
  readonly chunks: Array<Buffer>
}

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
  const running = new Map<string, Running>()
  yield* watchConnections((id) => running.get(id))

  return {
    /** Ends when the answer is complete, as far as it is stored. `take` has what arrived of it, also after a failure. */
    post: ({ body, headers, id, url }: Post): Effect.Effect<void, PostFailed> =>
      Effect.callback<void, PostFailed>((resume) => {
        let controller: Undici.Dispatcher.DispatchController | undefined
        let isOver = false
        let length = 0
        const { chunks } = renewed(running, id)
        const end = (exit: Effect.Effect<void, PostFailed>) => {
          if (isOver) return
          isOver = true
          // After undici has completed this response: its connection is then free for the next request.
          queueMicrotask(() => resume(exit))
        }

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
            onResponseStart: () => {},
            onResponseData: (_, chunk) => {
              if (isOver) return
              chunks.push(chunk)
              length += chunk.length
              if (length < KEPT_BYTES) return
              end(Effect.void)
              controller?.abort(new Error("the stored part of the body is complete"))
            },
            onResponseEnd: () => end(Effect.void),
            onResponseError: (_, error) => end(Effect.fail(new PostFailed({ cause: error })))
          }
        )
        return Effect.sync(() => {
          isOver = true
          controller?.abort(new Error("the attempt is over"))
        })
      }),
    /** Returns and forgets what is known of a post. */
    take: (id: string): Exchange => {
      const { address = null, answer, chunks = [] } = running.get(id) ?? {}
      running.delete(id)
      return {
        address,
        statusCode: answer?.status() ?? null,
        body: Buffer.concat(chunks).subarray(0, KEPT_BYTES)
      }
    }
  }
})

const renewed = (running: Map<string, Running>, id: string): Running => {
  const made: Running = { address: null, answer: undefined, chunks: [] }
  running.set(id, made)
  return made
}

/** Finds the connection that each delivery is written to, and reads its answer along. */
const watchConnections = (runningOf: (id: string) => Running | undefined) => {
  const answers = new WeakMap<Socket, { current: AnswerReader }>()

  const onSent = (message: unknown) => {
    const { request, socket } = message as SentHeaders
    const id = deliveryIdOf(request.headers)
    if (id === undefined) return
    const answer = answerReader()
    const known = answers.get(socket)
    if (known !== undefined) known.current = answer
    else answers.set(socket, intercepted(socket, answer))
    const one = runningOf(id)
    if (one === undefined) return
    one.address = socket.remoteAddress ?? null
    one.answer = answer
  }
  return Effect.acquireRelease(
    Effect.sync(() => subscribe(SENT, onSent)),
    () => Effect.sync(() => unsubscribe(SENT, onSent))
  )
}

const SENT = "undici:client:sendHeaders"

interface SentHeaders {
  readonly request: { readonly headers: ReadonlyArray<string> | string }
  readonly socket: Socket
}

/** Passes what is read from a socket through the reader of the current answer, and destroys the socket where that ends. */
const intercepted = (socket: Socket, first: AnswerReader): { current: AnswerReader } => {
  const answer = { current: first }
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null
  socket.read = (size?: number): Buffer | null => {
    if (size !== undefined) return read(size)
    while (answer.current.end() === undefined) {
      const bytes = read()
      if (bytes === null) return null
      const passed = answer.current.push(bytes)
      const end = answer.current.end()
      // After undici has parsed what is passed: it ignores what comes from a socket that is destroyed.
      if (end !== undefined) process.nextTick(() => socket.destroy(new AnswerRefused(end)))
      if (passed.length > 0) return Buffer.from(passed.buffer, passed.byteOffset, passed.length)
    }
    return null
  }
  return answer
}

const deliveryIdOf = (headers: ReadonlyArray<string> | string): string | undefined => {
  if (typeof headers === "string") return sentId.exec(headers)?.[1]
  const at = headers.indexOf(DELIVERY_HEADER)
  return at < 0 ? undefined : headers[at + 1]
}

const sentId = new RegExp(`${DELIVERY_HEADER}: (\\S+)`)
