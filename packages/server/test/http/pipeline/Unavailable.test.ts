/** 503 and 500: PostgreSQL is overloaded, or a statement fails unexpectedly. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, create, created, listed, someCharge } from "../../support/ChargeRequests.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { newKey, TestService } from "../../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("Overload", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

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
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const idempotencyKey = newKey()
        yield* changeSchema(`ALTER TABLE charges RENAME TO charges_away`)
        const answer = yield* create(key, {}, idempotencyKey)
        yield* changeSchema(`ALTER TABLE charges_away RENAME TO charges`)
        assertRefused(answer, "INTERNAL_ERROR")
        assert.notMatch(answer.text, /sql|relation|charges|select|insert|\bat /i)
        const again = yield* create(key, {}, idempotencyKey)
        assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [201, undefined])
      })
    )
  }
)
