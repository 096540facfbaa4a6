/** How the acquirer answers the emission of a charge. */
import { assert, layer } from "@effect/vitest"
import { parseBrCode } from "@pix-payments/domain/BrCode"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import {
  assertRefused,
  create,
  created,
  type ErrorBody,
  instant,
  listed,
  retrieve,
  someCharge,
  someCustomer,
  until,
  withCustomer
} from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"

// Recovery begins after every test has ended.
layer(TestService.layer({ settings: { acquirerTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "Emission",
  (it) => {
    const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

    const refusal = { customer: { ...someCustomer, email: "refuse@simulator.test" } }

    it.effect(
      "CHG-1, CHG-3, CHG-23, IDEM-6: On refusal, the 422 body carries `charge_id`, and GET on it returns `failed` with `failure_reason`",
      () =>
        Effect.gen(function* () {
          const { key } = yield* caller
          const idempotencyKey = newKey()
          const answer = yield* create(key, refusal, idempotencyKey)
          assertRefused(answer, "ACQUIRER_REJECTED")
          const { charge_id, message } = answer.body as unknown as ErrorBody
          assert.strictEqual(message, "simulated refusal")

          const { body, status } = yield* retrieve(key, String(charge_id))
          assert.strictEqual(status, 200)
          assert.strictEqual(body.id, charge_id)
          assert.strictEqual(body.status, "failed")
          assert.strictEqual(body.failure_reason, "simulated refusal")
          assert.deepStrictEqual(body.pix, { br_code: null, end_to_end_id: null })
          assert.isNull(body.receiver)
          assert.isNull(body.paid_at)

          for (const query of ["", "?status=failed"]) {
            assert.deepStrictEqual((yield* listed(key, query)).data, [body], `A refused charge still exists: ${query}`)
          }

          const replayed = yield* create(key, refusal, idempotencyKey)
          assert.deepStrictEqual([replayed.status, replayed.headers["idempotent-replayed"]], [201, "true"])
          assert.deepStrictEqual(replayed.body, body)

          const again = yield* create(key, {}, newKey())
          assert.strictEqual(again.status, 201, "a new key is needed to try again")
          assert.notStrictEqual(again.body.id, charge_id)
        })
    )

    it.effect("CHG-17: no account name makes a charge fail: the merchant name is transliterated", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        for (const [name, document, merchant] of [
          ["日本の店", "11222333000181", "PIX 11222333"],
          ["🍕", "52998224725", "PIX 982247"],
          ["Пекарня Ёж", "11222333000181", "Pekarnya Yozh"],
          ["Pão & Açúcar", "11222333000181", "Pao & Acucar"]
        ] as const) {
          const { key } = yield* makeCaller({ account: { name, document } })
          const { pix, receiver } = yield* created(key)
          assert.strictEqual(Result.getOrThrow(parseBrCode(String(pix.br_code))).merchantName, merchant)
          assert.strictEqual(receiver?.name, name)
        }
      })
    )

    it.effect(
      "CHG-1: The charge is stored before the acquirer is called; a caller that hangs up still gets its charge",
      () =>
        Effect.gen(function* () {
          const { call } = yield* TestService
          const { key } = yield* caller
          const idempotencyKey = newKey()
          const slow = { ...someCharge, customer: { ...someCustomer, email: "slow@simulator.test" } }
          const creation = yield* Effect.forkChild(call("POST", "/v1/charges", { key, idempotencyKey, body: slow }))
          const [stored] = (yield* until(listed(key), (list) => list.data.length > 0)).data
          assert.strictEqual(stored?.status, "processing")
          assert.deepStrictEqual(stored?.pix, { br_code: null, end_to_end_id: null })
          const id = String(stored?.id)
          assert.deepStrictEqual<unknown>((yield* listed(key, "?status=processing")).data, [stored])
          assert.deepStrictEqual<unknown>((yield* retrieve(key, id)).body, stored)

          yield* Fiber.interrupt(creation)
          const { body } = yield* until(retrieve(key, id), (answer) => answer.body.status !== "processing")
          assert.strictEqual(body.status, "pending")
          assert.isString(body.pix.br_code)
          const replayed = yield* call("POST", "/v1/charges", { key, idempotencyKey, body: slow })
          assert.strictEqual(replayed.body.id, body.id)
        })
    )

    it.effect("CHG-16, CHG-23: `paid` confirmed by the acquirer: `paid_at` and `pix.end_to_end_id` are filled", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { key } = yield* caller
        const { id } = yield* created(key)
        const paid = yield* operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
        assert.strictEqual(paid.status, 200, paid.text)
        const { body } = yield* until(retrieve(key, id), (answer) => answer.body.status === "paid")
        assert.match(String(body.paid_at), instant)
        assert.match(String(body.pix.end_to_end_id), /^E\d{8}\d{12}[0-9A-Za-z]{11}$/)
        assert.isNull(body.failure_reason)
        assert.deepStrictEqual((yield* listed(key, "?status=paid")).data, [body])
        assert.deepStrictEqual((yield* listed(key, "?status=pending")).data, [])
      })
    )
  }
)

layer(TestService.layer({ settings: { acquirerTimeoutMs: 50 } }), { excludeTestServices: true })(
  "An acquirer that does not answer in time",
  (it) => {
    it.effect("CHG-4: the call waits for certainty, then answers 201 `processing`; recovery finishes it", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const charge = yield* created(key, withCustomer({ email: "timeout@simulator.test" }))
        assert.strictEqual(charge.status, "processing")
        assert.isNull(charge.pix.br_code)
        const { body } = yield* until(retrieve(key, charge.id), (answer) => answer.body.status !== "processing")
        assert.strictEqual(body.status, "pending")
        assert.strictEqual(body.expires_at, charge.expires_at, "`expires_at` counts from storing")
      })
    )
  }
)
