// @effect-diagnostics strictEffectProvide:off -- each test is a separate application
/** What the Effect client repeats, under which key, and what it takes the answer to a repetition for. */
import { assert, describe, it } from "@effect/vitest"
import { chargeOf, payoutOf, someCharge } from "@pix-payments/client/test/Samples"
import { json, type ReceivedRequest } from "@pix-payments/client/test/Stub"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import { PaymentsClient } from "../src/index.ts"
import { balance, create, oops, withFastClock, withStub } from "./support/Stub.ts"

describe("retries of the Effect client", () => {
  it.effect("retries with the same idempotency key, each attempt with its own request id", () =>
    Effect.gen(function* () {
      const { requests, result } = yield* withFastClock(
        withStub(
          (response, _, count) => {
            if (count === 1) return void response.destroy()
            if (count === 2) return json(response, 502, "<html>")
            if (count === 3) return void response.writeHead(201).end(`{"id":`)
            if (count === 4) return json(response, 429, { code: "RATE_LIMITED", message: "" }, { "retry-after": "30" })
            json(response, 201, chargeOf())
          },
          create,
          { maxRetries: 4 }
        )
      )
      assert.strictEqual(result.response.attempts, 5)
      assert.strictEqual(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size, 1)
      assert.strictEqual(new Set(requests.map(({ headers }) => headers["x-request-id"])).size, 5)
    })
  )

  it.effect("IDEM-9: Effect.retry of a creation creates one resource: a payout is not paid twice", () =>
    Effect.gen(function* () {
      const pay = Effect.gen(function* () {
        const { payouts } = yield* PaymentsClient
        const payout = payouts.create({ amount: 500, pix_key_type: "email", pix_key: "ana@example.com" })
        return yield* Effect.retry(payout, { times: 2 })
      })
      const { requests } = yield* withStub(
        (response, _, count) => (count < 3 ? void response.destroy() : json(response, 201, { id: "1" })),
        pay,
        { maxRetries: 0 }
      )
      assert.strictEqual(requests.length, 3)
      assert.strictEqual(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size, 1)
    })
  )

  it.effect("after a retry, delete succeeds only if the service answers WEBHOOK_NOT_FOUND", () =>
    Effect.gen(function* () {
      const remove = Effect.flatMap(PaymentsClient, ({ webhooks }) => Effect.result(webhooks.delete("1")))
      const after = (body: unknown) =>
        Effect.map(
          withFastClock(
            withStub(
              (response, _, count) => (count === 1 ? void response.destroy() : json(response, 404, body)),
              remove
            )
          ),
          ({ result }) => result._tag
        )
      assert.strictEqual(yield* after({ code: "WEBHOOK_NOT_FOUND", message: "" }), "Success")
      assert.strictEqual(yield* after("<html>"), "Failure")
    })
  )

  it.effect("does not retry 4xx, nor webhooks.create after 5xx", () =>
    Effect.gen(function* () {
      for (const status of [400, 401, 403, 404, 409, 422, 501]) {
        const program = Effect.flip(create)
        const { requests } = yield* withStub((response) => json(response, status, { code: "NO", message: "" }), program)
        assert.strictEqual(requests.length, 1)
      }
      const register = Effect.flatMap(PaymentsClient, ({ webhooks }) =>
        Effect.flip(webhooks.create({ url: "https://1.1.1.1/", events: ["charge.pix.paid"] }))
      )
      // The service also answers 503 if it lost the result after its commit.
      for (const [status, body] of [
        [500, oops],
        [503, { code: "SERVICE_UNAVAILABLE", message: "" }]
      ] as const) {
        const { requests } = yield* withStub((response) => json(response, status, body), register)
        assert.strictEqual(requests.length, 1)
      }
    })
  )

  it.effect("an attempt without a response within timeoutMs is a TimeoutError", () =>
    Effect.gen(function* () {
      const { requests, result } = yield* withFastClock(withStub(() => {}, Effect.flip(balance), { maxRetries: 1 }))
      assert.deepStrictEqual(
        { ...result.reason },
        {
          _tag: "TimeoutError",
          message: result.message,
          timeoutMs: 30_000
        }
      )
      assert.match(
        result.message,
        /^balance\.retrieve: no response of 127\.0\.0\.1:\d+ within 30000 ms; repeat the call$/
      )
      assert.strictEqual(result.attempts, 2)
      assert.isAtMost(requests.length, 2)
    })
  )

  const replayed = { "idempotent-replayed": "true" }

  it.effect("IDEM-4: a replay with other params is an error, or returns the stored resource on request", () =>
    Effect.gen(function* () {
      const stored = payoutOf({ amount: 5000 })
      const pay = (onReplayMismatch?: "return") =>
        Effect.flatMap(PaymentsClient, ({ payouts }) =>
          payouts.create(
            { amount: 500, pix_key_type: "email", pix_key: "ANA@example.com" },
            { idempotencyKey: "refund-1001", onReplayMismatch }
          )
        )
      const answer = (response: ServerResponse) => json(response, 201, stored, replayed)
      const { requests, result } = yield* withStub(answer, Effect.flip(pay()))
      assert.deepInclude(result.reason, { _tag: "ReplayMismatchError", fields: ["amount"], data: stored })
      assert.strictEqual(result.idempotencyKey, "refund-1001")
      assert.strictEqual(requests.length, 1)
      assert.deepStrictEqual((yield* withStub(answer, pay("return"))).result, stored)
    })
  )

  it.effect(
    "CHG-3: a rejected charge is ACQUIRER_REJECTED if the first response is lost, for retries and for reruns",
    () =>
      Effect.gen(function* () {
        const failed = chargeOf({
          status: "failed",
          failure_reason: "No.",
          pix: { br_code: null, end_to_end_id: null }
        })
        const answer = (response: ServerResponse, _: ReceivedRequest, count: number) =>
          count === 1 ? void response.destroy() : json(response, 201, failed, replayed)
        const { result } = yield* withFastClock(withStub(answer, Effect.flip(create)))
        assert.deepInclude(result.reason, { _tag: "ACQUIRER_REJECTED", status: 422, charge_id: failed.id })
        const again = Effect.flatMap(PaymentsClient, ({ charges }) =>
          Effect.flip(Effect.retry(charges.create(someCharge), { times: 1 }))
        )
        const rerun = yield* withStub(answer, again, { maxRetries: 0 })
        assert.strictEqual(rerun.requests.length, 2)
        assert.strictEqual(rerun.result.reason._tag, "ACQUIRER_REJECTED")
        // IDEM-6: a replay that the application asks for is the failed charge.
        const own = yield* withStub((response) => json(response, 201, failed, replayed), create)
        assert.strictEqual(own.result.data.status, "failed")
      })
  )
})
