/** `POST /v1/charges`: the answer. */
import { assert, layer } from "@effect/vitest"
import { type Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { assertRefused, create, created, instant, retrieve, uuid7, withCustomer } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"

// Recovery begins after every test has ended.
layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "POST /v1/charges",
  (it) => {
    const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

    it.effect(
      "API-1, API-4, CHG-18, CHG-22: Response 201 with a `charge` object: every field of the contract, with its type",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const { body, headers, status } = yield* create(key, {
            method: "pix",
            description: "Pão francês",
            reference: "pedido-1",
            expires_in: 3600,
            webhook_url: "https://loja.example/hook",
            webhook_secret: "segredo-segredo",
            ...withCustomer({ phone: "+5511999998888" })
          })
          assert.strictEqual(status, 201)
          assert.match(String(headers["content-type"]), /^application\/json/)
          assert.isUndefined(headers["idempotent-replayed"])
          const { created_at, expires_at, id, pix, ...rest } = body
          assert.match(id, uuid7)
          assert.match(created_at, instant)
          assert.match(String(expires_at), instant)
          assert.strictEqual(Date.parse(String(expires_at)) - Date.parse(created_at), 3_600_000)
          assert.hasAllKeys(pix, ["br_code", "end_to_end_id"])
          assert.match(String(pix.br_code), /^000201.*5303986.*540510\.00.*6304[0-9A-F]{4}$/)
          assert.isNull(pix.end_to_end_id)
          assert.deepStrictEqual<unknown>(rest, {
            object: "charge",
            status: "pending",
            amount: 1000,
            currency: "BRL",
            method: "pix",
            description: "Pão francês",
            reference: "pedido-1",
            customer: { name: "Maria Silva", email: "maria@example.com", document: "52998224725" },
            receiver: {
              name: "Padaria do Zé",
              document: "11222333000181",
              pix_key: "11222333000181",
              pix_key_type: "cnpj",
              institution_name: "Simulated Acquirer",
              institution_ispb: "00000000",
              branch: "0001",
              account: "1",
              account_type: "payment"
            },
            webhook_url: "https://loja.example/hook",
            paid_at: null,
            refunded_amount: 0,
            failure_reason: null,
            sequence: 2
          })
        })
    )

    it.effect("CHG-14: optional fields that are absent are null, and the account default of 86400 s applies", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charge = yield* created(key)
        assert.isNull(charge.description)
        assert.isNull(charge.reference)
        assert.isNull(charge.webhook_url)
        assert.strictEqual(charge.method, "pix")
        assert.strictEqual(Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at), 86_400_000)
      })
    )

    it.effect("CHG-14: default `expires_in`: a setting of each account", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller({ account: { default_expires_in: 600 } })
        const charge = yield* created(key)
        assert.strictEqual(Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at), 600_000)
      })
    )

    it.effect("API-6: `null` for an optional field is the same as absent on creation", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charge = yield* created(key, {
          method: null,
          description: null,
          reference: null,
          expires_in: null,
          webhook_url: null,
          webhook_secret: null,
          ...withCustomer({ phone: null })
        })
        assert.strictEqual(charge.method, "pix")
        assert.deepStrictEqual([charge.description, charge.reference, charge.webhook_url], [null, null, null])
        assert.strictEqual(Date.parse(String(charge.expires_at)) - Date.parse(charge.created_at), 86_400_000)
      })
    )

    it.effect("CHG-21: The secret is never returned", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const secret = "segredo-que-nunca-volta"
        const made = yield* create(key, { webhook_url: "https://loja.example/", webhook_secret: secret })
        const read = yield* retrieve(key, made.body.id)
        const list = yield* call("GET", "/v1/charges", { key })
        for (const { text } of [made, read, list]) assert.notInclude(text, "segredo")
      })
    )

    it.effect("API-5: unknown fields in a request body: ignored, `__proto__` and `constructor` among them", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const body = `{"amount":1000,"id":"x","status":"paid","paid_at":"2020-01-01T00:00:00Z","__proto__":{"reference":"p",
          "expires_in":60},"constructor":{"prototype":{"x":1}},"customer":{"name":"Maria","email":"m@example.com",
          "document":"52998224725","__proto__":{"phone":5},"x":[[]]},"toString":1,"hasOwnProperty":null}`
        const answer = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body })
        assert.strictEqual(answer.status, 201, answer.text)
        assert.strictEqual(answer.body.status, "pending")
        assert.isNull(answer.body.reference)
        assert.isNull(answer.body.paid_at)
        assert.strictEqual(Date.parse(String(answer.body.expires_at)) - Date.parse(answer.body.created_at), 86_400_000)
        assert.hasAllKeys(answer.body.customer, ["name", "email", "document"])
      })
    )

    it.effect("API-3: ids: UUIDv7, so that id order follows creation order", () =>
      Effect.gen(function* () {
        const { key } = yield* caller
        const charges = yield* Effect.forEach(Array.from({ length: 20 }), () => created(key))
        const ids = charges.map(({ id }) => id)
        assert.deepStrictEqual(ids.toSorted(), ids)
        for (const { created_at, id } of charges) {
          assert.strictEqual(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16), Date.parse(created_at))
        }
      })
    )

    it.effect("CHG-24: `webhook_url` stays as it was at creation, whatever a repeat of the call says", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { key } = yield* caller
        const idempotencyKey = newKey()
        const charge = yield* created(key, { webhook_url: "https://loja.example/first" }, idempotencyKey)
        const repeat = yield* create(key, { webhook_url: "https://loja.example/second" }, idempotencyKey)
        assert.strictEqual(repeat.body.webhook_url, "https://loja.example/first")
        const body = { webhook_url: "https://loja.example/third" }
        for (const method of ["PATCH", "PUT", "POST"]) {
          assertRefused(yield* call(method, `/v1/charges/${charge.id}`, { key, body }), "METHOD_NOT_ALLOWED")
        }
        assertRefused(yield* call("PATCH", `/v1/payouts/${charge.id}`, { key, body }), "METHOD_NOT_ALLOWED")
        assert.strictEqual((yield* retrieve(key, charge.id)).body.webhook_url, "https://loja.example/first")
      })
    )
  }
)
