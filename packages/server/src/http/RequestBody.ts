/**
 * Reads a request's body, up to its limit.
 */
import type { IncomingMessage } from "node:http"
import { OrderedList } from "./OrderedList.ts"

/** For every request body of both listeners. */
export const MAX_BODY_BYTES = 256 * 1024

/**
 * Most bytes of bodies that a listener holds while they are still being sent. Beyond it the body that began first is given
 * up: those who send slowly make room for each other, and not those who send at once.
 */
export const MAX_BUFFERED_BYTES = 64 * 1024 * 1024

/** What became of a body. */
export interface BodyReader {
  /** Its text, or `undefined` as soon as it is too large. */
  readonly done: (body: string | undefined) => void
  /** The caller went away. */
  readonly gone: () => void
  /** It was given up for others. */
  readonly givenUp: () => void
}

/** Reads bodies; each calls one of its reader's functions, once. */
export const makeBodies = (mostBytesHeld = MAX_BUFFERED_BYTES) => {
  /** Those that are half sent, in the order in which they began. */
  const halfSent = new OrderedList<() => void>()
  let held = 0

  const makeRoom = (): void => {
    for (const giveUp of halfSent) {
      if (held <= mostBytesHeld) return
      giveUp()
    }
  }

  const read = (request: IncomingMessage, { done, givenUp, gone }: BodyReader): void => {
    let chunks: Array<Buffer> = []
    let length = 0
    let isDone = false
    /** False where it was settled before. */
    const settle = (): boolean => {
      if (isDone) return false
      isDone = true
      held -= length
      halfSent.remove(entry)
      return true
    }
    const giveUp = () => {
      if (!settle()) return
      chunks = []
      givenUp()
    }
    if (Number(request.headers["content-length"]) > MAX_BODY_BYTES) {
      isDone = true
      request.resume()
      return done(undefined)
    }
    const entry = halfSent.add(giveUp)
    request.on("data", (chunk: Buffer) => {
      if (isDone) return
      length += chunk.length
      held += chunk.length
      if (length > MAX_BODY_BYTES) {
        settle()
        chunks = []
        return done(undefined)
      }
      chunks.push(chunk)
      if (held > mostBytesHeld) makeRoom()
    })
    request.on("end", () => {
      if (!settle()) return
      const [only] = chunks
      done((chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)).toString("utf8"))
    })
    request.on("close", () => {
      if (settle()) gone()
    })
  }

  return { read, held: () => held }
}
