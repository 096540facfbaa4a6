/**
 * What one caller or one connection may take: places for requests by account, pages, connections, pipelined requests, and
 * answers that nobody reads. Counts and bytes are asserted, never times.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { once } from "node:events"
import * as Net from "node:net"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import * as InFlight from "../../src/http/InFlight.ts"
import { codeAnswer, errorAnswer } from "../../src/http/Answer.ts"
import { refuseOn } from "../../src/http/LowLevelRefusals.ts"
import { MAX_BUFFERED_BYTES } from "../../src/http/RequestBody.ts"
import { BoundedServer } from "../../src/http/SocketBounds.ts"
import { assertRefused, create } from "../support/ChargeRequests.ts"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

describe("slots for requests", () => {
  const taken = (slots: InFlight.InFlight, accountId: string | undefined, tries: number) =>
    Array.from({ length: tries }, () => slots.take(accountId)).filter((slot) => slot !== undefined)

  it("alone, an account has all but an eighth; what is left is there for the others", () => {
    const slots = InFlight.make(500)
    assert.lengthOf(taken(slots, "a", 1000), 438)
    assert.lengthOf(taken(slots, "b", 1000), 62)
    assert.isTrue(slots.isFull())
  })

  it("while another has a request in flight, an account has a quarter", () => {
    const slots = InFlight.make(500)
    const [other] = taken(slots, "b", 1)
    assert.lengthOf(taken(slots, "a", 1000), 125)
    assert.lengthOf(taken(slots, "c", 1000), 125)
    slots.release(other!)
    assert.lengthOf(taken(slots, "a", 1), 0, "c is still there")
  })

  it("one that had more than a quarter gets no more until it has less, once another comes", () => {
    const slots = InFlight.make(16)
    const mine = taken(slots, "a", 16)
    assert.lengthOf(mine, 14)
    assert.lengthOf(taken(slots, "b", 1), 1)
    for (const slot of mine.splice(0, 10)) slots.release(slot)
    assert.lengthOf(taken(slots, "a", 1), 0)
    slots.release(mine.pop()!)
    assert.lengthOf(taken(slots, "a", 16), 1)
  })

  it("callers who are not known yet have all but an eighth, and count as their account's once they are", () => {
    const slots = InFlight.make(16)
    const unknown = taken(slots, undefined, 16)
    assert.lengthOf(unknown, 14)
    assert.isTrue(slots.moveTo(unknown[0]!, "b"))
    const may = unknown.slice(1, 8).map((slot) => slots.moveTo(slot, "a"))
    assert.deepStrictEqual(may, [true, true, true, true, false, false, false])
    assert.lengthOf(taken(slots, undefined, 16), 2)
    for (const slot of unknown) slots.release(slot)
    assert.deepStrictEqual([slots.count(), slots.countOf("a"), slots.countOf("b")], [2, 0, 0])
  })

  it("there is always one slot for each", () => {
    const slots = InFlight.make(1)
    assert.lengthOf(taken(slots, "a", 2), 1)
    assert.lengthOf(taken(slots, "b", 2), 0)
  })
})

it("ERR-4: `details` has at most 100 entries", () => {
  const details = Array.from({ length: 130_900 }, (_, index) => `events.${index}`)
  const { body } = errorAnswer({ code: "VALIDATION_ERROR", message: "", details })
  assert.lengthOf((body as { readonly details: ReadonlyArray<string> }).details, 100)
  assert.isUndefined((codeAnswer("NOT_FOUND").body as { readonly details?: unknown }).details)
})

const AT_ONCE = 64
const PAGES = AT_ONCE / 16
const CONNECTIONS = 400
const PAGE_BYTES = 64 * 1024 * 1024

layer(
  TestService.layer({
    settings: { maxRequestsInFlight: AT_ONCE, maxConnections: CONNECTIONS, answerTimeoutMs: 400 }
  }),
  { excludeTestServices: true }
)("Bounds", (it) => {
  it.effect(
    "ERR-9: an account's slow calls leave room: a quarter while another is in flight, then `SERVICE_UNAVAILABLE`",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { call, makeCaller } = yield* TestService
        const one = yield* makeCaller()
        const other = yield* makeCaller()
        for (const { key } of [one, other]) assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
        const stalled = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        const lock = yield* Effect.forkChild(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`LOCK TABLE charges IN ACCESS EXCLUSIVE MODE`
              yield* Deferred.succeed(stalled, undefined)
              yield* Deferred.await(release)
            })
          )
        )
        yield* Deferred.await(stalled)
        const asked = (key: string, count: number) =>
          Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(create(key), { startImmediately: true }))
        const others = yield* asked(other.key, 1)
        yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 1)
        const mine = yield* asked(one.key, 40)
        const refused = yield* eventually(
          Effect.sync(() => mine.filter((fiber) => fiber.pollUnsafe() !== undefined)),
          ({ length }) => length === 40 - AT_ONCE / 4
        )
        for (const fiber of refused) {
          const answer = yield* Fiber.join(fiber)
          assertRefused(answer, "SERVICE_UNAVAILABLE")
          assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/)
        }
        assert.strictEqual(yield* gauge('http_requests_in_flight{listener="public"}'), AT_ONCE / 4 + 1)
        assert.strictEqual(
          yield* gauge('http_requests_shed_total{listener="public",reason="account"}'),
          40 - AT_ONCE / 4
        )
        // The other one has a whole quarter too, and a request that needs no locked table is answered.
        others.push(...(yield* asked(other.key, AT_ONCE / 4 - 2)))
        assert.strictEqual((yield* call("GET", "/v1/account", { key: other.key })).status, 200)
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(lock)
        for (const fiber of [...mine, ...others]) {
          if (!refused.includes(fiber)) assert.strictEqual((yield* Fiber.join(fiber)).status, 201)
        }
        yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
      })
  )

  it.effect("the operator listener has the same bound, and its health checks and metrics are outside of it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      const stalled = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const lock = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`LOCK TABLE disputes IN ACCESS EXCLUSIVE MODE`
            yield* Deferred.succeed(stalled, undefined)
            yield* Deferred.await(release)
          })
        )
      )
      yield* Deferred.await(stalled)
      const most = AT_ONCE - AT_ONCE / 8
      const asked = yield* Effect.forEach(Array.from({ length: most + 10 }), () =>
        Effect.forkChild(operate("GET", "/operator/v1/disputes"), { startImmediately: true })
      )
      const refused = yield* eventually(
        Effect.sync(() => asked.filter((fiber) => fiber.pollUnsafe() !== undefined)),
        ({ length }) => length === 10
      )
      for (const fiber of refused) {
        const answer = yield* Fiber.join(fiber)
        assertRefused(answer, "SERVICE_UNAVAILABLE")
        assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/)
      }
      assert.strictEqual((yield* operate("GET", "/health/ready")).status, 200)
      assert.strictEqual(yield* gauge('http_requests_in_flight{listener="operator"}'), most)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(lock)
      for (const fiber of asked) yield* Fiber.join(fiber)
      yield* eventually(gauge('http_requests_in_flight{listener="operator"}'), (count) => count === 0)
    })
  )

  it.effect("pages: 250 slow readers are sent no more than the bytes of a window, and the API goes on", () =>
    Effect.gen(function* () {
      const { call, makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const { headers } = yield* call("HEAD", "/docs/reference.js")
      const length = Number(headers["content-length"])
      assert.isAbove(length, 2_000_000)
      const most = Math.floor(PAGE_BYTES / length)
      const before = process.memoryUsage().external
      const shed = yield* gauge('http_requests_shed_total{listener="public",reason="pages"}')
      const slow = yield* Effect.forEach(Array.from({ length: 250 }), () => open(publicUrl), { concurrency: 50 })
      // Asked for in its largest form.
      for (const socket of slow) {
        socket.pause()
        socket.write("GET /docs/reference.js HTTP/1.1\r\nhost: x\r\n\r\n")
      }
      yield* eventually(
        gauge('http_requests_shed_total{listener="public",reason="pages"}'),
        (count) => count - shed >= 250 - most
      )
      assert.isAtMost(yield* gauge('http_requests_in_flight{listener="public"}'), PAGES)
      assert.isBelow(process.memoryUsage().external - before, 16 * 1024 * 1024, "250 copies would be 800 MB")
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
      assert.strictEqual((yield* call("GET", "/docs")).status, 200)
      yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
    }).pipe(Effect.scoped)
  )

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
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const half = Buffer.alloc(255 * 1024, "x")
      const sockets = yield* Effect.forEach(Array.from({ length: 300 }), () => open(publicUrl), { concurrency: 50 })
      for (const socket of sockets) {
        socket.write(`POST /v1/charges HTTP/1.1\r\nhost: x\r\ncontent-length: ${256 * 1024}\r\n\r\n`)
        socket.write(half)
      }
      const most = Math.floor(MAX_BUFFERED_BYTES / half.length)
      yield* eventually(
        gauge('http_requests_shed_total{listener="public",reason="bodies"}'),
        (count) => count >= 300 - most
      )
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

  it.effect("what is no HTTP behind a request that is under way does not take its answer's place", () =>
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

  it.effect("what no route sees ends its connection, whatever its caller does with it", () =>
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

  it.effect(
    "a request that does not come whole in its time is answered 408, and is not done when the rest comes after all",
    () =>
      Effect.gen(function* () {
        const times = { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 }
        const limits = { maxConnections: 10, answerTimeoutMs: 400, isStopping: () => false, prepare: () => {} }
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

  it.effect("one connection more than `MAX_CONNECTIONS` is closed at once", () =>
    Effect.gen(function* () {
      const { call, makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
      const sockets = yield* Effect.forEach(Array.from({ length: CONNECTIONS + 50 }), () => open(publicUrl), {
        concurrency: 50
      })
      yield* eventually(
        Effect.sync(() => sockets.filter(({ destroyed }) => destroyed).length),
        (closed) => closed >= 50
      )
      assert.isAtMost(yield* gauge('http_connections{listener="public"}'), CONNECTIONS)
      assert.isAtLeast(yield* gauge('http_connections_cut_total{listener="public",reason="connections"}'), 50)
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer({ settings: { maxRequestsInFlight: AT_ONCE, answerTimeoutMs: 300 } }), {
  excludeTestServices: true
})("Pages", (it) => {
  it.effect("pages: compressed, with an `ETag`, kept by browsers, asking no other host", () =>
    Effect.gen(function* () {
      const { call, operate } = yield* TestService
      const page = yield* call("GET", "/docs")
      const [, source = ""] = /<script src="([^"]+)">/.exec(page.text) ?? []
      assert.match(source, /^\/docs\/reference\.js\?v=/)
      assert.notMatch(page.text, /https?:\/\//)
      assert.include(page.headers["content-security-policy"], "connect-src 'self'")
      assert.isBelow(page.text.length, 4096)
      const script = yield* call("GET", source)
      assert.include(
        script.text,
        '"url":"/openapi.json","authentication":{"preferredSecurityScheme":"x-api-key"},"proxyUrl":""'
      )
      assert.match(String(script.headers["cache-control"]), /immutable/)
      for (const stale of ["/docs/reference.js", "/docs/reference.js?v=of-another-release"]) {
        assert.strictEqual((yield* call("GET", stale)).headers["cache-control"], "no-cache")
      }
      for (const path of ["/docs", "/openapi.json", source]) {
        const plain = yield* call("GET", path)
        const etag = String(plain.headers.etag)
        // Weak, because each encoding has other bytes.
        assert.match(etag, /^W\/"[\w-]{22}"$/)
        for (const [accepted, encoding] of [
          ["br, gzip", "br"],
          ["gzip, br;q=0", "gzip"],
          ["deflate", undefined]
        ] as const) {
          const { headers } = yield* call("HEAD", path, { headers: { "accept-encoding": accepted } })
          assert.strictEqual(headers["content-encoding"], encoding)
        }
        const unchanged = yield* call("GET", path, { headers: { "if-none-match": `${etag.slice(2)}, "x"` } })
        assert.deepStrictEqual([unchanged.status, unchanged.text, unchanged.headers.etag], [304, "", etag])
        for (const [name, unpack] of [
          ["br", brotliDecompressSync],
          ["gzip", gunzipSync]
        ] as const) {
          const packed = yield* raw(path, name)
          assert.strictEqual(unpack(packed).toString(), plain.text)
        }
      }
      const metrics = yield* operate("GET", "/metrics")
      assert.match(metrics.text, /http_requests_total\{route="\/docs",status="200"\} \d+/)
      const log = yield* eventually(
        operate<{ data: ReadonlyArray<{ route: string }> }>("GET", "/operator/v1/requests?limit=100"),
        ({ body }) => body.data.some(({ route }) => route === "GET /docs")
      )
      assert.strictEqual(log.status, 200)
    })
  )

  it.effect(
    "answers that nobody reads hold their places until their time is over, then their connection is closed",
    () =>
      Effect.gen(function* () {
        const { call, publicUrl } = yield* TestService
        yield* call("GET", "/docs/reference.js")
        const unread = 'http_connections_cut_total{listener="public",reason="unread"}'
        const cut = yield* gauge(unread)
        const shed = yield* gauge('http_requests_shed_total{listener="public",reason="pages"}')
        const socket = yield* open(publicUrl)
        const closed = closing(socket)
        socket.pause()
        // More than the kernel buffers for one who does not read.
        socket.write("GET /docs/reference.js HTTP/1.1\r\nhost: x\r\n\r\n".repeat(16))
        yield* eventually(gauge(unread), (count) => count - cut === 1)
        yield* eventually(gauge('http_answers_unsent{listener="public"}'), (count) => count === 0)
        yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
        assert.isAtLeast(
          (yield* gauge('http_requests_shed_total{listener="public",reason="pages"}')) - shed,
          16 - PAGES - 2
        )
        socket.resume()
        yield* closed
      }).pipe(Effect.scoped)
  )
})

it.live(
  "`MAX_CONNECTIONS` holds in each of several processes that share the ports",
  () =>
    Effect.gen(function* () {
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(yield* createDatabase()),
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
    }).pipe(Effect.scoped),
  60_000
)

/** A metric's value now. */
const gauge = (name: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.map(operate("GET", "/metrics"), ({ text }) => {
      const line = text.split("\n").find((each) => each.startsWith(`pix_payments_${name} `))
      return Number(line?.split(" ").at(-1))
    })
  )

/** A body as it is sent in an encoding. */
const raw = (path: string, encoding: string) =>
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

/** Waits until a connection is closed, however. */
const closing = (socket: Net.Socket) => {
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
  return Effect.promise(() => closed)
}

/** A connection, closed with the scope. */
const open = (url: string, options: { readonly allowHalfOpen?: boolean } = {}) =>
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
