/** Expiry of charges, and payment after it. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create, created, type ErrorBody, listed, retrieve, until, withCustomer } from "../../support/ChargeRequests.ts"
import { storeStates } from "../../support/ChargeStates.ts"
import { newKey, TestService } from "../../support/TestService.ts"

layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })("Expiry", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  const age = (id: string) =>
    Effect.flatMap(
      SqlClient,
      (sql) => sql`UPDATE charges SET expires_at = now() - interval '1 millisecond' WHERE id = ${id}::uuid`
    ).pipe(Effect.andThen(storeStates))

  it.effect("CHG-5: `expires_at` has passed without payment: `expired`, derived when the charge is read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* caller
      const idempotencyKey = newKey()
      const { id } = yield* created(key, { expires_in: 60 }, idempotencyKey)
      yield* age(id)
      assert.strictEqual((yield* retrieve(key, id)).body.status, "expired")
      assert.strictEqual((yield* listed(key)).data[0]?.status, "expired")
      assert.strictEqual((yield* create(key, {}, idempotencyKey)).body.status, "expired", "a replay is a read")
      const [row] = yield* sql`SELECT status FROM charges WHERE id = ${id}::uuid`
      assert.deepStrictEqual(row, { status: "pending" })
    })
  )

  it.effect("CHG-5: `status=pending` leaves out what has expired and `status=expired` finds it", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const expired = yield* created(key)
      const pending = yield* created(key)
      yield* age(expired.id)
      const ids = (query: string) => Effect.map(listed(key, query), ({ data }) => data.map(({ id }) => id))
      assert.deepStrictEqual(yield* ids("?status=pending"), [pending.id])
      assert.deepStrictEqual(yield* ids("?status=expired"), [expired.id])
      assert.deepStrictEqual(yield* ids(""), [pending.id, expired.id])
    })
  )

  it.effect("CHG-5: a failed charge does not expire", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const answer = yield* create(key, withCustomer({ email: "refuse@simulator.test" }))
      const { charge_id } = answer.body as unknown as ErrorBody
      yield* age(String(charge_id))
      assert.strictEqual((yield* retrieve(key, String(charge_id))).body.status, "failed")
      assert.deepStrictEqual((yield* listed(key, "?status=expired")).data, [])
    })
  )

  it.effect("CHG-6: derived `expired→paid` when the acquirer confirms late", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { key } = yield* caller
      const { id } = yield* created(key)
      yield* age(id)
      const answer = yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
      assert.strictEqual(answer.status, 200, answer.text)
      yield* until(retrieve(key, id), ({ body }) => body.status === "paid")
      assert.deepStrictEqual((yield* listed(key, "?status=expired")).data, [])
    })
  )
})
