/**
 * Reads request bodies, each up to a limit, and all of them within a memory limit.
 */
import type { IncomingMessage } from "node:http"
import { OrderedList } from "./OrderedList.ts"

/** The limit of one body of a caller or operator, unless its operation declares another (`BodyLimit`). */
export const MAX_BODY_BYTES = 256 * 1024

/**
 * The limit of all incomplete bodies of a listener together. Beyond it the body that began first is evicted: slow senders
 * compete with each other, and not with senders of complete bodies.
 */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024

/** The outcomes of a body. */
export interface BodyReader {
  /** Called with its text, or with `undefined` as soon as it is too large. */
  readonly onDone: (body: string | undefined) => void
  /** The caller closed the connection. */
  readonly onAborted: () => void
  /** It was evicted in favour of others. */
  readonly onEvicted: () => void
}

/** Returns the function that reads a body. It calls one function of its reader, once. */
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
  ): void => {
    let chunks: Array<Buffer> = []
    let length = 0
    let isDone = false
    /** False where it has an outcome already. */
    const settle = (): boolean => {
      if (isDone) return false
      isDone = true
      bufferedBytes -= length
      incomplete.remove(entry)
      return true
    }
    const evict = () => {
      if (!settle()) return
      chunks = []
      onEvicted()
    }
    if (Number(request.headers["content-length"]) > maxBytes) {
      isDone = true
      request.resume()
      return onDone(undefined)
    }
    const entry = incomplete.add(evict)
    request.on("data", (chunk: Buffer) => {
      if (isDone) return
      length += chunk.length
      bufferedBytes += chunk.length
      if (length > maxBytes) {
        settle()
        chunks = []
        return onDone(undefined)
      }
      chunks.push(chunk)
      if (bufferedBytes > maxBufferedBytes) evictOldest()
    })
    request.on("end", () => {
      if (!settle()) return
      const [only] = chunks
      onDone((chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)).toString("utf8"))
    })
    request.on("close", () => {
      if (settle()) onAborted()
    })
  }

  return { read, bufferedBytes: () => bufferedBytes }
}
