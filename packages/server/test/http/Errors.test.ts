/** Refusals: their body, their order, and what is no request of the contract at all. */
import { assert, describe, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import type { ErrorCode } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import { SqlClient } from "effect/sql/SqlClient"
import { connect } from "node:net"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import {
  assertRefused,
  create,
  created,
  type ErrorBody,
  listed,
  retrieve,
  someCharge,
  someCustomer
} from "../support/ChargeRequests.ts"
import { type Call, type CallOptions, type Fields, newKey, TestService } from "../support/TestService.ts"

const LIMIT = 256 * 1024

/** An accepted body of exactly this many bytes. */
const bodyOf = (bytes: number): string => {
  const text = JSON.stringify({ ...someCharge, padding: "" })
  return text.replace('"padding":""', `"padding":"${"x".repeat(bytes - Buffer.byteLength(text))}"`)
}

layer(TestService.layer(), { excludeTestServices: true })("Errors", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  const post = (options: CallOptions) =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      return yield* call<Charge & ErrorBody>("POST", "/v1/charges", { key, idempotencyKey: newKey(), ...options })
    })

  describe("ERR-5: malformed JSON, or a body that is not an object: 400 `VALIDATION_ERROR` without `details`", () => {
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

    it.effect("where no body is taken, none matters", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        assert.strictEqual((yield* call("GET", "/v1/account", { key, body: bodyOf(LIMIT + 1) })).status, 200)
        assert.strictEqual((yield* call("GET", "/v1/charges", { key, body: "{" })).status, 200)
        assertRefused(yield* call("POST", "/v1/nothing", { key, body: bodyOf(LIMIT + 1) }), "NOT_FOUND")
        assertRefused(yield* call("PUT", "/v1/charges", { key, body: bodyOf(LIMIT + 1) }), "METHOD_NOT_ALLOWED")
      })
    )

    it.effect("nothing is made of it, and its key is free", () =>
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

  describe("ERR-2: order of checks", () => {
    /** A creation that is all right but for what the faults below do to it. */
    interface Attempt {
      readonly account: "active" | "inactive"
      readonly scopes: "all" | "reading"
      readonly isKey: boolean
      readonly idempotencyKey: "new" | "known" | "missing"
      readonly isLarge: boolean
      readonly body: Fields
    }

    interface Fault {
      readonly name: string
      readonly code: ErrorCode | "replay"
      readonly details?: ReadonlyArray<string>
      readonly does: (attempt: Attempt) => Attempt
    }

    const inBody =
      (change: (body: Fields) => Fields) =>
      (attempt: Attempt): Attempt => ({
        ...attempt,
        body: change(attempt.body)
      })

    const inCustomer = (fields: Fields) =>
      inBody((body) => ({ ...body, customer: { ...(body["customer"] as Fields), ...fields } }))

    const faults: ReadonlyArray<Fault> = [
      { name: "key", code: "UNAUTHORIZED", does: (attempt) => ({ ...attempt, isKey: false }) },
      { name: "size", code: "PAYLOAD_TOO_LARGE", does: (attempt) => ({ ...attempt, isLarge: true }) },
      {
        name: "scope",
        code: "INSUFFICIENT_SCOPE",
        details: ["charge:write"],
        does: (attempt) => ({ ...attempt, scopes: "reading" })
      },
      {
        name: "no Idempotency-Key",
        code: "IDEMPOTENCY_KEY_REQUIRED",
        does: (attempt) => ({ ...attempt, idempotencyKey: "missing" })
      },
      {
        name: "known key",
        code: "replay",
        does: (attempt) => ({
          ...attempt,
          idempotencyKey: attempt.idempotencyKey === "missing" ? "missing" : "known"
        })
      },
      {
        name: "description",
        code: "VALIDATION_ERROR",
        details: ["description"],
        does: inBody((body) => ({ ...body, description: "x".repeat(141) }))
      },
      {
        name: "method",
        code: "METHOD_NOT_SUPPORTED",
        details: ["method"],
        does: inBody((body) => ({ ...body, method: "boleto" }))
      },
      {
        name: "amount",
        code: "AMOUNT_BELOW_MINIMUM",
        details: ["amount"],
        does: inBody((body) => ({ ...body, amount: 99 }))
      },
      {
        name: "document",
        code: "INVALID_DOCUMENT",
        details: ["customer.document"],
        does: inCustomer({ document: "111.111.111-11" })
      },
      {
        name: "private webhook_url",
        code: "INVALID_WEBHOOK_URL",
        details: ["webhook_url"],
        does: inBody((body) => ({ ...body, webhook_url: "http://10.0.0.1/" }))
      },
      {
        name: "webhook_url that is none",
        code: "INVALID_WEBHOOK_URL",
        details: ["webhook_url"],
        does: inBody((body) => ({ ...body, webhook_url: "x" }))
      },
      { name: "account", code: "ACCOUNT_INACTIVE", does: (attempt) => ({ ...attempt, account: "inactive" }) },
      { name: "acquirer", code: "ACQUIRER_REJECTED", does: inCustomer({ email: "refuse@simulator.test" }) }
    ]

    const flawless: Attempt = {
      account: "active",
      scopes: "all",
      isKey: true,
      idempotencyKey: "new",
      isLarge: false,
      body: someCharge
    }

    /** Later faults first, so that the earlier one has the last word where both touch the same thing. */
    const attemptWith = (some: ReadonlyArray<Fault>): Attempt =>
      [...some].toReversed().reduce((attempt, fault) => fault.does(attempt), flawless)

    const answerTo = Effect.fn(function* (attempt: Attempt) {
      const { call, makeKey, operate } = yield* TestService
      const { accountId, applicationId, key } = yield* caller
      const reader = yield* makeKey(applicationId, { scopes: ["charge:read"] })
      const known = newKey()
      const charge = yield* created(key, {}, known)
      if (attempt.account === "inactive") {
        yield* operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { status: "inactive" } })
      }
      const text = JSON.stringify(attempt.body)
      const answer = yield* call<Charge & ErrorBody>("POST", "/v1/charges", {
        key: attempt.isKey ? (attempt.scopes === "all" ? key : reader.key) : `${key}x`,
        idempotencyKey: { new: newKey(), known, missing: undefined }[attempt.idempotencyKey],
        body: attempt.isLarge ? text.padEnd(LIMIT + 1) : text
      })
      return { answer, charge }
    })

    const assertFirst = Effect.fn(function* (some: ReadonlyArray<Fault>) {
      const [first] = some
      const { answer, charge } = yield* answerTo(attemptWith(some))
      if (first?.code === "replay") {
        assert.deepStrictEqual(
          [answer.status, answer.headers["idempotent-replayed"], answer.body.id],
          [201, "true", charge.id]
        )
      } else if (first !== undefined) {
        assertRefused(answer, first.code, first.details)
      }
    })

    faults.forEach((first, index) => {
      const after = faults.slice(index + 1).filter(({ code }) => code !== first.code)
      for (const second of after) {
        it.effect(`${first.code} (${first.name}) comes before ${second.code} (${second.name})`, () =>
          assertFirst([first, second])
        )
      }
      it.effect(`${first.code} (${first.name}) comes before all that follow together`, () =>
        assertFirst([first, ...after])
      )
    })

    it.effect(
      "IDEM-2, ERR-2: a malformed `Idempotency-Key` comes after the scope and before what is wrong with the body",
      () =>
        Effect.gen(function* () {
          const { call, makeKey } = yield* TestService
          const { applicationId, key } = yield* caller
          const reader = yield* makeKey(applicationId, { scopes: ["charge:read"] })
          const ask = (key: string, body: unknown) =>
            call("POST", "/v1/charges", { key, idempotencyKey: "short", body })
          assertRefused(yield* ask(reader.key, someCharge), "INSUFFICIENT_SCOPE", ["charge:write"])
          assertRefused(yield* ask(key, { ...someCharge, method: "card" }), "VALIDATION_ERROR", ["Idempotency-Key"])
          assertRefused(yield* ask(key, "{"), "VALIDATION_ERROR", ["Idempotency-Key"])
        })
    )
  })

  describe("ERR-7: unknown route: 404 `NOT_FOUND` in the same error body, before 401", () => {
    it.effect.each([
      "/",
      "/v1",
      "/v1/",
      "/v1/nothing",
      "/v2/charges",
      "/V1/charges",
      "/v1/Charges",
      "/v1/charge",
      "/v1/chargesx",
      "/charges",
      "/v1/charges/a/b",
      "/v1/charges/../account",
      "/v1//charges",
      "//v1/charges",
      "//",
      "/v1//account",
      "/v1/account/x",
      "/operator/v1/accounts",
      "/metrics",
      "/health/ready",
      "/.env",
      "/v1/%63harges/x/y",
      "/%00",
      "/%zz",
      "/openapi.yaml",
      "/docs/x"
    ])("%s", (path) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        assertRefused(yield* call("GET", path), "NOT_FOUND")
        assertRefused(yield* call("GET", path, { key }), "NOT_FOUND")
        assertRefused(yield* call("POST", path, { body: "{", idempotencyKey: "x" }), "NOT_FOUND")
      })
    )
  })

  describe("ERR-7: known path, wrong verb: 405 `METHOD_NOT_ALLOWED` with `Allow`, before 401", () => {
    const verbsOf = new Map<string, Array<string>>([
      ["/openapi.json", ["GET"]],
      ["/docs", ["GET"]]
    ])
    HttpApi.reflect(PaymentsApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        const path = endpoint.path.replace(/\/$/, "").replace(":id", "01a1fd37-d21e-717f-8451-d23f26a8797f")
        verbsOf.set(path, [...(verbsOf.get(path) ?? []), endpoint.method])
      }
    })
    const all = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]
    const wrong = [...verbsOf].flatMap(([path, allow]) =>
      all.filter((verb) => !allow.includes(verb)).map((verb) => ({ verb, path, allow }))
    )

    it.effect.each(wrong)("$verb $path", ({ allow, path, verb }) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const answer = yield* call(verb, path)
        assertRefused(answer, "METHOD_NOT_ALLOWED")
        assert.sameMembers(String(answer.headers.allow).split(", "), allow)
      })
    )

    it.effect("HEAD is GET without the body", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const { id } = yield* created(key)
        for (const path of [
          "/v1/charges",
          `/v1/charges/${id}`,
          "/v1/charges/x",
          "/v1/account",
          "/openapi.json",
          "/x"
        ]) {
          for (const options of [{ key }, {}]) {
            const get = yield* call("GET", path, options)
            const head = yield* call("HEAD", path, options)
            assert.deepStrictEqual([head.status, head.text], [get.status, ""], path)
            assert.strictEqual(head.headers["content-type"], get.headers["content-type"])
            assert.isString(head.headers["x-request-id"])
          }
        }
      })
    )
  })

  describe("ERR-8: an id in a path that is not a UUID: the same 404 as an unknown id", () => {
    it.effect.each([
      "01a1fd37-d21e-717f-8451-d23f26a8797f",
      "01A1FD37-D21E-717F-8451-D23F26A8797F",
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "9b2d1b0e-7e0b-4f6c-8c5e-0d8a1c3e5f70",
      "x",
      "1",
      "-1",
      "null",
      "undefined",
      "__proto__",
      "01a1fd37d21e717f8451d23f26a8797f",
      "{01a1fd37-d21e-717f-8451-d23f26a8797f}",
      "01a1fd37-d21e-717f-8451-d23f26a8797",
      "01a1fd37-d21e-717f-8451-d23f26a8797ff",
      "01a1fd37-d21e-717f-8451-d23f26a8797g",
      "01a1fd37-d21e-717f-8451-d23f26a8797f%0A",
      "01a1fd37-d21e-717f-8451-d23f26a8797f%00",
      "%20",
      "%00",
      "%zz",
      "%",
      "%E0%A4%A",
      "%ff",
      "..",
      "..%2F..%2Fetc%2Fpasswd",
      "%2e%2e",
      "%2F",
      "*",
      ":id",
      "'%20OR%20'1'='1",
      "%F0%9F%A5%96",
      "%ED%A0%80",
      "a".repeat(10_000),
      "%20".repeat(3000)
    ])("%s", (id) =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const answer = yield* call("GET", `/v1/charges/${id}`, { key })
        const unknown = yield* call("GET", "/v1/charges/01a1fd37-d21e-717f-8451-d23f26a8797a", { key })
        assertRefused(answer, "CHARGE_NOT_FOUND")
        assert.strictEqual(answer.text, unknown.text)
        assertRefused(yield* call("GET", `/v1/charges/${id}`), "UNAUTHORIZED")
      })
    )

    it.effect("an id in upper case is the same UUID", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charge = yield* created(key)
        assert.deepStrictEqual((yield* retrieve(key, charge.id.toUpperCase())).body, charge)
      })
    )
  })

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

    it.effect.each(answers)("the caller's, when it sent a sane one ($status)", ({ ask, status }) =>
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

  describe("what no route sees is answered in the same error body, with a request id and the security headers", () => {
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

  describe("what HTTP allows besides", () => {
    const ask = (lines: ReadonlyArray<string>, body = "") =>
      Effect.flatMap(TestService, ({ publicUrl }) => exchange(publicUrl, `${lines.join("\r\n")}\r\n\r\n${body}`))

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

    it.effect("an offer to change the protocol, not taken up", () =>
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

    it.effect("a caller that goes away in the middle of its body: nothing is made, and its key is free", () =>
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

  describe("GET /openapi.json and /docs", () => {
    it.effect("ADD-3, API-13: the document has every route that is served, and no other", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { body, headers, status } = yield* call<{
          readonly openapi: string
          readonly paths: Readonly<Record<string, Fields>>
        }>("GET", "/openapi.json")
        assert.strictEqual(status, 200)
        assert.match(String(headers["content-type"]), /^application\/json/)
        assert.match(body.openapi, /^3\.1\./)
        const told = Object.entries(body.paths).flatMap(([path, verbs]) =>
          Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`)
        )
        const served: Array<string> = []
        HttpApi.reflect(PaymentsApi, {
          onGroup: () => {},
          onEndpoint: ({ endpoint }) =>
            served.push(`${endpoint.method} ${endpoint.path.replace(/\/$/, "").replace(":id", "{id}")}`)
        })
        assert.sameMembers(told, served)
        for (const path of Object.keys(body.paths)) assert.match(path, /^\/v1\//, "The version is part of the path")
      })
    )

    it.effect("ADD-3: the reference page shows the same document", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { headers, status, text } = yield* call("GET", "/docs")
        assert.strictEqual(status, 200)
        assert.match(String(headers["content-type"]), /^text\/html/)
        assert.include(text, "/v1/charges")
      })
    )
  })

  it.effect("ERR-9: overload: 503 `SERVICE_UNAVAILABLE` with `Retry-After`, never a hang; nothing half-done", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { call } = yield* TestService
      const { key } = yield* caller
      const { id } = yield* created(key)
      const idempotencyKey = newKey()
      // The service waits five seconds for a lock.
      const answers = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`LOCK TABLE charges IN ACCESS EXCLUSIVE MODE`
          return yield* Effect.all(
            [
              call("POST", "/v1/charges", { key, idempotencyKey, body: someCharge }),
              call("GET", "/v1/charges", { key }),
              call("GET", `/v1/charges/${id}`, { key })
            ],
            { concurrency: "unbounded" }
          )
        })
      )
      for (const answer of answers) {
        assertRefused(answer, "SERVICE_UNAVAILABLE")
        assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/)
      }
      const { data } = yield* listed(key)
      assert.deepStrictEqual(
        data.map((charge) => charge.id),
        [id]
      )
      const again = yield* create(key, {}, idempotencyKey)
      assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [201, undefined])
    })
  )
})

layer(TestService.layer({ settings: { logLevel: "none" } }), { excludeTestServices: true })(
  "Unexpected failure: 500 `INTERNAL_ERROR`",
  (it) => {
    it.effect("ERR-11, IDEM-9: may be repeated with the same idempotency key; no stack or SQL reaches a caller", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const idempotencyKey = newKey()
        yield* sql`ALTER TABLE charges RENAME TO charges_away`
        const answer = yield* create(key, {}, idempotencyKey)
        yield* sql`ALTER TABLE charges_away RENAME TO charges`
        assertRefused(answer, "INTERNAL_ERROR")
        assert.notMatch(answer.text, /sql|relation|charges|select|insert|\bat /i)
        const again = yield* create(key, {}, idempotencyKey)
        assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [201, undefined])
      })
    )
  }
)

/** Sends bytes over a connection of their own and reads until the server closes it, or hangs up when they are sent. */
const exchange = (url: string, bytes: string, then: "read" | "hang up" = "read") =>
  Effect.callback<string>((resume) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () =>
      socket.write(bytes, () => {
        if (then === "hang up") socket.destroy()
      })
    )
    let text = ""
    socket.on("data", (chunk) => {
      text += String(chunk)
    })
    socket.on("close", () => resume(Effect.succeed(text)))
    socket.on("error", (error) => resume(Effect.die(error)))
    return Effect.sync(() => socket.destroy())
  })
