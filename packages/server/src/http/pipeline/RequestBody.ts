/**
 * Reads request bodies, each up to a limit, and all of them within a memory limit.
 *
 * Guarantees:
 * - A piece of a body, as it arrives, counts as at least `MIN_PIECE_BYTES`: a body of many small chunks costs memory and time far
 *   beyond its bytes.
 * - Bytes become text only where they are UTF-8 without another encoding (`textOf`).
 *
 * Rules: ERR-6, ERR-16 to ERR-18.
 */
import { UnreadableBody } from "@pix-payments/domain/Request"
import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"
import { OrderedList } from "./OrderedList.ts"

/** The limit of one body of a caller or operator, unless its operation declares another (`BodyLimit`). */
export const MAX_BODY_BYTES = 256 * 1024

/**
 * The limit of all incomplete bodies of a listener together. Beyond it the body that began first is evicted: slow senders
 * compete with each other, and not with senders of complete bodies.
 */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024

/** What a piece costs at least. A body has at most as many pieces as its limit has room for. */
export const MIN_PIECE_BYTES = 256

/** The outcomes of a body. */
export interface BodyReader {
  /** Called with its bytes, or with `undefined` as soon as it is too large. */
  readonly onDone: (body: Buffer | undefined) => void
  /** The caller closed the connection. */
  readonly onAborted: () => void
  /** It was evicted in favour of others. */
  readonly onEvicted: () => void
}

/**
 * Returns the function that reads a body. It calls one function of its reader, once. It returns a function that drops what
 * arrived and calls none any more.
 */
export const makeBodies = (maxBufferedBytes = MAX_BUFFERED_BYTES, maxBodyBytes = MAX_BODY_BYTES) => {
  /** Incomplete bodies in the order in which they began: the functions that evict them. */
  const incomplete = new OrderedList<() => void>()
  let bufferedBytes = 0

  const evictOldest = (): void => {
    for (const evict of incomplete) {
      if (bufferedBytes <= maxBufferedBytes) return
      evict()
    }
  }

  const read = (
    request: IncomingMessage,
    { onAborted, onDone, onEvicted }: BodyReader,
    maxBytes = maxBodyBytes
  ): (() => void) => {
    let pieces: Array<Buffer> = []
    let length = 0
    let cost = 0
    let isDone = false
    /** False where it has an outcome already. */
    const settle = (): boolean => {
      if (isDone) return false
      isDone = true
      bufferedBytes -= cost
      incomplete.remove(entry)
      return true
    }
    const drop = (): boolean => {
      const isFirst = settle()
      if (isFirst) pieces = []
      return isFirst
    }
    if (Number(request.headers["content-length"]) > maxBytes) {
      isDone = true
      request.resume()
      onDone(undefined)
      return drop
    }
    const entry = incomplete.add(() => {
      if (drop()) onEvicted()
    })
    request.on("data", (piece: Buffer) => {
      if (isDone) return
      const price = Math.max(piece.length, MIN_PIECE_BYTES)
      length += piece.length
      cost += price
      bufferedBytes += price
      pieces.push(piece)
      if (length > maxBytes || pieces.length * MIN_PIECE_BYTES > maxBytes) {
        drop()
        return onDone(undefined)
      }
      if (bufferedBytes > maxBufferedBytes) evictOldest()
    })
    request.on("end", () => {
      if (!settle()) return
      const [only] = pieces
      onDone(pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces))
    })
    request.on("close", () => {
      if (settle()) onAborted()
    })
    return drop
  }

  return { read, bufferedBytes: () => bufferedBytes }
}

/** A reader whose outcome waits until it is released. */
export const heldBack = (reader: BodyReader): { readonly reader: BodyReader; readonly release: () => void } => {
  let isReleased = false
  let outcome: (() => void) | undefined
  const hold = (next: () => void): void => {
    if (isReleased) next()
    else outcome = next
  }
  return {
    reader: {
      onDone: (body) => hold(() => reader.onDone(body)),
      onAborted: () => hold(reader.onAborted),
      onEvicted: () => hold(reader.onEvicted)
    },
    release: () => {
      isReleased = true
      outcome?.()
    }
  }
}

/** The text of a body, or why it has none. */
export const textOf = ({ headers }: IncomingMessage, body: Buffer): string | UnreadableBody => {
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && !/^\s*(identity\s*)?$/i.test(encoding)) return encoded
  const coding = headers["transfer-encoding"]
  if (coding !== undefined && !/^\s*chunked\s*$/i.test(coding)) return coded
  if (!isUtf8(body)) return notUtf8
  const text = body.toString("utf8")
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

const BYTE_ORDER_MARK = "\u{feff}"

const encoded = new UnreadableBody({ code: "VALIDATION_ERROR", details: ["Content-Encoding"] })
const coded = new UnreadableBody({ code: "VALIDATION_ERROR", details: ["Transfer-Encoding"] })
const notUtf8 = new UnreadableBody({
  code: "VALIDATION_ERROR",
  details: undefined,
  message: "The request body is not UTF-8."
})
