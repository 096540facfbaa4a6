/** Headers of every answer: the request id and the security headers, also when Node refuses the request. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { created, type ErrorBody, someCharge, someCustomer } from "../../support/ChargeRequests.ts"
import { type Call, type CallOptions, newKey, TestService } from "../../support/TestService.ts"

import { exchange } from "../../support/RawConnection.ts"

const LIMIT = 256 * 1024

/** An accepted body of exactly this many bytes. */
const bodyOf = (bytes: number): string => {
  const text = JSON.stringify({ ...someCharge, padding: "" })
  return text.replace('"padding":""', `"padding":"${"x".repeat(bytes - Buffer.byteLength(text))}"`)
}

layer(TestService.layer({}), { excludeTestServices: true })("Headers of every answer", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  describe("API-7: every answer carries `X-Request-Id`", () => {
    type Asks = (call: Call, key: string, headers: CallOptions["headers"]) => Effect.Effect<unknown>
    const answers: ReadonlyArray<{ readonly status: number; readonly ask: Asks }> = [
      { status: 200, ask: (call, key, headers) => call("GET", "/v1/charges", { key, headers }) },
      { status: 200, ask: (call, _, headers) => call("GET", "/openapi.json", { headers }) },
      { status: 200, ask: (call, _, headers) => call("GET", "/docs", { headers }) },
      {
        status: 201,
        ask: (call, key, headers) =>
          call("POST", "/v1/charges", { key, headers, idempotencyKey: newKey(), body: someCharge })
      },
      { status: 400, ask: (call, key, headers) => call("POST", "/v1/charges", { key, headers }) },
      { status: 400, ask: (call, key, headers) => call("GET", "/v1/charges?limit=0", { key, headers }) },
      { status: 401, ask: (call, _, headers) => call("GET", "/v1/charges", { headers }) },
      { status: 404, ask: (call, key, headers) => call("GET", "/v1/charges/x", { key, headers }) },
      { status: 404, ask: (call, _, headers) => call("GET", "/x", { headers }) },
      { status: 405, ask: (call, _, headers) => call("PUT", "/v1/charges", { headers }) },
      {
        status: 413,
        ask: (call, key, headers) => call("POST", "/v1/charges", { key, headers, body: bodyOf(LIMIT + 1) })
      },
      {
        status: 422,
        ask: (call, key, headers) =>
          call("POST", "/v1/charges", {
            key,
            headers,
            idempotencyKey: newKey(),
            body: { ...someCharge, customer: { ...someCustomer, email: "refuse@simulator.test" } }
          })
      }
    ]

    it.effect.each(answers)("the caller's, when it is valid ($status)", ({ ask, status }) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const seen = { status: 0, ids: [] as Array<unknown> }
        const watched: Call = (method, path, options) =>
          Effect.tap(call<never>(method, path, options), (answer) =>
            Effect.sync(() => {
              seen.status = answer.status
              seen.ids.push(answer.headers["x-request-id"])
            })
          )
        for (const id of ["pedido-1:tentativa.2_x", "a", "z".repeat(128)]) {
          yield* ask(watched, key, { "x-request-id": id })
          assert.deepStrictEqual([seen.status, seen.ids.pop()], [status, id])
        }
        const made = new Set<unknown>()
        for (const id of [undefined, "", " ", "a b", "<script>", "é", "z".repeat(129), "a,b", "-a", "a\tb", '"a"']) {
          yield* ask(watched, key, { "x-request-id": id })
          const given = seen.ids.pop()
          assert.match(String(given), /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
          made.add(given)
        }
        assert.strictEqual(made.size, 11, "every request has its own")
      })
    )

    it.effect.each([
      { name: "no HTTP at all", bytes: "hello\r\n\r\n" },
      { name: "a header without a name", bytes: "GET /v1/charges HTTP/1.1\r\nhost: x\r\n: x\r\n\r\n" },
      {
        name: "two lengths",
        bytes: "POST /v1/charges HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx"
      },
      {
        name: "a length and chunks, as request smuggling does",
        bytes:
          "POST /v1/charges HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
      },
      {
        name: "headers of 20,000 characters",
        status: 431,
        bytes: `GET /v1/charges HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(20_000)}\r\n\r\n`
      }
    ])("what is not HTTP is answered in the same error body: $name", ({ bytes, status = 400 }) =>
      Effect.gen(function* () {
        const { publicUrl } = yield* TestService
        const text = yield* exchange(publicUrl, bytes)
        const [head = "", body = ""] = text.split("\r\n\r\n")
        assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(head, /\r\nx-request-id: [0-9a-f-]{36}(\r\n|$)/i)
        const { code, ...rest } = JSON.parse(body) as ErrorBody
        assert.strictEqual(code, "VALIDATION_ERROR")
        assert.hasAllKeys(rest, ["message"])
      })
    )
  })

  describe("requests that Node refuses get the same error body, a request id and the security headers", () => {
    const refused = [
      {
        name: "no Host",
        lines: ["GET /v1/account HTTP/1.1"],
        status: 400,
        code: "VALIDATION_ERROR",
        details: ["Host"]
      },
      {
        name: "an expectation that nobody meets",
        lines: ["POST /v1/charges HTTP/1.1", "host: localhost", "expect: a-miracle"],
        status: 417,
        code: "VALIDATION_ERROR",
        details: ["Expect"]
      },
      {
        name: "headers that are too large",
        lines: ["GET /v1/account HTTP/1.1", "host: localhost", `x: ${"x".repeat(20_000)}`],
        status: 431,
        code: "VALIDATION_ERROR",
        details: undefined
      },
      {
        name: "no HTTP",
        lines: ["hello"],
        status: 400,
        code: "VALIDATION_ERROR",
        details: undefined
      },
      {
        name: "a tunnel",
        lines: ["CONNECT example.com:443 HTTP/1.1", "host: localhost"],
        status: 405,
        code: "METHOD_NOT_ALLOWED",
        details: undefined
      }
    ]
    it.effect.each(refused)("$name", ({ code, details, lines, status }) =>
      Effect.gen(function* () {
        const { operatorUrl, publicUrl } = yield* TestService
        for (const url of [publicUrl, operatorUrl]) {
          const withId = lines.length > 1 || lines[0]?.startsWith("GET") === true
          const [first = "", ...rest] = lines
          const sent = [first, ...(withId ? ["x-request-id: mine-1"] : []), ...rest, "connection: close"]
          const text = yield* exchange(url, `${sent.join("\r\n")}\r\n\r\n`)
          const [head = "", body = ""] = text.split("\r\n\r\n")
          assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), `${url} ${text}`)
          assert.match(head, /\r\nx-request-id: [0-9a-z-]+(\r\n|$)/i)
          if (status !== 431 && withId) assert.match(head, /\r\nx-request-id: mine-1(\r\n|$)/i)
          assert.match(head, /\r\nx-content-type-options: nosniff(\r\n|$)/i)
          const { message, ...said } = JSON.parse(body) as ErrorBody
          assert.isString(message)
          assert.deepStrictEqual<unknown>(said, details === undefined ? { code } : { code, details })
        }
      })
    )
  })

  it.effect("every answer of both listeners carries the security headers", () =>
    Effect.gen(function* () {
      const { call, operate } = yield* TestService
      const { key } = yield* caller
      const { id } = yield* created(key)
      const answers = [
        yield* call("GET", "/v1/charges", { key }),
        yield* call("GET", `/v1/charges/${id}`, { key }),
        yield* call("GET", "/v1/charges"),
        yield* call("PUT", "/v1/charges"),
        yield* call("GET", "/nothing"),
        yield* call("POST", "/v1/charges", { key, body: bodyOf(LIMIT + 1) }),
        yield* operate("GET", "/operator/v1/accounts"),
        yield* operate("GET", "/operator/v1/accounts", { headers: { "x-operator-token": undefined } }),
        yield* operate("GET", "/nothing"),
        yield* operate("GET", "/metrics"),
        yield* operate("GET", "/health/live"),
        yield* operate("GET", "/health/ready")
      ]
      const pages = [
        yield* call("GET", "/docs"),
        yield* call("GET", "/openapi.json"),
        yield* operate("GET", "/operator/openapi.json")
      ]
      for (const { headers } of [...answers, ...pages]) {
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
        assert.strictEqual(headers["referrer-policy"], "no-referrer")
      }
      for (const { headers } of answers) assert.strictEqual(headers["cache-control"], "no-store")
      for (const { headers } of pages) {
        assert.include(headers["content-security-policy"], "default-src 'none'")
        assert.include(headers["content-security-policy"], "frame-ancestors 'none'")
      }
    })
  )
})
