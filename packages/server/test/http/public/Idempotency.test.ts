/** One key, one charge: `Idempotency-Key` on `POST /v1/charges`. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import {
  assertRefused,
  create,
  created,
  listed,
  retrieve,
  someCharge,
  someCustomer,
  until
} from "../../support/ChargeRequests.ts"
import { newKey, TestService, whenFree } from "../../support/TestService.ts"

layer(TestService.layer(), { excludeTestServices: true })("Idempotency-Key", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  it.effect(
    "IDEM-1: When the header is missing, the answer is 400 `IDEMPOTENCY_KEY_REQUIRED`; empty counts as missing",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        assertRefused(yield* call("POST", "/v1/charges", { key, body: someCharge }), "IDEMPOTENCY_KEY_REQUIRED")
        assertRefused(yield* create(key, {}, ""), "IDEMPOTENCY_KEY_REQUIRED")
        assertRefused(yield* create(key, {}, "   "), "IDEMPOTENCY_KEY_REQUIRED")
        assert.deepStrictEqual((yield* listed(key)).data, [])
      })
  )

  it.effect.each([
    { name: "7 characters", value: "1234567", accepted: false },
    { name: "8 characters", value: "12345678", accepted: true },
    { name: "255 characters", value: "k".repeat(255), accepted: true },
    { name: "256 characters", value: "k".repeat(256), accepted: false },
    {
      name: "every visible character",
      value: String.fromCharCode(...Array.from({ length: 94 }, (_, i) => i + 33)),
      accepted: true
    },
    { name: "a space inside", value: "1234 5678", accepted: false },
    { name: "a tab inside", value: "1234\t5678", accepted: false },
    { name: "a letter outside ASCII", value: "chave-é-12345", accepted: false }
  ])("IDEM-2: 8 to 255 visible ASCII characters: $name", ({ accepted, value }) =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const answer = yield* create(key, {}, value)
      if (!accepted) {
        assert.match(answer.text, /Idempotency-Key must be 8 to 255 visible ASCII characters/)
        return assertRefused(answer, "VALIDATION_ERROR", ["Idempotency-Key"])
      }
      assert.strictEqual(answer.status, 201, answer.text)
      assert.strictEqual((yield* create(key, {}, value)).body.id, answer.body.id)
    })
  )

  it.effect("IDEM-2: the header sent twice names no key", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      const headers = { "idempotency-key": ["12345678", "87654321"] }
      const answer = yield* call("POST", "/v1/charges", { key, headers, body: someCharge })
      assertRefused(answer, "VALIDATION_ERROR", ["Idempotency-Key"])
    })
  )

  it.effect("keys differ by case", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      assert.notStrictEqual((yield* created(key, {}, "pedido-a")).id, (yield* created(key, {}, "PEDIDO-A")).id)
    })
  )

  it.effect(
    "IDEM-4: Repeating a call with the same key returns the resource already created: 201, `Idempotent-Replayed: true`",
    () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const idempotencyKey = newKey()
        const first = yield* create(key, {}, idempotencyKey)
        assert.isUndefined(first.headers["idempotent-replayed"])
        for (let repeat = 0; repeat < 2; repeat++) {
          const { body, headers, status } = yield* create(key, {}, idempotencyKey)
          assert.deepStrictEqual([status, headers["idempotent-replayed"], body], [201, "true", first.body])
        }
        assert.deepStrictEqual((yield* listed(key)).data, [first.body])
      })
  )

  it.effect.each([
    { name: "another amount", body: { ...someCharge, amount: 5000 } },
    { name: "an amount that is refused", body: { ...someCharge, amount: 1 } },
    { name: "an unsupported method", body: { ...someCharge, method: "boleto" } },
    { name: "a bad document", body: { ...someCharge, customer: { ...someCustomer, document: "1" } } },
    { name: "a private webhook_url", body: { ...someCharge, webhook_url: "http://localhost/" } },
    { name: "a webhook_url that is none", body: { ...someCharge, webhook_url: "x" } },
    {
      name: "a payer whom the acquirer refuses",
      body: { ...someCharge, customer: { ...someCustomer, email: "refuse@simulator.test" } }
    },
    { name: "an empty object", body: {} },
    { name: "an array", body: [] },
    { name: "malformed JSON", body: "{" },
    { name: "no body", body: undefined }
  ])("IDEM-4: replay of a known key … whatever the body says: $name", ({ body }) =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      const idempotencyKey = newKey()
      const charge = yield* created(key, {}, idempotencyKey)
      const replayed = yield* call("POST", "/v1/charges", { key, idempotencyKey, body })
      assert.deepStrictEqual(
        [replayed.status, replayed.headers["idempotent-replayed"], replayed.body],
        [201, "true", charge]
      )
      assert.lengthOf((yield* listed(key)).data, 1)
    })
  )

  it.effect("IDEM-4: the resource as it is now: paid meanwhile, of an account that is inactive meanwhile", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* caller
      const idempotencyKey = newKey()
      const { id } = yield* created(key, {}, idempotencyKey)
      yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
      const paid = yield* until(retrieve(key, id), ({ body }) => body.status === "paid")
      yield* operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { status: "inactive" } })
      const replayed = yield* create(key, {}, idempotencyKey)
      assert.strictEqual(replayed.status, 201, replayed.text)
      assert.deepStrictEqual(replayed.body, paid.body)
    })
  )

  it.effect("what was refused before it was stored does not use up its key", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const idempotencyKey = newKey()
      assertRefused(yield* create(key, { amount: 1 }, idempotencyKey), "AMOUNT_BELOW_MINIMUM", ["amount"])
      const { headers, status } = yield* create(key, {}, idempotencyKey)
      assert.deepStrictEqual([status, headers["idempotent-replayed"]], [201, undefined])
    })
  )

  it.effect("IDEM-3: unique per application: two applications of the same account may use the same value", () =>
    Effect.gen(function* () {
      const { makeApplication, makeKey } = yield* TestService
      const { accountId, applicationId, key } = yield* caller
      const other = yield* makeKey(yield* makeApplication(accountId))
      const sibling = yield* makeKey(applicationId)
      const idempotencyKey = newKey()
      const one = yield* created(key, {}, idempotencyKey)
      const two = yield* create(other.key, {}, idempotencyKey)
      assert.strictEqual(two.status, 201)
      assert.isUndefined(two.headers["idempotent-replayed"])
      assert.notStrictEqual(two.body.id, one.id)
      assert.strictEqual((yield* create(sibling.key, {}, idempotencyKey)).body.id, one.id, "of every key of one")
      const stranger = yield* caller
      assert.notInclude([one.id, two.body.id], (yield* created(stranger.key, {}, idempotencyKey)).id)
    })
  )

  it.effect("IDEM-7: a key is valid as long as its resource exists", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* caller
      const idempotencyKey = newKey()
      const { id } = yield* created(key, {}, idempotencyKey)
      yield* sql`UPDATE charges SET created_at = now() - interval '10 years', expires_at = now() - interval '9 years'
        WHERE id = ${id}::uuid`
      assert.strictEqual((yield* create(key, {}, idempotencyKey)).body.id, id)
    })
  )

  it.effect(
    "IDEM-5: fifty calls with one new key at the same time: one resource; the losers get the winner's as a replay",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { makeKey } = yield* TestService
        const { accountId, applicationId, key } = yield* caller
        const sibling = yield* makeKey(applicationId)
        const idempotencyKey = newKey()
        let unavailable = 0
        const answers = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => index),
          (index) =>
            whenFree(
              Effect.tap(
                create(index % 2 === 0 ? key : sibling.key, { amount: 1000 + index }, idempotencyKey),
                ({ status }) => Effect.sync(() => void (unavailable += status === 503 ? 1 : 0))
              )
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [201])
        const [first, ...others] = new Set(answers.map(({ body }) => `${body.id} ${body.amount}`))
        assert.deepStrictEqual(others, [], "same id and amount everywhere")
        // The winner's own answer may have been a 503, whose repetition is a replay.
        const firsts = answers.filter(({ headers }) => headers["idempotent-replayed"] === undefined)
        assert.include(unavailable === 0 ? [1] : [0, 1], firsts.length)
        const stored = yield* sql`SELECT id, amount::integer FROM charges WHERE account_id = ${accountId}::uuid`
        assert.deepStrictEqual(
          stored.map(({ amount, id }) => `${String(id)} ${String(amount)}`),
          [first]
        )
        const emitted =
          yield* sql`SELECT name FROM events WHERE account_id = ${accountId}::uuid ORDER BY sequence, name`
        assert.deepStrictEqual(emitted, [{ name: "charge.pix.created" }, { name: "charge.pix.emitted" }])
      })
  )

  it.effect("IDEM-5: many keys, each called several times at the same time: one resource for each", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const keys = Array.from({ length: 20 }, newKey)
      const answers = yield* Effect.forEach(
        [...keys, ...keys, ...keys],
        (idempotencyKey) =>
          Effect.map(whenFree(create(key, {}, idempotencyKey)), ({ body }) => [idempotencyKey, body.id] as const),
        { concurrency: "unbounded" }
      )
      const ids = new Set(answers.map(([, id]) => id))
      assert.lengthOf([...ids], 20)
      assert.lengthOf([...new Set(answers.map((pair) => pair.join()))], 20)
    })
  )

  it.effect("IDEM-6: concurrent calls that the acquirer refuses: one `failed` charge, with one refusal", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const idempotencyKey = newKey()
      const answers = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => create(key, { customer: { ...someCustomer, email: "refuse@simulator.test" } }, idempotencyKey),
        { concurrency: "unbounded" }
      )
      const refused = answers.filter(({ status }) => status === 422)
      assert.lengthOf(refused, 1)
      assertRefused(refused[0]!, "ACQUIRER_REJECTED")
      assert.lengthOf(
        answers.filter(({ status }) => status === 201),
        9
      )
      const { data } = yield* listed(key)
      assert.lengthOf(data, 1)
      assert.strictEqual(data[0]?.status, "failed")
    })
  )

  it.effect("IDEM-8: read routes and webhook management ignore the header", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const { key } = yield* caller
      const { id } = yield* created(key)
      for (const path of ["/v1/charges", `/v1/charges/${id}`, "/v1/account"]) {
        assert.strictEqual((yield* call<Charge>("GET", path, { key, idempotencyKey: "x" })).status, 200)
      }
      const body = { url: "https://loja.example/hooks", events: ["charge.pix.paid"] }
      const register = call("POST", "/v1/webhooks", { key, idempotencyKey: "12345678", body })
      const [first, second] = [yield* register, yield* register]
      assert.deepStrictEqual([first.status, second.status], [201, 201])
      assert.notStrictEqual(first.body["id"], second.body["id"])
      assert.isUndefined(second.headers["idempotent-replayed"])
    })
  )
})
