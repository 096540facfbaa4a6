/** The router of `deploy/cells`, in front of listeners that say which cell they are. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { hash } from "node:crypto"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { environment, versionOf } from "../support/Balancers.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { closedPort, eventually } from "../support/Receiver.ts"

const shipped = readFileSync(join(import.meta.dirname, "../../../../deploy/cells/haproxy.cfg"), "utf8")

const router = "haproxy"

const connection = "0199a0f0-5f3c-7c3e-9d0b-000000000001"

describe.skipIf(versionOf(router) === undefined)("deploy/cells", () => {
  it.live("routes a key by its digest, then by its name, and callbacks by their connection", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const ports = {
        public: yield* closedPort,
        callbacks: yield* closedPort,
        a: yield* cell("a"),
        b: yield* cell("b")
      }
      const maps = { keys: join(folder, "keys.map"), connections: join(folder, "connections.map") }
      writeFileSync(maps.keys, `${hash("sha256", "pix_old")} b\n${hash("sha256", "pix_b.moved")} a\n`)
      writeFileSync(maps.connections, `${connection} b\n`)
      const file = join(folder, "haproxy.cfg")
      writeFileSync(
        file,
        shipped
          .replace("bind :3000", `bind 127.0.0.1:${ports.public}`)
          .replace("bind :3002", `bind 127.0.0.1:${ports.callbacks}`)
          .replace(/ {2}stats socket.*\n/, "")
          .replaceAll(/cell-([ab]):\d+/g, (_, name: "a" | "b") => `127.0.0.1:${ports[name]}`)
          .replaceAll("/etc/haproxy/keys.map", maps.keys)
          .replaceAll("/etc/haproxy/connections.map", maps.connections)
      )
      yield* Effect.acquireRelease(
        Effect.sync(() => spawn(router, ["-f", file], { env: environment, stdio: "ignore" })),
        (child) => Effect.promise(() => (child.kill(), once(child, "exit")))
      )
      const cellOf = (path: string, key?: string, port = ports.public) => answer(`http://127.0.0.1:${port}${path}`, key)
      yield* eventually(cellOf("/v1/charges"), ({ status }) => status === 200)
      for (const [key, name] of [
        ["pix_old", "b"],
        ["pix_b.moved", "a"],
        ["pix_b.new", "b"],
        ["pix_c.unknown", "a"],
        ["pix_unknown", "a"],
        [undefined, "a"]
      ] as const) {
        assert.deepInclude(yield* cellOf("/v1/charges", key), { status: 200, body: name }, key)
      }
      for (const path of [`/${connection}/secret`, `/webhooks/${connection}/secret/pix`]) {
        assert.deepInclude(yield* cellOf(path, undefined, ports.callbacks), { status: 200, body: "b" }, path)
      }
      assert.deepInclude(yield* cellOf(`/${crypto.randomUUID()}/secret`, undefined, ports.callbacks), { status: 503 })
    }).pipe(Effect.scoped)
  )
})

/** A listener that answers with its name. */
const cell = (name: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Http.createServer((_, response) => response.end(name)).listen(0, "127.0.0.1")
        await once(server, "listening")
        return server
      }),
      (server) => Effect.promise(() => (server.closeAllConnections(), new Promise((done) => server.close(done))))
    ),
    (server) => (server.address() as { readonly port: number }).port
  )

const answer = (url: string, key: string | undefined) =>
  Effect.promise(async () => {
    try {
      const response = await fetch(url, { headers: key === undefined ? {} : { "x-api-key": key } })
      return { status: response.status, body: await response.text() }
    } catch {
      return { status: 0, body: "" }
    }
  })
