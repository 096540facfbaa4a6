/** HTTP byte by byte, for requests that no client sends. */
import * as Effect from "effect/Effect"
import * as Net from "node:net"
import { TestService } from "./TestService.ts"
import { connect } from "node:net"
import { once } from "node:events"

/** The current value of a metric. */
export const gauge = (name: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(operate("GET", "/metrics"), ({ text }) => {
      const line = text.split("\n").find((each) => each.startsWith(`pix_payments_${name} `))
      // A counter appears as it counts.
      return Number(line?.split(" ").at(-1) ?? (name.includes("_total{") ? 0 : Number.NaN))
    })
  )

/** A body as it is sent in an encoding. */
export const raw = (path: string, encoding: string) =>
  Effect.flatMap(TestService, ({ publicUrl }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const socket = yield* open(publicUrl)
        const chunks: Array<Buffer> = []
        socket.on("data", (chunk: Buffer) => chunks.push(chunk))
        const closed = closing(socket)
        socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept-encoding: ${encoding}\r\n\r\n`)
        yield* closed
        const answer = Buffer.concat(chunks)
        return answer.subarray(answer.indexOf("\r\n\r\n") + 4)
      })
    )
  )

/** Waits until a connection is closed. */
export const closing = (socket: Net.Socket) => {
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  return Effect.promise(() => closed)
}

/** A connection, closed with the scope. */
export const open = (url: string, options: { readonly allowHalfOpen?: boolean } = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { hostname, port } = new URL(url)
      const socket = Net.connect({ host: hostname, port: Number(port), ...options })
      socket.on("error", () => {})
      socket.resume()
      await once(socket, "connect")
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

/** Sends bytes over a new connection and reads until the server closes it, or hangs up once they are sent. */
export const exchange = (url: string, bytes: string, then: "read" | "hang up" = "read") =>
  Effect.callback<string>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () =>
      socket.write(bytes, () => {
        if (then === "hang up") socket.destroy()
      })
    )
    let text = ""
    socket.on("data", (chunk) => {
      text += String(chunk)
    })
    socket.on("close", () => resume(Effect.succeed(text)))
    socket.on("error", (error) => resume(Effect.die(error)))
    return Effect.sync(() => socket.destroy())
  })
