// @effect-diagnostics strictEffectProvide:off -- each test is a separate application
import { assert, layer } from "@effect/vitest"
import { secretKey, someCharge } from "@pix-payments/client/test/Samples"
import { TestService } from "@pix-payments/server/test/TestService"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { inspect } from "node:util"
import { type Charge, PaymentsClient, PaymentsError } from "../src/index.ts"

/** Provides a client with its own account. */
const withClient = <A, E>(program: Effect.Effect<A, E, PaymentsClient | TestService>) =>
  Effect.gen(function* () {
    const { makeCaller, publicUrl } = yield* TestService
    const { key } = yield* makeCaller()
    return yield* Effect.provide(program, PaymentsClient.layer({ baseUrl: publicUrl, apiKey: Redacted.make(key) }))
  })

layer(TestService.layer(), { excludeTestServices: true })("the Effect client over a real service", (it) => {
  it.effect("creates, retrieves and lists charges; lists are streams over all pages", () =>
    withClient(
      Effect.gen(function* () {
        const payments = yield* PaymentsClient
        const made: Array<string> = []
        for (let count = 0; count < 5; count++) made.unshift((yield* payments.charges.create(someCharge)).id)
        const charge = yield* payments.charges.retrieve(made[0]!)
        assert.match(charge.pix.br_code ?? "", /^000201/)
        const idsOf = <E>(stream: Stream.Stream<Charge, E>) => Stream.runCollect(Stream.map(stream, ({ id }) => id))
        assert.deepStrictEqual(yield* idsOf(payments.charges.list({ limit: 2 })), made)
        assert.deepStrictEqual(yield* idsOf(Stream.take(payments.charges.list({ limit: 2 }), 3)), made.slice(0, 3))
        assert.deepStrictEqual(yield* idsOf(payments.charges.list({ status: "paid" })), [])
        assert.strictEqual((yield* payments.balance.retrieve()).total, 0)
        assert.strictEqual((yield* payments.account.retrieve()).object, "account")
      })
    )
  )

  it.effect("creates, updates and deletes webhook endpoints", () =>
    withClient(
      Effect.gen(function* () {
        const { webhooks } = yield* PaymentsClient
        const made = yield* webhooks.create({ url: "https://1.1.1.1/hooks", events: ["charge.pix.paid"] })
        assert.isFalse((yield* webhooks.update(made.id, { active: false, description: undefined })).active)
        assert.strictEqual((yield* Stream.runCollect(webhooks.list())).length, 1)
        assert.isUndefined(yield* webhooks.delete(made.id))
        assert.strictEqual((yield* Stream.runCollect(webhooks.events())).length, 37)
      })
    )
  )

  it.effect("fails with one tagged error, whose reason is tagged with the error code", () =>
    withClient(
      Effect.gen(function* () {
        const payments = yield* PaymentsClient
        const payout = payments.payouts.create({ amount: 500, pix_key_type: "email", pix_key: "ana@example.com" })
        const poor = yield* payout.pipe(
          Effect.catchReason("PaymentsError", "INSUFFICIENT_BALANCE", (reason) => Effect.succeed(reason.status))
        )
        assert.strictEqual(poor, 400)
        const customer = { ...someCharge.customer, email: "refuse@simulator.test" }
        const rejected = yield* payments.charges
          .create({ ...someCharge, customer })
          .pipe(
            Effect.catchReason("PaymentsError", "ACQUIRER_REJECTED", ({ charge_id }) =>
              payments.charges.retrieve(charge_id)
            )
          )
        assert.strictEqual((rejected as Charge).status, "failed")
        const invalid = yield* Effect.flip(payments.charges.create({ ...someCharge, expires_in: 1 }))
        assert.instanceOf(invalid, PaymentsError)
        assert.strictEqual(invalid.reason._tag, "VALIDATION_ERROR")
        assert.strictEqual(invalid.operation, "charges.create")
        assert.match(invalid.idempotencyKey ?? "", /^[0-9a-f-]{36}$/)
        assert.match(invalid.requestId ?? "", /^[0-9a-f-]{36}$/)
        const unsent = yield* Effect.flip(payments.charges.create({ ...someCharge, amount: 99 }))
        assert.strictEqual(unsent.reason._tag, "UsageError")
        assert.strictEqual(unsent.message, "charges.create: amount must be at least 100 cents, got 99")
        const missing = yield* Effect.flip(payments.charges.retrieve("no/such"))
        assert.strictEqual(missing.reason._tag, "CHARGE_NOT_FOUND")
      })
    )
  )

  it.effect("each call of create has its own key for all runs of its effect, visible in the response", () =>
    withClient(
      Effect.gen(function* () {
        const payments = yield* PaymentsClient
        const create = payments.withResponse.charges.create(someCharge)
        const [one, repeated] = [yield* create, yield* create]
        assert.deepStrictEqual([repeated.data.id, repeated.response.replayed], [one.data.id, true])
        assert.strictEqual(repeated.response.idempotencyKey, one.response.idempotencyKey)
        const other = yield* payments.withResponse.charges.create(someCharge)
        assert.notStrictEqual(one.data.id, other.data.id)
        assert.notStrictEqual(one.response.idempotencyKey, other.response.idempotencyKey)
        const both = yield* Effect.all([create, create], { concurrency: 2 })
        assert.deepStrictEqual(
          both.map(({ data }) => data.id),
          [one.data.id, one.data.id]
        )
        const again = yield* payments.withResponse.charges.create(someCharge, {
          idempotencyKey: one.response.idempotencyKey
        })
        assert.deepStrictEqual([again.data.id, again.response.replayed], [one.data.id, true])
        assert.deepStrictEqual([one.response.status, one.response.attempts, one.response.replayed], [201, 1, false])
        assert.strictEqual(one.response.headers["x-request-id"], one.response.requestId)
      })
    )
  )

  it.effect("layerConfig reads its settings from Config", () =>
    Effect.gen(function* () {
      const { makeCaller, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      const read = (env: Record<string, string>) =>
        Effect.flatMap(PaymentsClient, ({ balance }) => balance.retrieve()).pipe(
          Effect.provide(
            PaymentsClient.layerConfig.pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))
          )
        )
      const env = { PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key }
      assert.strictEqual((yield* read(env)).total, 0)
      assert.strictEqual((yield* read({ ...env, PAYMENTS_TIMEOUT: "10 seconds", PAYMENTS_MAX_RETRIES: "0" })).total, 0)
      assert.include(String(yield* Effect.flip(read({ PAYMENTS_URL: publicUrl }))), "PAYMENTS_API_KEY")
      const invalid = yield* Effect.flip(read({ ...env, PAYMENTS_API_KEY: `${secretKey} ` }))
      assert.strictEqual(invalid._tag, "PaymentsError")
      assert.notInclude(inspect(invalid, { depth: Infinity }), secretKey)
    })
  )
})
