/** `Idempotency-Key` of payouts. */
import { assert, layer } from "@effect/vitest"
import type { Payout } from "@pix-payments/domain/Payout"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../../../support/ChargeRequests.ts"
import {
  availableOf,
  funded,
  holding,
  listedPayouts,
  operated,
  type OperatorPayout,
  paidOut,
  payOut,
  payoutReaching,
  retrievePayout,
  somePayout
} from "../../../support/Money.ts"
import { loopback } from "../../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Idempotency-Key", (it) => {
  it.effect("a repeat does not wait for a transaction that changes its payout", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { call } = yield* TestService
      const { key } = yield* funded(10_000)
      const idempotencyKey = newKey()
      const create = call("POST", "/v1/payouts", { key, idempotencyKey, body: somePayout })
      const { body } = yield* create
      // Nothing else changes it any more: the change to `completed` would wait for it with the account's balance locked.
      yield* payoutReaching(key, String(body["id"]), "completed")
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`UPDATE payouts SET description = 'changing' WHERE id = ${String(body["id"])}::uuid`
          const repeated = yield* create
          assert.deepStrictEqual([repeated.status, repeated.body["id"]], [201, body["id"]])
        })
      )
    })
  )

  it.effect(
    "IDEM-1, IDEM-2, ERR-2: 401 key, 403 scope, 400 IDEMPOTENCY_KEY_REQUIRED, and 8 to 255 visible ASCII characters",
    () =>
      Effect.gen(function* () {
        const { call, makeKey } = yield* TestService
        const { applicationId, key } = yield* funded(5000)
        const { key: reader } = yield* makeKey(applicationId, { scopes: ["payout:read"] })
        const { key: writer } = yield* makeKey(applicationId, { scopes: ["payout:write"] })
        const { key: stranger } = yield* makeKey(applicationId, { scopes: ["charge:read", "charge:write"] })
        const body = somePayout
        assertRefused(yield* call("POST", "/v1/payouts", { body }), "UNAUTHORIZED")
        assertRefused(yield* call("POST", "/v1/payouts", { key: reader, body }), "INSUFFICIENT_SCOPE", ["payout:write"])
        assertRefused(yield* call("POST", "/v1/payouts", { key: writer, body: "{" }), "IDEMPOTENCY_KEY_REQUIRED")
        assertRefused(yield* payOut(writer, {}, ""), "IDEMPOTENCY_KEY_REQUIRED")
        for (const bad of ["1234567", "x".repeat(256), "1234 5678"]) {
          assertRefused(yield* payOut(writer, { amount: 1 }, bad), "VALIDATION_ERROR", ["Idempotency-Key"])
        }
        const { id } = yield* paidOut(writer, {}, "12345678")
        assert.notStrictEqual((yield* paidOut(writer, {}, "x".repeat(255))).id, id)
        assertRefused(yield* call("GET", `/v1/payouts/${id}`, { key: writer }), "INSUFFICIENT_SCOPE", ["payout:read"])
        assertRefused(yield* call("GET", "/v1/payouts", { key: writer }), "INSUFFICIENT_SCOPE", ["payout:read"])
        assertRefused(yield* call("GET", "/v1/balance", { key: stranger }), "INSUFFICIENT_SCOPE", ["balance:read"])
        assertRefused(yield* call("GET", "/v1/account", { key: stranger }), "INSUFFICIENT_SCOPE", ["account:read"])
        assert.strictEqual((yield* retrievePayout(reader, id)).status, 200)
        assert.strictEqual((yield* retrievePayout(key, id)).status, 200)
      })
  )

  it.effect(
    "IDEM-4: Repeating a call with the same key returns the resource as it is now, 201, `Idempotent-Replayed: true`",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { accountId, key } = yield* funded(500)
        const idempotencyKey = newKey()
        const { id } = yield* paidOut(key, {}, idempotencyKey)
        const completed = yield* payoutReaching(key, id, "completed")
        // Whatever the body says, without funds, and on an inactive account.
        yield* operated("PATCH", `/accounts/${accountId}`, { status: "inactive", onboarding_status: "rejected" })
        const bodies: ReadonlyArray<unknown> = [
          somePayout,
          { ...somePayout, amount: 800 },
          { ...somePayout, amount: 1 },
          { ...somePayout, method: "ted" },
          { ...somePayout, pix_key_type: "cpf", pix_key: "1" },
          { ...somePayout, webhook_url: "http://10.0.0.1/" },
          { ...somePayout, webhook_url: "no url" },
          {},
          [],
          "{",
          "",
          "\u0000"
        ]
        for (const body of bodies) {
          const again = yield* call<Payout>("POST", "/v1/payouts", { key, idempotencyKey, body })
          assert.deepStrictEqual(
            [again.status, again.headers["idempotent-replayed"], again.body],
            [201, "true", completed]
          )
        }
        assert.strictEqual((yield* listedPayouts(key)).data.length, 1)
        assert.strictEqual(yield* availableOf(key), 0)
      })
  )

  it.effect(
    "IDEM-3: Its scope is (application, kind of resource): the same value on a charge and on a payout are two operations",
    () =>
      Effect.gen(function* () {
        const { makeApplication, makeKey } = yield* TestService
        const { accountId, key } = yield* funded(5000)
        const { key: other } = yield* makeKey(yield* makeApplication(accountId))
        const { key: stranger } = yield* funded(5000)
        const idempotencyKey = newKey()
        const charge = yield* created(key, {}, idempotencyKey)
        const first = yield* paidOut(key, {}, idempotencyKey)
        assert.strictEqual(first.object, "payout")
        assert.strictEqual((yield* created(key, {}, idempotencyKey)).id, charge.id)
        const second = yield* paidOut(other, {}, idempotencyKey)
        const third = yield* paidOut(stranger, {}, idempotencyKey)
        const fourth = yield* operated<OperatorPayout>("POST", `/accounts/${accountId}/payouts`, somePayout, 201)
        assert.strictEqual(new Set([charge.id, first.id, second.id, third.id, fourth.id]).size, 5)
        assert.strictEqual((yield* paidOut(other, {}, idempotencyKey)).id, second.id)
        assert.strictEqual(yield* availableOf(key), 3500)
      })
  )

  it.effect(
    "IDEM-5: two calls with one new key at the same time: one resource, the loser gets the winner's as a replay",
    () =>
      Effect.gen(function* () {
        const { key } = yield* funded(100_000)
        const idempotencyKey = newKey()
        const answers = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => index),
          (index) => payOut(key, { amount: 500 + index, ...holding }, idempotencyKey),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
        assert.strictEqual(new Set(answers.map(({ body }) => body.id)).size, 1)
        assert.strictEqual(answers.filter(({ headers }) => headers["idempotent-replayed"] === undefined).length, 1)
        const { data } = yield* listedPayouts(key)
        assert.strictEqual(data.length, 1)
        assert.strictEqual(yield* availableOf(key), 100_000 - data[0]!.amount)
      })
  )

  it.effect("a refused call claims no idempotency key", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(500)
      const idempotencyKey = newKey()
      const refused = yield* Effect.forEach([{ amount: 499 }, { amount: 501 }, { pix_key: "" }], (fields) =>
        payOut(key, fields, idempotencyKey)
      )
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        [400, 400, 400]
      )
      assert.strictEqual((yield* payOut(key, {}, idempotencyKey)).headers["idempotent-replayed"], undefined)
    })
  )
  it.effect("IDEM-10, OPR-202: take an optional `Idempotency-Key`", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000)
      const ask = (idempotencyKey?: string, fields: Fields = {}) =>
        operate<OperatorPayout>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          idempotencyKey,
          body: { ...somePayout, ...fields }
        })
      const idempotencyKey = newKey()
      const first = yield* ask(idempotencyKey)
      assertRefused(yield* ask(idempotencyKey, { amount: 700 }), "IDEMPOTENCY_KEY_REUSED")
      const again = yield* ask(idempotencyKey)
      assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [201, "true"])
      assert.strictEqual(again.body.id, first.body.id)
      const ids = [
        first.body.id,
        (yield* ask()).body.id,
        (yield* ask()).body.id,
        (yield* paidOut(key, {}, idempotencyKey)).id
      ]
      assert.strictEqual(new Set(ids).size, 4)
      assert.strictEqual(yield* availableOf(key), 8000)
    })
  )
})
