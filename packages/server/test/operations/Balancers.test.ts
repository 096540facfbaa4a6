/** The balancers of `deploy/` in front of listeners that record what they get. `pnpm run drill:rolling` has the service itself. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as Http from "node:http"
import { logOf, startBalancer, versionOf } from "../support/Balancers.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { closedPort, eventually } from "../support/Receiver.ts"

for (const balancer of ["nginx", "haproxy"] as const) {
  describe.skipIf(versionOf(balancer) === undefined)(`deploy/${balancer}`, () => {
    it.live("passes on the caller's address, answers /health from outside, and logs without the query", () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const got: Array<Received> = []
        const ports = { public: yield* listening("public", got), operator: yield* listening("operator", got) }
        const front = { public: yield* closedPort, operator: yield* closedPort }
        yield* startBalancer(balancer, front, [ports, ports], folder)
        const url = `http://127.0.0.1:${front.public}`
        // HAProxy sends nobody a request before its first check.
        yield* eventually(answered(`${url}/health`, "GET"), (status) => status === 200)
        const forged = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" }
        assert.strictEqual(yield* answered(String.raw`${url}/v1/a"b\c]?name=Ana`, "GET", forged), 200)
        const me = answered(`http://127.0.0.1:${front.operator}/operator/v1/me`, "GET", forged)
        yield* eventually(me, (status) => status === 200)

        const called = got.filter(({ address }) => address !== undefined)
        assert.deepStrictEqual(
          called.find(({ path }) => path === "/health/ready"),
          { listener: "operator", method: "GET", path: "/health/ready", address: "127.0.0.1", protocol: "http" }
        )
        assert.deepInclude(called, {
          listener: "public",
          method: "GET",
          path: String.raw`/v1/a"b\c]?name=Ana`,
          address: "127.0.0.1",
          protocol: "http"
        })
        assert.deepInclude(called, {
          listener: "operator",
          method: "GET",
          path: "/operator/v1/me",
          address: "127.0.0.1",
          protocol: "http"
        })

        const lines = Effect.sync(() => linesOf(folder))
        const logged = yield* eventually(lines, (all) => all.some(({ path }) => path === "/operator/v1/me"))
        const line = logged.find(({ path }) => path === String.raw`/v1/a"b\c]`)
        assert.deepInclude(line, { address: "127.0.0.1", method: "GET", status: 200 })
        assert.notInclude(readFileSync(logOf(folder), "utf8"), "Ana")
      }).pipe(Effect.scoped)
    )
  })
}

interface Received {
  readonly listener: string
  readonly method: string | undefined
  readonly path: string | undefined
  readonly address: string | ReadonlyArray<string> | undefined
  readonly protocol: string | ReadonlyArray<string> | undefined
}

/** A listener that answers everything with 200. */
const listening = (listener: string, got: Array<Received>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<Http.Server>((resolve) => {
            const server = Http.createServer(({ headers, method, url }, response) => {
              const address = headers["x-forwarded-for"]
              got.push({ listener, method, path: url, address, protocol: headers["x-forwarded-proto"] })
              response.end("{}")
            }).listen(0, "127.0.0.1", () => resolve(server))
          })
      ),
      (server) =>
        Effect.promise(() => {
          server.closeAllConnections()
          return new Promise((resolve) => server.close(resolve))
        })
    ),
    (server) => (server.address() as { readonly port: number }).port
  )

/** The status of a request whose path is sent as it stands. */
const answered = (url: string, method: string, headers: Http.OutgoingHttpHeaders = {}) =>
  Effect.promise(
    () =>
      new Promise<number | undefined>((resolve) => {
        const [, port, path] = /^http:\/\/127\.0\.0\.1:(\d+)(.*)$/.exec(url)!
        Http.request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode))
        })
          .on("error", () => resolve(undefined))
          .end()
      })
  )

/** Lines of the log that are of requests: each is JSON. */
const linesOf = (folder: string): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  readFileSync(logOf(folder), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
