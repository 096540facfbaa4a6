/** HTTP byte by byte, for requests that no client sends. */
import * as Effect from "effect/Effect"
import { connect } from "node:net"

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
