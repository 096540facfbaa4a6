/** Whom a request is for, and where it ends. */
import { assert, describe, layer } from "@effect/vitest"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Effect from "effect/Effect"
import { assertRefused, created, someCharge } from "../../support/ChargeRequests.ts"
import { closing, exchange, open } from "../../support/RawConnection.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { operatorRoutes, pathWith, paymentsRoutes, unknownId } from "../../support/Declared.ts"

const statusesIn = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d+) /gm)].map(([, status]) => Number(status))

layer(TestService.layer({}), { excludeTestServices: true })("A request line and its headers", (it) => {
  const ask = (listener: "public" | "operator", lines: ReadonlyArray<string>, body = "") =>
    Effect.flatMap(TestService, ({ operatorToken, operatorUrl, publicUrl }) =>
      exchange(
        listener === "public" ? publicUrl : operatorUrl,
        `${[...lines, `x-operator-token: ${operatorToken}`].join("\r\n")}\r\n\r\n${body}`
      )
    )

  describe("ERR-19: two `Host` lines are 400", () => {
    it.effect.each([
      ["public", "/v1/account"],
      ["operator", "/operator/v1/session"],
      ["operator", "/health/live"],
      ["operator", "/metrics"]
    ] as const)("%s %s", ([listener, path]) =>
      Effect.gen(function* () {
        for (const second of ["host: localhost", "HOST: evil.example", "Host:"]) {
          const answer = yield* ask(listener, [`GET ${path} HTTP/1.1`, "Host: localhost", "x: y", second])
          assert.deepStrictEqual(statusesIn(answer), [400], second)
          assert.deepStrictEqual(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n"))), {
            code: "VALIDATION_ERROR",
            message: errorCodes.VALIDATION_ERROR.message,
            details: ["Host"]
          })
        }
      })
    )
  })

  describe("OPR-7: a host in the request line counts as well as the one in `Host`", () => {
    it.effect.each([
      { target: "http://localhost/operator/v1/session", host: "localhost", status: 200 },
      { target: "HTTP://LocalHost:3001/operator/v1/session", host: "127.0.0.1", status: 200 },
      { target: "http://evil.example/operator/v1/session", host: "localhost", status: 421 },
      { target: "http://localhost/operator/v1/session", host: "evil.example", status: 421 },
      { target: "http://localhost@evil.example/operator/v1/session", host: "localhost", status: 421 },
      { target: "http:///operator/v1/session", host: "localhost", status: 421 },
      { target: "http://evil.example?x", host: "localhost", status: 421 },
      { target: "http://evil.example/metrics", host: "localhost", status: 200 }
    ])("$target, $host: $status", ({ host, status, target }) =>
      Effect.gen(function* () {
        const answer = yield* ask("operator", [`GET ${target} HTTP/1.1`, `host: ${host}`, "connection: close"])
        assert.deepStrictEqual(statusesIn(answer), [status])
      })
    )
  })

  it.effect("OPR-8: the metrics name no account, application or key", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const name = `Padaria ${newKey()}`
      const caller = yield* makeCaller({ account: { name } })
      yield* call("POST", "/v1/charges", { key: caller.key, idempotencyKey: newKey(), body: someCharge })
      const { text } = yield* operate("GET", "/metrics", {
        headers: { host: "10.0.0.1", "x-operator-token": undefined }
      })
      assert.include(text, "pix_payments_http_requests")
      for (const named of [name, ...Object.values(caller)]) assert.notInclude(text, named)
    })
  )

  it.effect(
    "ERR-20: the connection of an HTTP/1.0 request with chunks is closed, and nothing behind it is served",
    () =>
      Effect.gen(function* () {
        const { makeCaller, publicUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const body = JSON.stringify(someCharge)
        const socket = yield* open(publicUrl)
        let text = ""
        socket.on("data", (bytes) => (text += String(bytes)))
        const closed = closing(socket)
        socket.write(
          `POST /v1/charges HTTP/1.0\r\nhost: x\r\nconnection: keep-alive\r\nx-api-key: ${key}\r\nidempotency-key: ${newKey()}\r\n` +
            `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` +
            `GET /v1/account HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\n\r\n`
        )
        yield* closed
        assert.deepStrictEqual(statusesIn(text), [201])
        assert.match(text, /\r\nconnection: close\r\n/i)
      }).pipe(Effect.scoped)
  )

  describe("LIST-7: a query value that is not UTF-8 is `VALIDATION_ERROR` with its name", () => {
    const namesOf = ({ endpoint }: (typeof operatorRoutes)[number]) =>
      endpoint.query?.ast._tag === "Objects"
        ? endpoint.query.ast.propertySignatures.map(({ name }) => String(name))
        : []

    it.effect.each([...paymentsRoutes, ...operatorRoutes].filter((route) => namesOf(route).length > 0))(
      "$method $template",
      (route) =>
        Effect.gen(function* () {
          const { call, makeCaller, operate } = yield* TestService
          const isPublic = route.template.startsWith("/v1/")
          const headers = isPublic ? { "x-api-key": (yield* makeCaller()).key } : {}
          for (const name of namesOf(route)) {
            // Of a multi-byte character only a part, and an overlong form.
            for (const value of ["p-%E7", "%c3", "%C0%AF"]) {
              const path = `${pathWith(route, unknownId)}?${name}=${value}`
              const answer = yield* (isPublic ? call : operate)(route.method, path, {
                headers,
                body: route.takesBody ? {} : undefined,
                idempotencyKey: newKey()
              })
              assert.strictEqual(answer.status, 400, path)
              assert.include(answer.body["details"], name, path)
              assert.match(String(answer.body["message"]), new RegExp(`${name} must be UTF-8`), path)
            }
          }
        })
    )

    it.effect("what is UTF-8 is read, and a parameter that `/v1` does not have is ignored (API-5)", () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        yield* created(key, { reference: "p-ç\u{fffd}" })
        const found = yield* operate<{ data: ReadonlyArray<unknown> }>(
          "GET",
          "/operator/v1/charges?reference=p-%C3%A7%EF%BF%BD"
        )
        assert.lengthOf(found.body.data, 1, found.text)
        assert.strictEqual((yield* operate("GET", "/operator/v1/charges?reference=100%")).status, 200)
        assert.strictEqual((yield* call("GET", "/v1/charges?nonsense=%E7&%E7=1", { key })).status, 200)
        const refused = yield* operate("GET", "/operator/v1/charges?reference=a&reference=%E7")
        assertRefused(refused, "VALIDATION_ERROR", ["reference"])
      })
    )
  })

  describe("OPR-211: a query parameter that the operation does not have is `VALIDATION_ERROR` with its name", () => {
    it.effect.each(operatorRoutes.filter(({ template }) => !template.includes("/oidc")))("$method $template", (route) =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const isSignIn = /\/session(\/token)?$/.test(route.template) && route.method === "POST"
        const required = route.template.endsWith("/search")
          ? "q=x&"
          : route.template.endsWith("/statement")
            ? "from=2026-11-01&to=2026-11-02&format=csv&"
            : ""
        const path = `${pathWith(route, unknownId)}?${required}nonsense=1&limits=2`
        const headers = isSignIn ? { "x-operator-token": undefined } : {}
        const answer = yield* operate(route.method, path, { headers, body: {}, idempotencyKey: newKey() })
        assertRefused(answer, "VALIDATION_ERROR", ["nonsense", "limits"])
      })
    )

    it.effect("beside the parameters that are wrong; `/v1` ignores them (API-5)", () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const refused = yield* operate("GET", "/operator/v1/charges?limit=0&stauts=paid")
        assertRefused(refused, "VALIDATION_ERROR", ["limit", "stauts"])
        assert.match(
          String(refused.body["message"]),
          /limit must be [^;]+; a parameter must be left out, as this call has none of that name\.$/
        )
        assert.strictEqual((yield* operate("GET", "/operator/v1/charges?limit=1&origin=api")).status, 200)
        assert.strictEqual((yield* operate("GET", "/operator/openapi.json?v=1")).status, 200)
        assert.strictEqual((yield* operate("GET", "/operator/v1/session/oidc/callback?anything=1")).status, 404)
        assert.strictEqual((yield* call("GET", "/v1/charges?stauts=paid", { key })).status, 200)
      })
    )
  })
})
