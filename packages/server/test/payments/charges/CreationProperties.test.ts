/** `POST /v1/charges` with generated bodies. */
import { assert, layer } from "@effect/vitest"
import { type Charge, CreateCharge } from "@pix-payments/domain/Charge"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assertRefused, create, type ErrorBody, retrieve } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"

layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "POST /v1/charges with any body",
  (it) => {
    const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

    const AnyRequest = Schema.Struct({
      ...CreateCharge.fields,
      customer: Schema.Struct({
        ...CreateCharge.fields.customer.fields,
        email: Schema.String.check(Schema.isPattern(/^[a-z]{1,10}@[a-z]{1,10}\.[a-z]{2,3}$/))
      })
    })

    it.effect.prop(
      "CHG-22: any valid request is accepted, and comes back field by field",
      [AnyRequest],
      ([request]) =>
        Effect.gen(function* () {
          const { call, makeCaller } = yield* TestService
          const { key } = yield* makeCaller()
          const answer = yield* call<Charge>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body: request })
          assert.strictEqual(answer.status, 201, answer.text)
          const read = yield* retrieve(key, answer.body.id)
          assert.deepStrictEqual(read.body, answer.body)
          const { email, name, document: payer } = request.customer
          assert.deepStrictEqual<unknown>(answer.body.customer, { name, email, document: payer })
          assert.strictEqual(answer.body.amount, request.amount)
          assert.strictEqual(answer.body.description, request.description ?? null)
          assert.strictEqual(answer.body.reference, request.reference ?? null)
          assert.strictEqual(answer.body.webhook_url, request.webhook_url ?? null)
          assert.strictEqual(
            Date.parse(String(answer.body.expires_at)) - Date.parse(answer.body.created_at),
            (request.expires_in ?? 86_400) * 1000
          )
        }),
      { arbitrary: { runs: 50 } }
    )

    const CodeUnits = Arbitrary.map(
      Arbitrary.array(
        Arbitrary.schema(
          Schema.Union([
            Schema.Int.check(Schema.isBetween({ minimum: 0x20, maximum: 0x7e })),
            Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })),
            Schema.Literals([9, 10, 13, 0, 0x85, 0x2028, 0xd83e, 0xdd56, 0xd83e, 0xdd56, 0xfffe, 0xffff])
          ])
        ),
        { maxLength: 8 }
      ),
      (units) => String.fromCharCode(...units)
    )

    it.effect.prop(
      "API-10: any string as description is given back, or is a `VALIDATION_ERROR` of it",
      [CodeUnits],
      ([text]) =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const answer = yield* create(key, { description: text })
          const isTextOfTheContract = text.isWellFormed() && !/\p{Cc}/u.test(text.replaceAll(/[\t\n\r]/g, ""))
          if (!isTextOfTheContract) return assertRefused(answer, "VALIDATION_ERROR", ["description"])
          assert.strictEqual(answer.status, 201, answer.text)
          assert.strictEqual(answer.body.description, text)
          assert.strictEqual((yield* retrieve(key, answer.body.id)).body.description, text)
        }),
      { arbitrary: { runs: 100 } }
    )

    const fieldNames = [...Object.keys(CreateCharge.fields), "x"]
    const AnyBody = Schema.Record(Schema.Literals(fieldNames as [string, ...Array<string>]), Schema.Json)

    it.effect.prop(
      "ERR-11: any JSON as a body is answered 201 or with a code of the contract, never 500",
      [AnyBody],
      ([body]) =>
        Effect.gen(function* () {
          const { call } = yield* TestService
          const { key } = yield* caller
          const answer = yield* call<ErrorBody>("POST", "/v1/charges", { key, idempotencyKey: newKey(), body })
          assert.include([201, 400, 422], answer.status, answer.text)
        }),
      { arbitrary: { runs: 100 } }
    )

    it.effect.prop(
      "ERR-3, ERR-14: any JSON as a field is answered 201 or refused for that field",
      [
        Schema.Literals([
          "amount",
          "method",
          "description",
          "reference",
          "expires_in",
          "webhook_url",
          "webhook_secret"
        ]),
        Schema.Json
      ],
      ([field, value]) =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const answer = yield* create(key, { [field]: value })
          if (answer.status === 201) return
          assert.include([400, 422], answer.status, answer.text)
          assert.deepStrictEqual((answer.body as unknown as ErrorBody).details, [field])
        }),
      { arbitrary: { runs: 100 } }
    )
  }
)
