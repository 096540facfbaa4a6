/** What a body may cost: its sender is known before it is read, and small chunks cost more than their bytes. */
import { assert, describe, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type ErrorBody, listed, someCharge } from "../../support/ChargeRequests.ts"
import { unknownId } from "../../support/Declared.ts"
import { makeOperator, sameOrigin, signIn } from "../../support/Operators.ts"
import { closing, exchange, open } from "../../support/RawConnection.ts"
import { newKey, TestService } from "../../support/TestService.ts"

/** The bytes of a body in chunks of this size. */
export const chunked = (text: string, size: number): string => {
  const chunks: Array<string> = []
  for (let at = 0; at < text.length; at += size) {
    const chunk = text.slice(at, at + size)
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  }
  return chunks.join("")
}

const END = "0\r\n\r\n"

type Headers = Readonly<Record<string, string | undefined>>

const head = (path: string, headers: Headers): string =>
  [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "content-type: application/json",
    "transfer-encoding: chunked",
    ...Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`])),
    "",
    ""
  ].join("\r\n")

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1])

layer(TestService.layer({}), { excludeTestServices: true })("What a body costs", (it) => {
  describe("ERR-18, OPR-2: a credential that is absent or unknown is 401 before the body has arrived", () => {
    const [charges, accounts] = ["/v1/charges", "/operator/v1/accounts"]
    const keys: ReadonlyArray<readonly [name: string, headers: Headers]> = [
      ["no key", {}],
      ["an empty key", { "x-api-key": "" }],
      ["an unknown key", { "x-api-key": "pix_unknown" }],
      ["a key that is too long to be one", { "x-api-key": "x".repeat(8000) }]
    ]
    const operators: ReadonlyArray<readonly [name: string, headers: Headers]> = [
      ["no token", {}],
      ["an unknown token", { "x-operator-token": "pixop_unknown" }],
      ["an unknown session", { cookie: "pix_session=unknown", ...sameOrigin }]
    ]
    for (const [listener, path, all] of [
      ["public", charges, keys],
      ["operator", accounts, operators]
    ] as const) {
      it.effect.each(all.map(([name, headers]) => ({ name, headers })))(`${listener}: $name`, ({ headers }) =>
        Effect.gen(function* () {
          const { operatorUrl, publicUrl } = yield* TestService
          const url = listener === "public" ? publicUrl : operatorUrl
          // It never ends.
          const answer = yield* exchange(url, head(path, headers) + chunked('{"amount":', 5))
          assert.strictEqual(statusOf(answer), 401, answer)
          assert.match(answer, /\r\nconnection: close\r\n/i)
        })
      )
    }

    it.effect.each([
      ["a body that is too large", true, 413],
      ["an unknown key", false, 401]
    ] as const)("a caller who sends all before it reads gets the answer to %s", ([, isKnown, status]) =>
      Effect.gen(function* () {
        const { makeCaller, publicUrl } = yield* TestService
        const key = isKnown ? (yield* makeCaller()).key : "pix_unknown"
        for (let round = 0; round < 5; round++) {
          const socket = yield* open(publicUrl)
          socket.pause()
          socket.write(head("/v1/charges", { "x-api-key": key, "idempotency-key": newKey() }))
          const closed = closing(socket)
          // More than the buffers of two sockets.
          yield* Effect.promise(() => new Promise((sent) => socket.write(chunked("x".repeat(16 << 20), 65_536), sent)))
          let answer = ""
          socket.on("data", (bytes) => (answer += String(bytes))).resume()
          yield* closed
          assert.strictEqual(statusOf(answer), status, answer)
        }
      })
    )

    it.effect("a revoked key, and one that never waits for a body that is too large", () =>
      Effect.gen(function* () {
        const { makeCaller, operate, publicUrl } = yield* TestService
        const { key, keyId } = yield* makeCaller()
        yield* operate("POST", `/operator/v1/keys/${keyId}/revoke`)
        assert.strictEqual(statusOf(yield* exchange(publicUrl, head("/v1/charges", { "x-api-key": key }))), 401)
        const large = head("/v1/charges", {}) + chunked("x".repeat(300 * 1024), 64 * 1024)
        assert.strictEqual(statusOf(yield* exchange(publicUrl, large)), 401)
      })
    )

    it.effect("the connection is kept where the body has arrived", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        for (const key of [undefined, "pix_unknown"]) {
          const answer = yield* call("POST", "/v1/charges", { key, body: someCharge })
          assert.deepStrictEqual([answer.status, answer.headers.connection], [401, "keep-alive"])
        }
      })
    )

    it.effect("the sender of a body is asked for again once it has arrived", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { token, tokenId } = yield* makeOperator("developer")
        const session = yield* signIn(token)
        const created = yield* session.call("POST", "/operator/v1/session/code", { body: {} })
        assert.strictEqual(created.status, 400)
        yield* operate("POST", `/operator/v1/tokens/${tokenId}/revoke`)
        assert.strictEqual((yield* session.call("POST", "/operator/v1/session/code", { body: {} })).status, 401)
      })
    )
  })

  describe("ERR-18: a chunk counts as 256 bytes at least", () => {
    const piecesOf = (path: string, headers: Headers, count: number, end: string) =>
      Effect.flatMap(TestService, ({ operatorUrl, publicUrl }) => {
        const text = JSON.stringify({ ...someCharge, padding: "" })
        const padded = text.replace('"padding":""', `"padding":"${"x".repeat(count - text.length)}"`)
        const bytes = head(path, { ...headers, connection: "close" }) + chunked(padded, 1) + end
        return exchange(path.startsWith("/v1") ? publicUrl : operatorUrl, bytes)
      })

    it.effect("a key may send 1,024 chunks of one byte, and no more", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const headers = { "x-api-key": key, "idempotency-key": newKey() }
        const refused = yield* piecesOf("/v1/charges", headers, 1025, "")
        assert.strictEqual(statusOf(refused), 413, refused)
        assert.deepStrictEqual((yield* listed(key)).data, [])
        const taken = yield* piecesOf("/v1/charges", headers, 1024, END)
        assert.strictEqual(statusOf(taken), 201, taken)
      })
    )

    it.effect("OPR-9: an operator as well", () =>
      Effect.gen(function* () {
        const { operatorToken } = yield* TestService
        const headers = { "x-operator-token": operatorToken }
        assert.strictEqual(statusOf(yield* piecesOf("/operator/v1/accounts", headers, 1025, "")), 413)
        assert.strictEqual(statusOf(yield* piecesOf("/operator/v1/accounts", headers, 1024, END)), 400)
      })
    )
  })

  describe("ERR-18: chunks that nobody reads", () => {
    const endless = chunked("x".repeat(100), 1)
    const asking = (line: string, headers: Headers) => head("", headers).replace(/^.*/, `${line} HTTP/1.1`)

    it.effect.each([
      { line: "GET /v1/charges", status: 401 },
      { line: "POST /v1/nothing", status: 404 },
      { line: "PUT /v1/charges", status: 405 },
      { line: "GET /health/live", status: 200 },
      { line: "GET /metrics", status: 200 },
      { line: "GET /assets/nothing", status: 404 },
      { line: "GET /operator/openapi.json", status: 200 },
      { line: "POST /operator/v1/nothing", status: 404 }
    ])("the connection ends with an answer that comes before the last one: $line", ({ line, status }) =>
      Effect.gen(function* () {
        const { operatorUrl, publicUrl } = yield* TestService
        const answer = yield* exchange(line.includes("/v1/") ? publicUrl : operatorUrl, asking(line, {}) + endless)
        assert.strictEqual(statusOf(answer), status, answer)
        assert.match(answer, /\r\nconnection: close\r\n/i)
      })
    )

    it.effect("with a key as well, and 1,024 of them at most: one more closes the connection without an answer", () =>
      Effect.gen(function* () {
        const { makeCaller, publicUrl } = yield* TestService
        const { key } = yield* makeCaller()
        const ask = (count: number, end: string, again = "") =>
          exchange(
            publicUrl,
            asking("GET /v1/account", { "x-api-key": key }) + chunked("x".repeat(count), 1) + end + again
          )
        const next = asking("GET /v1/account", { "x-api-key": key, connection: "close" }) + END
        const both = yield* ask(1024, END, next)
        assert.lengthOf(both.match(/HTTP\/1\.1 200 /g) ?? [], 2, both)
        assert.strictEqual(yield* ask(1025, ""), "")
      })
    )
  })

  it.effect("ERR-18: a large body is not read before its sender is known, so that it evicts nobody's", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const bytes = 30 * 1024 * 1024
      const path = `/operator/v1/disputes/${unknownId}/defense`
      // Authentication waits as long as the database may take, and is then given up.
      const outcome = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`LOCK TABLE operator_tokens IN ACCESS EXCLUSIVE MODE`
          const socket = yield* open(operatorUrl)
          return yield* Effect.promise(
            () =>
              new Promise<string>((resolve) => {
                socket.on("drain", () => resolve("all of it was read"))
                socket.on("data", (answer) => resolve(String(answer).slice(0, 12)))
                socket.write(
                  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
                    `x-operator-token: pixop_${"u".repeat(43)}\r\ncontent-length: ${bytes}\r\n\r\n`
                )
                socket.write(Buffer.alloc(bytes, " "))
              })
          )
        })
      )
      assert.strictEqual(outcome, "HTTP/1.1 503")
    }).pipe(Effect.scoped)
  )

  describe("OPR-210: a sign-in takes at most 4 KiB", () => {
    it.effect.each(["/operator/v1/session", "/operator/v1/session/token"])("%s", (path) =>
      Effect.gen(function* () {
        const { operate, operatorUrl } = yield* TestService
        const ask = (bytes: number) =>
          operate<ErrorBody & Charge>("POST", path, {
            headers: { "x-operator-token": undefined },
            body: JSON.stringify({ token: "" }).padEnd(bytes)
          })
        assert.strictEqual((yield* ask(4096)).status, 400)
        assert.strictEqual((yield* ask(4097)).status, 413)
        const chunks = yield* exchange(operatorUrl, head(path, {}) + chunked("x".repeat(17), 1))
        assert.strictEqual(statusOf(chunks), 413)
      })
    )
  })
})
