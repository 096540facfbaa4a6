/** `GET /v1/charges/{id}`: the charge, and which callers see it. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, create, created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"

layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "GET /v1/charges/{id}",
  (it) => {
    const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

    it.effect(
      "CHG-22: GET /v1/charges/{id}: response 200 with the same `charge` object, and the list shows it as well",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const charge = yield* created(key, { description: "x", reference: "y" })
          const read = yield* retrieve(key, charge.id)
          assert.strictEqual(read.status, 200)
          assert.deepStrictEqual(read.body, charge)
          assert.deepStrictEqual(yield* listed(key), { object: "list", data: [charge], has_more: false })
        })
    )

    it.effect("CHG-22: `customer` and `expires_at` may be null", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { key } = yield* caller
        const { id } = yield* created(key)
        yield* sql`UPDATE charges SET customer_name = NULL, customer_email = NULL, customer_document = NULL,
        expires_at = NULL, receiver_id = NULL WHERE id = ${id}::uuid`
        const { body } = yield* retrieve(key, id)
        assert.deepStrictEqual(
          [body.customer, body.expires_at, body.receiver, body.status],
          [null, null, null, "pending"]
        )
        assert.deepStrictEqual((yield* listed(key, "?status=pending")).data, [body])
      })
    )

    it.effect("CHG-25: operators see that a charge has the origin `api`", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, applicationId, key } = yield* caller
        const charge = yield* created(key)
        const { body } = yield* operate("GET", `/operator/v1/charges/${charge.id}`)
        assert.deepInclude(body, { ...charge, origin: "api", account_id: accountId, application_id: applicationId })
      })
    )

    it.effect("API-9, CHG-19: Unknown id or id of another account gives 404 `CHARGE_NOT_FOUND`", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const other = yield* caller
        const { id } = yield* created(key)
        assertRefused(yield* retrieve(other.key, id), "CHARGE_NOT_FOUND")
        assertRefused(yield* retrieve(other.key, "01a1fd37-d21e-717f-8451-d23f26a8797f"), "CHARGE_NOT_FOUND")
        assert.deepStrictEqual((yield* listed(other.key)).data, [])
      })
    )

    it.effect("CHG-19: a charge belongs to the account: its other applications see it", () =>
      Effect.gen(function* () {
        const { makeApplication, makeKey } = yield* TestService
        const { accountId, key } = yield* caller
        const other = yield* makeKey(yield* makeApplication(accountId))
        const charge = yield* created(key)
        assert.deepStrictEqual((yield* retrieve(other.key, charge.id)).body, charge)
        assert.deepStrictEqual((yield* listed(other.key)).data, [charge])
      })
    )

    it.effect("API-9, CHG-19: checkout charges are not visible under `/v1`", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { call } = yield* TestService
        const { key } = yield* caller
        const idempotencyKey = newKey()
        const { id } = yield* created(key, {}, idempotencyKey)
        yield* sql`UPDATE charges SET origin = 'checkout' WHERE id = ${id}::uuid`
        assertRefused(yield* retrieve(key, id), "CHARGE_NOT_FOUND")
        assert.deepStrictEqual((yield* listed(key)).data, [])
        const page = yield* call("GET", `/v1/charges?starting_after=${id}`, { key })
        assertRefused(page, "VALIDATION_ERROR", ["starting_after"])
        assertRefused(yield* create(key, { amount: 1 }, idempotencyKey), "AMOUNT_BELOW_MINIMUM", ["amount"])
        assert.notStrictEqual((yield* created(key, {}, idempotencyKey)).id, id, "nor are their keys")
      })
    )
  }
)
