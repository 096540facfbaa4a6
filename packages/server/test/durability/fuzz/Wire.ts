/** One raw exchange: the bytes go out as they are, and the answer comes back as it was. */
import * as Effect from "effect/Effect"
import * as Net from "node:net"

export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** `undefined` where the server closed without an answer; dies where there is none in time. */
export const exchange = (
  url: string,
  bytes: Buffer,
  withinMs: number
): Effect.Effect<RawAnswer | undefined | "hangs"> =>
  Effect.callback((resume) => {
    const { hostname, port } = new URL(url)
    const chunks: Array<Buffer> = []
    const socket = Net.connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    const timer = setTimeout(() => {
      socket.destroy()
      resume(Effect.succeed("hangs"))
    }, withinMs)
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    // A server that refuses a body may close while it is still being written.
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(timer)
      resume(Effect.succeed(parse(Buffer.concat(chunks))))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      socket.destroy()
    })
  })

const parse = (bytes: Buffer): RawAnswer | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const headers = new Map(
    lines.map((line) => {
      const at = line.indexOf(":")
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const
    })
  )
  const rest = bytes.subarray(end + 4)
  const length = headers.get("content-length")
  const body = length === undefined ? rest : rest.subarray(0, Number(length))
  return { status: Number(first.slice(9, 12)), headers, body: body.toString() }
}
