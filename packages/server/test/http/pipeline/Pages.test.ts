/** Pages: their compression, their cache validators, and the bytes that slow readers are sent. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { eventually } from "../../support/Receiver.ts"
import { TestService, whenFree } from "../../support/TestService.ts"
import { gauge, raw, closing, open } from "../../support/RawConnection.ts"

const AT_ONCE = 64
const PAGES = AT_ONCE / 16
const CONNECTIONS = 400
const PAGE_BYTES = 64 * 1024 * 1024

// `SocketBounds.test.ts` has readers whose time is over: these have enough, also on a machine that is busy.
layer(
  TestService.layer({
    settings: { maxRequestsInFlight: AT_ONCE, maxConnections: CONNECTIONS, answerTimeoutMs: 300_000 }
  }),
  { excludeTestServices: true }
)("Bounds", (it) => {
  it.effect("pages: 250 slow readers are sent no more than the bytes of a window, and the API continues", () =>
    Effect.gen(function* () {
      const { call, makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const { headers } = yield* call("HEAD", "/docs/reference.js")
      const length = Number(headers["content-length"])
      assert.isAbove(length, 2_000_000)
      const most = Math.floor(PAGE_BYTES / length)
      const before = process.memoryUsage().external
      // An answer that the operating system takes as a whole has been sent, and leaves room for another one.
      const judged = Effect.zipWith(
        gauge('http_requests_shed_total{listener="public",reason="pages"}'),
        gauge('http_requests_total{listener="public",method="GET",route="/docs/reference.js",status="200"}'),
        (shed, sent) => shed + sent
      )
      const judgedBefore = yield* judged
      const slow = yield* Effect.forEach(Array.from({ length: 250 }), () => open(publicUrl), { concurrency: 50 })
      // Asked for in its largest form.
      for (const socket of slow) {
        socket.pause()
        socket.write("GET /docs/reference.js HTTP/1.1\r\nhost: x\r\n\r\n")
      }
      yield* eventually(judged, (count) => count - judgedBefore >= 250 - most)
      assert.isAtMost(yield* gauge('http_requests_in_flight{listener="public"}'), PAGES)
      assert.isBelow(process.memoryUsage().external - before, 16 * 1024 * 1024, "250 copies would be 800 MB")
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
      for (const socket of slow) socket.destroy()
      assert.strictEqual((yield* whenFree(call("GET", "/docs"))).status, 200)
      yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
    }).pipe(Effect.scoped)
  )
})

// Long enough to read megabytes on a machine that is busy.
layer(TestService.layer({ settings: { maxRequestsInFlight: AT_ONCE, answerTimeoutMs: 2000 } }), {
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
        '"url":"/docs/contract.json"}],"authentication":{"preferredSecurityScheme":"x-api-key"},"proxyUrl":""'
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
      assert.match(metrics.text, /http_requests_total\{[^}]*route="\/docs",status="200"\} \d+/)
      const log = yield* eventually(
        operate<{ data: ReadonlyArray<{ route: string }> }>("GET", "/operator/v1/requests?limit=100"),
        ({ body }) => body.data.some(({ route }) => route === "GET /docs")
      )
      assert.strictEqual(log.status, 200)
    })
  )

  it.effect("unread answers keep their slots until their time is over, then their connection is closed", () =>
    Effect.gen(function* () {
      const { call, publicUrl } = yield* TestService
      yield* call("GET", "/docs/reference.js")
      const unread = 'http_connections_cut_total{listener="public",reason="unread"}'
      const cut = yield* gauge(unread)
      const shed = yield* gauge('http_requests_shed_total{listener="public",reason="pages"}')
      const socket = yield* open(publicUrl)
      const closed = closing(socket)
      socket.pause()
      // More than the kernel buffers for a client that does not read.
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
