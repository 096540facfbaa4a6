/** The router of `deploy/cells`, in front of listeners that say which cell they are. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { hash } from "node:crypto"
import { once } from "node:events"
import * as Http from "node:http"
import { hasHaproxy, startHaproxy } from "../support/CellRouter.ts"
import { closedPort, eventually } from "../support/Receiver.ts"

const connection = "0199a0f0-5f3c-7c3e-9d0b-000000000001"

describe.skipIf(!hasHaproxy)("deploy/cells", () => {
  it.live("routes a key by its digest, then by its name, and callbacks by their connection", () =>
    Effect.gen(function* () {
      const ports = { public: yield* closedPort, callbacks: yield* closedPort }
      yield* startHaproxy({
        ...ports,
        servers: { a: yield* cell("a"), b: yield* cell("b") },
        keys: `${hash("sha256", "pix_old")} b\n${hash("sha256", "pix_b.moved")} a\n`,
        connections: `${connection} b\n`
      })
      const cellOf = (path: string, key?: string, port = ports.public) => answer(`http://127.0.0.1:${port}${path}`, key)
      // A cell gets no request before the first check of its servers.
      for (const key of [undefined, "pix_old"])
        yield* eventually(cellOf("/v1/charges", key), ({ status }) => status === 200)
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

/** Two servers that are one listener, which answers everything with the cell's name. */
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
    (server) => {
      const { port } = server.address() as { readonly port: number }
      const ports = { public: port, operator: port }
      return [ports, ports] as const
    }
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
