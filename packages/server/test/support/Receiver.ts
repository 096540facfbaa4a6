/**
 * Webhook receivers on loopback that record every delivery, and a bounded wait.
 */
import type { Network } from "@pix-payments/domain/PublicUrl"
import { parseNetworks } from "@pix-payments/domain/PublicUrl"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { randomInt, randomUUID } from "node:crypto"
import { once } from "node:events"
import * as Http from "node:http"
import * as Net from "node:net"
import { inspect } from "node:util"

/** A delivery as received. */
export interface Received {
  readonly method: string
  /** After the receiver's URL. */
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  /** Names as they were written. */
  readonly names: ReadonlyArray<string>
  readonly bytes: Buffer
  readonly body: Envelope
}

/** The envelope of a charge's event, as far as the tests look into it. */
interface Envelope {
  readonly id: string
  readonly event: string
  readonly created_at: string
  readonly sequence: number
  readonly data: { readonly id: string; readonly status: string; readonly reference: string | null }
}

export interface Receiver {
  readonly url: string
  readonly received: Array<Received>
}

/**
 * Answers each delivery with `answer`, or 200. Its URL has a path of its own: its port may have been another receiver's, to
 * which another test's service still sends.
 */
export const receiver = (
  answer: (received: Received, response: Http.ServerResponse) => void = (_, response) => response.end("ok")
): Effect.Effect<Receiver, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<Received> = []
      const own = `/${randomUUID().slice(0, 8)}`
      const server = Http.createServer((request, response) => {
        const [before, path] = (request.url ?? "").split(own, 2)
        if (before !== "" || path === undefined) {
          response.writeHead(404).end()
          return
        }
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const bytes = Buffer.concat(chunks)
          const one: Received = {
            method: request.method ?? "",
            path: path.startsWith("/") ? path : `/${path}`,
            headers: request.headers,
            names: request.rawHeaders.filter((_, index) => index % 2 === 0),
            bytes,
            body: JSON.parse(bytes.toString())
          }
          received.push(one)
          answer(one, response)
        })
        // The sender may close its connection.
        request.on("error", () => {})
        response.on("error", () => {})
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return { url: `http://127.0.0.1:${portOf(server)}${own}`, received, server }
    }),
    ({ server }) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      })
  )

/** A raw TCP peer: `talk` runs once the first bytes of a request have arrived. */
export const peer = (talk: (socket: Net.Socket) => void): Effect.Effect<{ readonly url: string }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Net.Socket>()
      const server = Net.createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => {})
        socket.on("close", () => sockets.delete(socket))
        socket.once("data", () => talk(socket))
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return { url: `http://127.0.0.1:${portOf(server)}`, server, sockets }
    }),
    ({ server, sockets }) =>
      Effect.promise(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      })
  )

/**
 * A port without a listener, from 10,000 to 20,999: below those that an operating system gives to connections, beside those of
 * `histories` (21,000) and `bench` (22,000), and no other test's meanwhile, so that nothing takes it before it is listened on.
 */
export const closedPort: Effect.Effect<number> = Effect.promise(async () => {
  while (true) {
    const port = firstPort + randomInt(PORTS_OF_WORKER)
    if (given.has(port)) continue
    const server = Net.createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false))
      server.listen(port, "127.0.0.1", () => resolve(true))
    })
    if (!isFree) continue
    given.add(port)
    server.close()
    await once(server, "close")
    return port
  }
})

const PORTS_OF_WORKER = 1_000
const firstPort = 10_000 + (Number(process.env["VITEST_POOL_ID"] ?? 0) % 11) * PORTS_OF_WORKER
const given = new Set<number>()

/** Repeats a read until it is as wanted; dies with the last value after four minutes. */
export const eventually = <A, E, R>(
  look: Effect.Effect<A, E, R>,
  isThere: (seen: A) => boolean,
  withinMs = 240_000
): Effect.Effect<A, E, R> => {
  // Made here, so that its stack has the line of the test.
  const error = new Error("never came")
  return Effect.gen(function* () {
    const end = performance.now() + withinMs
    while (true) {
      const seen = yield* look
      if (isThere(seen)) return seen
      if (performance.now() > end) {
        error.message = `never came; last seen: ${inspect(seen)}`
        return yield* Effect.die(error)
      }
      yield* Effect.sleep("20 millis")
    }
  })
}

/** Lets a service deliver to this machine. */
export const loopback: ReadonlyArray<Network> = Result.getOrThrow(parseNetworks("127.0.0.0/8,::1/128"))

const portOf = (server: Net.Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
