/** Answers to reads: validators and compression. */
import { assert, describe, layer, it as test } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { gunzipSync } from "node:zlib"
import { makeCompress, MIN_COMPRESSED_BYTES } from "../../../src/http/pipeline/Compression.ts"
import { created, retrieve } from "../../support/ChargeRequests.ts"
import { operated, simulated } from "../../support/Money.ts"
import { eventually } from "../../support/Receiver.ts"
import { gauge, raw } from "../../support/RawConnection.ts"
import { type CallOptions, TestService } from "../../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("Reads", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  it.effect("ADD-4: a larger answer is sent as gzip to who accepts it, and reads the same", () =>
    Effect.gen(function* () {
      const { call, operate } = yield* TestService
      const { accountId, key } = yield* caller
      yield* Effect.forEach(Array.from({ length: 12 }), (_, index) => created(key, { reference: `é${index}` }))
      for (const [ask, path] of [
        [call, "/v1/charges"],
        [operate, `/operator/v1/charges?account_id=${accountId}`]
      ] as const) {
        const plain = yield* ask("GET", path, { key })
        assert.isAbove(plain.text.length, MIN_COMPRESSED_BYTES)
        assert.deepStrictEqual([plain.headers["content-encoding"], plain.headers.vary], [undefined, "accept-encoding"])
        for (const [accepted, encoding] of [
          ["br, gzip", "gzip"],
          ["br, gzip;q=0", undefined],
          ["br", undefined]
        ] as const) {
          const { headers } = yield* ask("HEAD", path, { key, headers: { "accept-encoding": accepted } })
          assert.strictEqual(headers["content-encoding"], encoding, accepted)
        }
      }
      const packed = yield* raw("/v1/charges", `gzip\r\nx-api-key: ${key}`)
      assert.deepStrictEqual(
        JSON.parse(gunzipSync(packed).toString()),
        (yield* call("GET", "/v1/charges", { key })).body
      )
      const small = yield* call("GET", "/v1/charges?limit=1", { key, headers: { "accept-encoding": "gzip" } })
      assert.deepStrictEqual([small.headers["content-encoding"], small.headers.vary], [undefined, undefined])
      yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
    })
  )

  it.effect("ADD-5: a single resource has an `ETag`, and is 304 for who has it until it changes", () =>
    Effect.gen(function* () {
      const { call, operate } = yield* TestService
      const { key } = yield* caller
      const { id } = yield* created(key)
      for (const [ask, path] of [
        [call, `/v1/charges/${id}`],
        [call, "/v1/balance"],
        [call, "/v1/account"],
        [operate, `/operator/v1/charges/${id}`]
      ] as const) {
        const asked = (options: CallOptions = {}) => ask("GET", path, { key, ...options })
        const { headers, text } = yield* asked()
        const etag = String(headers.etag)
        assert.match(etag, /^W\/"[\w-]{22}"$/)
        const unchanged = yield* asked({ headers: { "if-none-match": `"x", ${etag}` } })
        assert.deepStrictEqual([unchanged.status, unchanged.text, unchanged.headers.etag], [304, "", etag])
        assert.isString(unchanged.headers["x-request-id"])
        const other = yield* asked({ headers: { "if-none-match": '"x"' } })
        assert.deepStrictEqual([other.status, other.text], [200, text])
      }
      const { headers } = yield* retrieve(key, id)
      yield* simulated<Charge>(`/charges/${id}/pay`)
      const paid = yield* call<Charge>("GET", `/v1/charges/${id}`, {
        key,
        headers: { "if-none-match": String(headers.etag) }
      })
      assert.deepStrictEqual([paid.status, paid.body.status], [200, "paid"])
      const list = yield* call("GET", "/v1/charges", { key, headers: { "if-none-match": "*" } })
      assert.deepStrictEqual([list.status, list.headers.etag], [200, undefined])
      const missing = yield* call("GET", "/v1/charges/x", { key, headers: { "if-none-match": "*" } })
      assert.deepStrictEqual([missing.status, missing.headers.etag], [404, undefined])
      const log = yield* eventually(
        operated<{ data: ReadonlyArray<{ status: number }> }>("GET", "/requests?limit=100"),
        ({ data }) => data.some(({ status }) => status === 304)
      )
      assert.isNotEmpty(log.data)
    })
  )
})

describe("makeCompress", () => {
  test("compresses so many at once, and hands back what is beyond it without waiting", async () => {
    const compress = makeCompress(2)
    const text = "x".repeat(100_000)
    const compressed = () => new Promise<Buffer | undefined>((resolve) => compress(text, resolve))
    const two = [compressed(), compressed()]
    let third: unknown = "not called"
    compress(text, (bytes) => {
      third = bytes
    })
    assert.isUndefined(third)
    for (const bytes of await Promise.all(two)) assert.strictEqual(gunzipSync(bytes!).toString(), text)
    assert.isDefined(await compressed(), "there is room again")
  })
})
