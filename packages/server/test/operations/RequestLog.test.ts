/** The request log while answers of PostgreSQL are lost. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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
