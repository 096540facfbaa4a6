/** The router of `deploy/cells`, with addresses of this machine; where HAProxy is not installed, a small one that does the same. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { hash } from "node:crypto"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { environment, type Ports, versionOf } from "./Balancers.ts"
import { temporaryFolder } from "./Postgres.ts"

export interface CellRoutes {
  readonly public: number
  readonly callbacks: number
  /** The ports of the two servers of each cell. */
  readonly servers: Readonly<Record<"a" | "b", readonly [Ports, Ports]>>
  /** As `keys-map` prints them. */
  readonly keys: string
  readonly connections: string
}

const router = "haproxy"

export const hasHaproxy = versionOf(router) !== undefined

const shipped = readFileSync(join(import.meta.dirname, "../../../../deploy/cells/haproxy.cfg"), "utf8")

/** Starts HAProxy with what is shipped. It may listen a moment later. */
export const startHaproxy = (routes: CellRoutes): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const file = (name: string, text: string) => {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    }
    const configuration = shipped
      .replace("bind :3000", `bind 127.0.0.1:${routes.public}`)
      .replace("bind :3002", `bind 127.0.0.1:${routes.callbacks}`)
      .replace(/ {2}stats socket.*\n/, "")
      .replaceAll(/cell-([ab])-([12]):300\d port 3001/g, (_, name: "a" | "b", server: string) => {
        const ports = routes.servers[name][Number(server) - 1]!
        return `127.0.0.1:${ports.public} port ${ports.operator}`
      })
      .replaceAll("/etc/haproxy/keys.map", file("keys.map", routes.keys))
      .replaceAll("/etc/haproxy/connections.map", file("connections.map", routes.connections))
    const path = file("haproxy.cfg", configuration)
    yield* Effect.acquireRelease(
      Effect.sync(() => spawn(router, ["-f", path], { env: environment, stdio: "ignore" })),
      (child) => Effect.promise(() => (child.kill(), once(child, "exit")))
    )
  })

/** Passes requests of `/v1` to a server of the key's cell, and to the next one where that refuses the connection. */
export const startSmallRouter = (routes: CellRoutes): Effect.Effect<void, never, Scope.Scope> => {
  const mapped = new Map(routes.keys.split("\n").map((line) => line.split(" ") as [string, "a" | "b"]))
  const cellOf = (key: string) => mapped.get(hash("sha256", key)) ?? (key.startsWith("pix_b.") ? "b" : "a")
  let turn = 0
  const answer = async (request: Http.IncomingMessage, response: Http.ServerResponse) => {
    const body = Buffer.concat(await request.toArray())
    const ports = routes.servers[cellOf(String(request.headers["x-api-key"]))]
    turn++
    for (let tried = 0; tried < ports.length; tried++) {
      const port = ports[(turn + tried) % ports.length]!.public
      const isDone = await new Promise<boolean>((resolve) => {
        const { headers, method, url } = request
        const passed = Http.request({ host: "127.0.0.1", port, path: url, method, headers }, (answered) => {
          response.writeHead(answered.statusCode!, answered.headers)
          answered.pipe(response).on("close", () => resolve(true))
        })
        passed.on("error", (error) =>
          resolve((error as NodeJS.ErrnoException).code !== "ECONNREFUSED" || response.headersSent)
        )
        passed.end(body)
      })
      if (isDone && response.headersSent) return
      if (isDone) break
    }
    response.writeHead(503, { "retry-after": "1", "content-type": "application/json" })
    response.end(JSON.stringify({ code: "SERVICE_UNAVAILABLE", message: "Try again shortly." }))
  }
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Http.createServer((request, response) => void answer(request, response))
        await once(server.listen(routes.public, "127.0.0.1"), "listening")
        return server
      }),
      (server) => Effect.promise(() => (server.closeAllConnections(), new Promise((done) => server.close(done))))
    )
  )
}
