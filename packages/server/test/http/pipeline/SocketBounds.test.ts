/** Bounds of one connection: pipelined requests, unread answers, bodies, time. Counts and bytes are asserted, never times. */
import { assert, it, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeAuthority } from "@pix-payments/psp-double/Certificates"
import { connect as connectTls, createServer as createTlsServer } from "node:tls"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import * as Net from "node:net"
import { refuseOn } from "../../../src/http/pipeline/LowLevelRefusals.ts"
import { MAX_BUFFERED_BYTES } from "../../../src/http/pipeline/RequestBody.ts"
import { BoundedServer } from "../../../src/http/pipeline/SocketBounds.ts"
import { create, listed } from "../../support/ChargeRequests.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { gauge, closing, open } from "../../support/RawConnection.ts"

const AT_ONCE = 64
const CONNECTIONS = 400

layer(
  TestService.layer({
    settings: { maxRequestsInFlight: AT_ONCE, maxConnections: CONNECTIONS, answerTimeoutMs: 400 }
  }),
  { excludeTestServices: true }
)("Bounds", (it) => {
  it.effect("1,500 pipelined requests: the connection is closed, and no more is sent than its bound", () =>
    Effect.gen(function* () {
      const { operatorUrl, publicUrl } = yield* TestService
      for (const [listener, url, path] of [
        ["public", publicUrl, "/openapi.json"],
        ["operator", operatorUrl, "/operator/openapi.json"]
      ] as const) {
        const name = `http_connections_cut_total{listener="${listener}",reason="pipelined"}`
        const before = yield* gauge(name)
        const socket = yield* open(url)
        let received = 0
        socket.on("data", (chunk: Buffer) => {
          received += chunk.length
        })
        const closed = closing(socket)
        socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(1500))
        yield* closed
        assert.strictEqual((yield* gauge(name)) - before, 1)
        assert.isBelow(received, 16 * 500_000)
      }
      yield* eventually(gauge('http_answers_unsent{listener="public"}'), (count) => count === 0)
      yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
    }).pipe(Effect.scoped)
  )

  it.effect("half-sent bodies have 64 MiB together: the oldest are given up, and whole ones are taken", () =>
    Effect.gen(function* () {
      const { call, makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      // A known key takes no slot while its body arrives.
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
      const half = Buffer.alloc(255 * 1024, "x")
      const shed = gauge('http_requests_shed_total{listener="public",reason="bodies"}')
      const before = yield* shed
      const sockets = yield* Effect.forEach(Array.from({ length: 300 }), () => open(publicUrl), { concurrency: 50 })
      for (const socket of sockets) {
        socket.write(
          `POST /v1/charges HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-length: ${256 * 1024}\r\n\r\n`
        )
        socket.write(half)
      }
      const most = Math.floor(MAX_BUFFERED_BYTES / half.length)
      yield* eventually(shed, (count) => count - before >= 300 - most)
      assert.strictEqual((yield* create(key)).status, 201)
      yield* eventually(
        Effect.sync(() => sockets.filter(({ destroyed }) => destroyed).length),
        (closed) => closed >= 300 - most
      )
    }).pipe(Effect.scoped)
  )

  it.effect("a few pipelined requests are answered in their order", () =>
    Effect.gen(function* () {
      const { publicUrl } = yield* TestService
      const socket = yield* open(publicUrl)
      let text = ""
      socket.on("data", (chunk) => {
        text += String(chunk)
      })
      const paths = ["/v1/account", "/docs", "/x", "/v1/charges"]
      socket.write(
        [...paths, "/last"]
          .map((path, index) => `GET ${path} HTTP/1.1\r\nhost: x\r\nx-request-id: request-${index}\r\n\r\n`)
          .join("")
      )
      yield* eventually(
        Effect.sync(() => text),
        (so) => so.includes("request-4")
      )
      assert.deepStrictEqual(
        [...text.matchAll(/^x-request-id: (.*)$/gim)].map(([, id]) => id?.trim()),
        [0, 1, 2, 3, 4].map((index) => `request-${index}`)
      )
    }).pipe(Effect.scoped)
  )

  it.effect("malformed HTTP behind a request in progress is answered after that request", () =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const socket = yield* open(publicUrl)
      let text = ""
      socket.on("data", (chunk) => {
        text += String(chunk)
      })
      const closed = closing(socket)
      socket.write(`GET /v1/account HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\nno http\r\n\r\n`)
      yield* closed
      assert.deepStrictEqual(
        [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
        ["200", "400"]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("a request that Node refuses ends its connection, whatever its caller does", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operatorUrl, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      for (const [listener, url] of [
        ["public", publicUrl],
        ["operator", operatorUrl]
      ] as const) {
        const connections = gauge(`http_connections{listener="${listener}"}`)
        for (const bytes of [
          "no http\r\n\r\n",
          "CONNECT example.com:443 HTTP/1.1\r\nhost: localhost\r\n\r\n",
          "GET /health/live HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n"
        ]) {
          const before = yield* connections
          // Those keep their half open, or reset the connection while it is answered.
          const kept = yield* Effect.forEach(Array.from({ length: 20 }), () => open(url, { allowHalfOpen: true }))
          for (const socket of kept) socket.write(bytes)
          const reset = yield* Effect.forEach(Array.from({ length: 20 }), () => open(url))
          for (const socket of reset) socket.write(bytes, () => socket.resetAndDestroy())
          yield* eventually(connections, (count) => count <= before)
          for (const socket of kept) assert.isFalse(socket.writableEnded, "nothing was closed on this side")
        }
      }
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
    }).pipe(Effect.scoped)
  )

  it.effect("a body that breaks off in its chunks is answered 400, after the answers before it", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorToken, operatorUrl, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const first = `GET /v1/account HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n\r\n`
      for (const [url, before, statuses] of [
        [publicUrl, "", ["400"]],
        [publicUrl, first, ["200", "400"]],
        [operatorUrl, "", ["400"]]
      ] as const) {
        const socket = yield* open(url)
        let text = ""
        socket.on("data", (chunk) => {
          text += String(chunk)
        })
        const closed = closing(socket)
        const path = url === publicUrl ? "/v1/charges" : "/operator/v1/accounts"
        socket.write(
          `${before}POST ${path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${key}\r\n` +
            `x-operator-token: ${operatorToken}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`
        )
        yield* closed
        assert.deepStrictEqual(
          [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
          [...statuses]
        )
      }
      yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
    }).pipe(Effect.scoped)
  )

  it.effect("an incomplete request is answered 408 after its time, and is not executed when the rest arrives", () =>
    Effect.gen(function* () {
      const times = { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 }
      const limits = { maxConnections: 10, answerTimeoutMs: 400, isStopping: () => false, prepare: () => true }
      const server = yield* Effect.acquireRelease(
        Effect.sync(() => new BoundedServer(times, limits, () => {})),
        (server) => Effect.sync(() => server.close())
      )
      refuseOn(server)
      let completed = 0
      server.on("request", (request) => {
        request.resume()
        request.on("end", () => completed++)
      })
      yield* Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening"))
      for (const [begin, rest] of [
        ["POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{", "23456789}"],
        ["GET / HTTP/1.1\r\nhost: x\r\n", "\r\n"]
      ] as const) {
        const socket = yield* open(`http://127.0.0.1:${(server.address() as Net.AddressInfo).port}`, {
          allowHalfOpen: true
        })
        let text = ""
        socket.on("data", (chunk) => {
          text += String(chunk)
          socket.write(rest)
        })
        socket.on("end", () => socket.destroySoon())
        const closed = closing(socket)
        socket.write(begin)
        yield* closed
        assert.match(text, /^HTTP\/1\.1 408 /)
        yield* eventually(
          Effect.sync(() => server.open),
          (count) => count === 0
        )
        assert.strictEqual(completed, 0)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("an answer that is not read closes its connection, with TLS as well", () =>
    Effect.gen(function* () {
      const authority = yield* Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
        Effect.promise(() => makeAuthority("Bank", nowMs))
      )
      const { cert, key } = yield* Effect.promise(() => authority.issue({ name: "server", usage: "server" }))
      const cuts: Array<string> = []
      const limits = { maxConnections: 10, answerTimeoutMs: 50, isStopping: () => false, prepare: () => true }
      const [server, listening] = yield* Effect.acquireRelease(
        Effect.sync(
          () => [new BoundedServer({}, limits, (cut) => cuts.push(cut)), createTlsServer({ cert, key })] as const
        ),
        ([server, listening]) => Effect.sync(() => void (server.emit("close"), listening.close()))
      )
      listening.on("secureConnection", (socket) => void server.emit("connection", socket))
      // More than the buffers of two sockets.
      server.on("request", (_, response) => void response.end("x".repeat(64 << 20)))
      yield* Effect.promise(() => once(listening.listen(0, "127.0.0.1"), "listening"))
      const socket = connectTls({
        port: (listening.address() as Net.AddressInfo).port,
        ca: authority.cert,
        host: "127.0.0.1"
      })
      socket.on("error", () => {})
      yield* Effect.promise(() => once(socket, "secureConnect"))
      socket.pause()
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
      yield* eventually(
        Effect.sync(() => [cuts, server.open] as const),
        ([{ length }, count]) => length > 0 && count === 0
      )
      assert.deepStrictEqual(cuts, ["unread"])
      socket.destroy()
    }).pipe(Effect.scoped)
  )

  it.effect("nothing behind a request whose answer closes the connection is served", () =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const posted = JSON.stringify({ amount: 100, reference: "behind" })
      const behind =
        `POST /v1/charges HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n` +
        `idempotency-key: ${randomUUID()}\r\ncontent-length: ${posted.length}\r\n\r\n${posted}`
      for (const first of [
        "GET /v1/account HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",
        `POST /v1/charges HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\nx-api-key: ${key}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`
      ]) {
        const socket = yield* open(publicUrl)
        let text = ""
        socket.on("data", (chunk) => (text += String(chunk)))
        const closed = closing(socket)
        socket.write(first + behind)
        yield* closed
        assert.deepStrictEqual(
          [...text.matchAll(/HTTP\/1\.[01] (\d+)/g)].map(([, status]) => status),
          ["400"]
        )
      }
      assert.deepStrictEqual((yield* listed(key)).data, [])
    }).pipe(Effect.scoped)
  )

  it.effect("one connection more than `MAX_CONNECTIONS` is closed at once", () =>
    Effect.gen(function* () {
      const { call, makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
      const cut = gauge('http_connections_cut_total{listener="public",reason="connections"}')
      const before = yield* cut
      const sockets = yield* Effect.forEach(Array.from({ length: CONNECTIONS + 50 }), () => open(publicUrl), {
        concurrency: 50
      })
      yield* eventually(
        Effect.sync(() => sockets.filter(({ destroyed }) => destroyed).length),
        (closed) => closed >= 50
      )
      assert.isAtMost(yield* gauge('http_connections{listener="public"}'), CONNECTIONS)
      assert.isAtLeast((yield* cut) - before, 50)
    }).pipe(Effect.scoped)
  )
})

it.live("`MAX_CONNECTIONS` holds in each of several processes that share the ports", () =>
  Effect.gen(function* () {
    const service = yield* startProcess({
      DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
      DATA_DIR: yield* temporaryFolder,
      OPERATOR_TOKEN: "the operator's token of these tests",
      SHUTDOWN_DELAY_MS: "0",
      DATABASE_CONNECTIONS: "4",
      PROCESSES: "2",
      MAX_CONNECTIONS: "5"
    })
    const sockets = yield* Effect.forEach(Array.from({ length: 40 }), () => open(service.publicUrl))
    yield* eventually(
      Effect.sync(() => sockets.filter(({ destroyed }) => destroyed).length),
      (closed) => closed >= 30
    )
  }).pipe(Effect.scoped)
)
