/** Lines of the request log: their ids, and what is stored while answers of PostgreSQL are lost. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { CurrentTransformer, type Transformer } from "effect/sql/Statement"
import type { Key, List } from "../support/Operator.ts"
import { eventually } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"

let lost = 0

/** Stores the first batch of lines, and fails as if the answer to its commit were lost. */
const losingFirstAnswer: Transformer = (statement, sql) =>
  Effect.gen(function* () {
    const [text, parameters] = statement.compile()
    if (lost > 0 || !text.includes("WITH lines AS")) return statement
    lost += 1
    yield* sql.unsafe(text, parameters).pipe(Effect.provideService(CurrentTransformer, undefined), Effect.orDie)
    return sql.unsafe("SELECT 1 / 0")
  })

const service = TestService.layer({ settings: { logLevel: "none" } }).pipe(
  Layer.provide(Layer.succeed(CurrentTransformer, losingFirstAnswer))
)

layer(service, { excludeTestServices: true })("The request log", (it) => {
  it.effect("OPR-31: a batch whose answer was lost is stored once, and later lines follow", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      const [first, second] = [newKey(), newKey()]
      const request = (id: string) => call("GET", "/v1/account", { key, headers: { "x-request-id": id } })
      const logged = (id: string) =>
        Effect.map(
          operate<List<{ id: string }>>("GET", `/operator/v1/requests?request_id=${id}`),
          ({ body }) => body.data.length
        )
      yield* request(first)
      yield* eventually(logged(first), (count) => count === 1)
      assert.strictEqual(lost, 1)
      yield* request(second)
      yield* eventually(logged(second), (count) => count === 1)
      assert.strictEqual(yield* logged(first), 1)
      const keys = yield* operate<List<Key>>("GET", `/operator/v1/applications/${applicationId}/keys`)
      assert.isString(keys.body.data[0]?.last_used_at)
    })
  )
})

interface Line {
  readonly id: string
  readonly request_id: string
}

const linesOf = (requestId: string) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    return (yield* operate<List<Line>>("GET", `/operator/v1/requests?request_id=${requestId}`)).body.data
  })

/** A request without its own id, and the stored request id of its line. */
const unnamed = Effect.gen(function* () {
  const { call, makeCaller, operate } = yield* TestService
  const sql = yield* SqlClient
  const { key } = yield* makeCaller()
  const requestId = String((yield* call("GET", "/v1/account", { key })).headers["x-request-id"])
  const lines = yield* eventually(linesOf(requestId), (found) => found.length === 1)
  assert.deepInclude(lines[0], { id: requestId, request_id: requestId })
  const found = yield* operate<{ readonly data: ReadonlyArray<{ readonly kind: string; readonly id: string }> }>(
    "GET",
    `/operator/v1/search?q=${requestId}`
  )
  assert.deepStrictEqual(
    found.body.data.map(({ id, kind }) => [kind, id]),
    [["request", requestId]]
  )
  const [stored] = yield* sql<{ request_id: string | null }>`
    SELECT request_id FROM requests WHERE id = ${requestId}::uuid`
  return { key, requestId, stored: stored!.request_id }
})

layer(TestService.layer(), { excludeTestServices: true })("A line of the request log", (it) => {
  it.effect("ERR-12, OPR-31: has the id of its request, where the caller sent none", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key, requestId, stored } = yield* unnamed
      assert.isNull(stored)
      // A caller may send what it got before.
      yield* call("GET", "/v1/account", { key, headers: { "x-request-id": requestId } })
      const lines = yield* eventually(linesOf(requestId), (found) => found.length === 2)
      assert.deepStrictEqual(
        lines.map((line) => line.request_id),
        [requestId, requestId]
      )
      assert.lengthOf(yield* linesOf(newKey()), 0)
    })
  )
})
