/**
 * Reads a request's body, up to its limit.
 */
import * as ByteSize from "effect/ByteSize"
import type { IncomingMessage } from "node:http"

/** 256 KiB, for every request body of both listeners. */
export const MAX_BODY = ByteSize.kibibytes(256)

export const MAX_BODY_BYTES = ByteSize.toNumberUnsafe(MAX_BODY)

/** Calls `then` once, with the text, or with `undefined` as soon as it is too large; `gone` when the caller went away. */
export const readBody = (
  request: IncomingMessage,
  then: (body: string | undefined) => void,
  gone: () => void
): void => {
  const chunks: Array<Buffer> = []
  let length = 0
  let done = false
  const finish = (body: string | undefined) => {
    if (done) return
    done = true
    then(body)
  }
  if (Number(request.headers["content-length"]) > MAX_BODY_BYTES) {
    request.resume()
    return finish(undefined)
  }
  request.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (length > MAX_BODY_BYTES) return finish(undefined)
    chunks.push(chunk)
  })
  request.on("end", () => {
    const [only] = chunks
    finish((chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)).toString("utf8"))
  })
  request.on("close", () => {
    if (done) return
    done = true
    gone()
  })
}
