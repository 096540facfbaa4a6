/** Request bodies: JSON, their size, and how HTTP may send them. */
import { assert, describe, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { gzipSync } from "node:zlib"
import { assertRefused, create, type ErrorBody, listed, someCharge } from "../../support/ChargeRequests.ts"
import { type CallOptions, newKey, TestService } from "../../support/TestService.ts"

import { exchange } from "../../support/RawConnection.ts"

const LIMIT = 256 * 1024

/** An accepted body of exactly this many bytes. */
const bodyOf = (bytes: number): string => {
  const text = JSON.stringify({ ...someCharge, padding: "" })
  return text.replace('"padding":""', `"padding":"${"x".repeat(bytes - Buffer.byteLength(text))}"`)
}

layer(TestService.layer({}), { excludeTestServices: true })("Request bodies", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  const post = (options: CallOptions) =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      return yield* call<Charge & ErrorBody>("POST", "/v1/charges", { key, idempotencyKey: newKey(), ...options })
    })

  describe("ERR-5: malformed JSON, or a body that is not an object: 400 `VALIDATION_ERROR` without `details`", () => {
    it.effect("says which", () =>
      Effect.gen(function* () {
        for (const [body, message] of [
          [undefined, "The request body is empty. It must be a JSON object."],
          ["[]", "The request body must be a JSON object, got a list of 0."],
          ["amount=1000&customer[name]=Ana", "The request body is a form. It must be JSON, sent as application/json."],
          ["--b\r\nContent-Disposition: x", "The request body is a form. It must be JSON, sent as application/json."],
          ['{"amount":1000,}', "The request body is not JSON, at line 1 column 16."],
          ['{\n  "secret": hush}', "The request body is not JSON."],
          ['{"amount":1000', "The request body is JSON that ends too early."],
          ['{"amount":', "The request body is JSON that ends too early."],
          ['{"customer":{"name":"Ana', "The request body is JSON that ends too early."]
        ] as const) {
          assert.strictEqual((yield* post({ body })).body.message, message)
        }
      })
    )

    it.effect.each([
      { name: "no body", body: undefined },
      { name: "an empty body", body: "" },
      { name: "white space", body: "  \n" },
      { name: "an array", body: "[]" },
      { name: "an array with a request inside", body: JSON.stringify([someCharge]) },
      { name: "a string", body: '"x"' },
      { name: "null", body: "null" },
      { name: "a number", body: "1" },
      { name: "true", body: "true" },
      { name: "half an object", body: '{"amount":1000' },
      { name: "two objects", body: "{}{}" },
      { name: "a trailing comma", body: '{"amount":1000,}' },
      { name: "a comment", body: "{}//" },
      { name: "single quotes", body: "{'amount':1000}" },
      { name: "NaN", body: '{"amount":NaN}' },
      { name: "a form", body: "amount=1000" },
      { name: "XML", body: "<charge/>" },
      { name: "bytes that are no text", body: new Uint8Array([0xff, 0xfe, 0x00, 0x80]) },
      { name: "a hundred thousand brackets", body: "[".repeat(100_000) }
    ])("$name", ({ body }) =>
      Effect.gen(function* () {
        assertRefused(yield* post({ body }), "VALIDATION_ERROR")
      })
    )
  })

  describe("API-1: Request bodies are JSON, whatever the content-type says", () => {
    it.effect.each([
      "application/json",
      "application/json; charset=utf-8",
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "nonsense",
      undefined
    ])("%s", (contentType) =>
      Effect.gen(function* () {
        const answer = yield* post({ body: someCharge, headers: { "content-type": contentType } })
        assert.strictEqual(answer.status, 201, answer.text)
      })
    )
  })

  describe("ERR-6: body over 256 KiB: 413 `PAYLOAD_TOO_LARGE`", () => {
    it.effect.each([false, true])("256 KiB exactly is taken (chunked: %s)", (chunked) =>
      Effect.gen(function* () {
        const answer = yield* post({ body: bodyOf(LIMIT), chunked })
        assert.strictEqual(answer.status, 201, answer.text)
      })
    )

    it.effect.each([false, true])("256 KiB and one byte is not (chunked: %s)", (chunked) =>
      Effect.gen(function* () {
        assertRefused(yield* post({ body: bodyOf(LIMIT + 1), chunked }), "PAYLOAD_TOO_LARGE")
      })
    )

    it.effect("bytes count, not characters", () =>
      Effect.gen(function* () {
        assertRefused(yield* post({ body: `{"x":"${"é".repeat(LIMIT / 2)}"}` }), "PAYLOAD_TOO_LARGE")
      })
    )

    it.effect("the answer comes however much is still being sent, and the next request is answered", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        for (const chunked of [false, true]) {
          const ask = (key: string) =>
            call("POST", "/v1/charges", { key, idempotencyKey: newKey(), chunked, body: "x".repeat(8 * 1024 * 1024) })
          assertRefused(yield* ask(key), "PAYLOAD_TOO_LARGE")
          assertRefused(yield* ask("x"), "UNAUTHORIZED")
          assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
        }
      })
    )

    it.effect("a route without a body ignores one", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        assert.strictEqual((yield* call("GET", "/v1/account", { key, body: bodyOf(LIMIT + 1) })).status, 200)
        assert.strictEqual((yield* call("GET", "/v1/charges", { key, body: "{" })).status, 200)
        assertRefused(yield* call("POST", "/v1/nothing", { key, body: bodyOf(LIMIT + 1) }), "NOT_FOUND")
        assertRefused(yield* call("PUT", "/v1/charges", { key, body: bodyOf(LIMIT + 1) }), "METHOD_NOT_ALLOWED")
      })
    )

    it.effect("nothing is created, and its key is free", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const idempotencyKey = newKey()
        const ask = (body: string) => call("POST", "/v1/charges", { key, idempotencyKey, body })
        assertRefused(yield* ask(bodyOf(LIMIT + 1)), "PAYLOAD_TOO_LARGE")
        assert.deepStrictEqual((yield* listed(key)).data, [])
        const answer = yield* ask(bodyOf(LIMIT))
        assert.deepStrictEqual([answer.status, answer.headers["idempotent-replayed"]], [201, undefined])
      })
    )
  })

  describe("ERR-16: a body that is not UTF-8 is `VALIDATION_ERROR` without `details`, and nothing is stored", () => {
    const named = (name: string) => JSON.stringify({ ...someCharge, customer: { ...someCharge.customer, name } })
    const withBytes = (...bytes: ReadonlyArray<number>) =>
      Buffer.concat(
        named("Jo|o")
          .split("|")
          .flatMap((part, index) => (index === 0 ? [Buffer.from(part)] : [Buffer.from(bytes), Buffer.from(part)]))
      )

    it.effect.each([
      { name: "Latin-1", body: withBytes(0xe3) },
      { name: "half a character", body: withBytes(0xc3) },
      { name: "a character in too many bytes", body: withBytes(0xc0, 0xaf) },
      { name: "half of a surrogate pair", body: withBytes(0xed, 0xa0, 0x80) },
      { name: "beyond the last character", body: withBytes(0xf4, 0x90, 0x80, 0x80) },
      { name: "UTF-16", body: Buffer.from(`\u{feff}${named("João")}`, "utf16le") },
      { name: "the last byte", body: Buffer.concat([Buffer.from(named("João")), Buffer.from([0xff])]) }
    ])("$name", ({ body }) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const answer = yield* call<Charge & ErrorBody>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body })
        assertRefused(answer, "VALIDATION_ERROR")
        assert.match(answer.body.message, /UTF-8/)
        assert.deepStrictEqual((yield* listed(key)).data, [])
      })
    )

    it.effect("on every route: a payout, a webhook's secret, and an operator's", () =>
      Effect.gen(function* () {
        const { call, operate } = yield* TestService
        const { accountId, key } = yield* caller
        const latin1 = (text: string) => Buffer.from(text, "latin1")
        const webhook = latin1(
          '{"url":"https://example.com/","events":["charge.pix.paid"],"secret":"\u00e7-secret-of-this"}'
        )
        for (const answer of [
          yield* call("POST", "/v1/webhooks", { key, body: webhook }),
          yield* call("POST", "/v1/payouts", {
            key,
            idempotencyKey: newKey(),
            body: latin1('{"description":"\u00e7"}')
          }),
          yield* operate("POST", `/operator/v1/accounts/${accountId}/applications`, {
            body: latin1('{"name":"\u00e7"}')
          })
        ]) {
          assertRefused(answer, "VALIDATION_ERROR")
          assert.match(String(answer.body["message"]), /UTF-8/)
        }
        assert.deepStrictEqual((yield* call("GET", "/v1/webhooks", { key })).body["data"], [])
      })
    )

    it.effect("a byte order mark is ignored", () =>
      Effect.gen(function* () {
        const answer = yield* post({ body: `\u{feff}${named("João")}` })
        assert.strictEqual(answer.status, 201, answer.text)
        assert.strictEqual(answer.body.customer?.name, "João")
      })
    )

    it.effect("IDEM-4: a replay is answered, whatever the body", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const answer = yield* create(key, {}, "12345678")
        const again = yield* call("POST", "/v1/charges", { key, idempotencyKey: "12345678", body: withBytes(0xe3) })
        assert.deepStrictEqual([again.status, again.body["id"]], [201, answer.body.id])
      })
    )
  })

  describe("ERR-17: a `Content-Encoding` other than `identity` is `VALIDATION_ERROR` with its name", () => {
    const encodings = ["gzip", "br", "deflate", "x", "identity, gzip"]
    it.effect.each(encodings)("%s", (encoding) =>
      Effect.gen(function* () {
        const { call, operate } = yield* TestService
        const { key } = yield* caller
        const headers = { "content-encoding": encoding }
        for (const body of [JSON.stringify(someCharge), gzipSync(JSON.stringify(someCharge))]) {
          const answer = yield* call("POST", "/v1/charges", { key, idempotencyKey: newKey(), body, headers })
          assertRefused(answer, "VALIDATION_ERROR", ["Content-Encoding"])
          assertRefused(yield* operate("POST", "/operator/v1/accounts", { body, headers }), "VALIDATION_ERROR", [
            "Content-Encoding"
          ])
        }
        assert.deepStrictEqual((yield* listed(key)).data, [])
      })
    )

    it.effect.each(["identity", " Identity ", ""])("not '%s'", (encoding) =>
      Effect.gen(function* () {
        const answer = yield* post({ body: someCharge, headers: { "content-encoding": encoding } })
        assert.strictEqual(answer.status, 201, answer.text)
      })
    )
  })

  describe("other HTTP that is allowed", () => {
    const ask = (lines: ReadonlyArray<string>, body = "") =>
      Effect.flatMap(TestService, ({ publicUrl }) => exchange(publicUrl, `${lines.join("\r\n")}\r\n\r\n${body}`))

    it.effect.each([
      ["chunked", "201"],
      [" Chunked", "201"],
      ["gzip, chunked", "400"],
      ["identity, chunked", "400"]
    ])("ERR-17: of transfer codings `chunked` alone, not another one before it: '%s'", ([coding, status]) =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const body = JSON.stringify(someCharge)
        const text = yield* ask(
          [
            "POST /v1/charges HTTP/1.1",
            "host: x",
            `x-api-key: ${key}`,
            `idempotency-key: ${newKey()}`,
            `transfer-encoding: ${coding}`,
            "connection: close"
          ],
          `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
        )
        assert.match(text, new RegExp(`^HTTP/1.1 ${status} `))
        if (status === "400") assert.include(text, '"details":["Transfer-Encoding"]')
      })
    )

    it.effect("a body announced with `Expect: 100-continue`", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const body = JSON.stringify(someCharge)
        const text = yield* ask(
          [
            "POST /v1/charges HTTP/1.1",
            "host: x",
            "connection: close",
            "expect: 100-continue",
            `x-api-key: ${key}`,
            "idempotency-key: 12345678",
            `content-length: ${body.length}`
          ],
          body
        )
        assert.match(text, /HTTP\/1\.1 201 /)
        assert.lengthOf((yield* listed(key)).data, 1)
      })
    )

    it.effect("a path as proxies write it, with host", () =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        const { key } = yield* caller
        const text = yield* ask([
          `GET ${publicUrl}/v1/account HTTP/1.1`,
          "host: x",
          "connection: close",
          `x-api-key: ${key}`
        ])
        assert.match(text, /^HTTP\/1\.1 200 /)
      })
    )

    it.effect("an upgrade of the protocol is ignored", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const text = yield* ask([
          "GET /v1/account HTTP/1.1",
          "host: x",
          "connection: upgrade, close",
          "upgrade: websocket",
          `x-api-key: ${key}`
        ])
        assert.match(text, /^HTTP\/1\.1 200 /)
      })
    )

    it.effect("a caller that disconnects in the middle of its body: nothing is created, and its key is free", () =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        const { key } = yield* caller
        const head = [
          "POST /v1/charges HTTP/1.1",
          "host: x",
          `x-api-key: ${key}`,
          "idempotency-key: 12345678",
          "content-length: 1000"
        ]
        yield* exchange(publicUrl, `${head.join("\r\n")}\r\n\r\n{"amount":1000`, "hang up")
        assert.deepStrictEqual((yield* listed(key)).data, [])
        const answer = yield* create(key, {}, "12345678")
        assert.deepStrictEqual([answer.status, answer.headers["idempotent-replayed"]], [201, undefined])
      })
    )
  })
})
