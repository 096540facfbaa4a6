// @effect-diagnostics strictEffectProvide:off -- each test is a separate application
import { assert, describe, it } from "@effect/vitest"
import { chargeOf, payoutOf, secretKey } from "@pix-payments/client/test/Samples"
import { json } from "@pix-payments/client/test/Stub"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { type ChargeCondition, PaymentsClient, type WaitOptions } from "../src/index.ts"
import { turn, withFastClock, withStub } from "./support/Stub.ts"

describe("waitUntil of the Effect client", () => {
  it.effect("ERR-15: polls at once, then after 30 s, 60 s, 90 s, by the Clock", () =>
    Effect.gen(function* () {
      let polls = 0
      const waiting = Effect.flatMap(PaymentsClient, ({ charges }) =>
        charges.waitUntil("1", "paid", { intervalMs: 30_000 })
      ).pipe(
        Effect.provide(
          PaymentsClient.layerHttpClient({ baseUrl: "http://127.0.0.1:1", apiKey: Redacted.make(secretKey) }).pipe(
            Layer.provide(FetchHttpClient.layer),
            Layer.provide(
              Layer.succeed(FetchHttpClient.Fetch, () => {
                polls += 1
                return Promise.resolve(Response.json(chargeOf({ status: polls < 4 ? "pending" : "paid" })))
              })
            )
          )
        )
      )
      const fiber = yield* Effect.forkChild(waiting)
      const settle = Effect.repeat(turn, { times: 5 })
      const counts: Array<number> = []
      for (const ms of [0, 29_999, 1, 59_999, 1, 89_999, 1]) {
        yield* TestClock.adjust(ms)
        // Responses arrive through promises, which the TestClock does not control.
        yield* settle
        counts.push(polls)
      }
      assert.deepStrictEqual(counts, [1, 1, 2, 2, 3, 3, 4])
      assert.strictEqual((yield* Fiber.join(fiber)).status, "paid")
    })
  )

  it.effect("polls again after transient errors, and fails with the last one after maxWaitMs", () =>
    Effect.gen(function* () {
      const errorResponse = (status: number) => Response.json({ code: "NO", message: "no" }, { status })
      const slowDown = Response.json({ code: "RATE_LIMITED" }, { status: 429, headers: { "retry-after": "120" } })
      for (const [answers, outcome, expected] of [
        [
          [undefined, errorResponse(500), slowDown, Response.json(chargeOf({ status: "paid" }))],
          "paid",
          [1, 2, 3, 3, 4]
        ],
        [[undefined, errorResponse(503), errorResponse(429), undefined], "ConnectionError", [1, 2, 3, 4, 5]],
        [[undefined, errorResponse(404)], "UnknownApiError", [1, 2, 2, 2, 2]]
      ] as const) {
        let polls = 0
        const fetch = () => {
          const answer = answers[polls++]
          return answer === undefined ? Promise.reject(new TypeError("fetch failed")) : Promise.resolve(answer.clone())
        }
        const fiber = yield* Effect.flatMap(PaymentsClient, ({ charges }) =>
          charges.waitUntil("1", "paid", { intervalMs: 30_000, maxWaitMs: 210_000, maxRetries: 0 })
        ).pipe(
          Effect.map(({ status }) => status),
          Effect.catchTag("PaymentsError", ({ reason }) => Effect.succeed(reason._tag)),
          Effect.provide(
            PaymentsClient.layerHttpClient({ baseUrl: "http://127.0.0.1:1", apiKey: Redacted.make(secretKey) }).pipe(
              Layer.provide(FetchHttpClient.layer),
              Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))
            )
          ),
          Effect.forkChild
        )
        const counts: Array<number> = []
        for (const ms of [0, 30_000, 60_000, 90_000, 30_000]) {
          yield* TestClock.adjust(ms)
          // Responses arrive through promises, which the TestClock does not control.
          yield* Effect.repeat(turn, { times: 5 })
          counts.push(polls)
        }
        assert.strictEqual(yield* Fiber.join(fiber), outcome)
        assert.deepStrictEqual<ReadonlyArray<number>>(counts, expected)
      }
    })
  )

  it.effect("fails if the condition can no longer be met, and polls a last time after maxWaitMs", () =>
    Effect.gen(function* () {
      const giveUp = (status: string, condition: ChargeCondition, options?: WaitOptions) =>
        Effect.gen(function* () {
          let polls = 0
          const fetch = () => {
            polls += 1
            return Promise.resolve(Response.json(chargeOf({ status })))
          }
          const fiber = yield* Effect.flatMap(PaymentsClient, ({ charges }) =>
            Effect.flip(charges.waitUntil("1", condition, { intervalMs: 30_000, ...options }))
          ).pipe(
            Effect.provide(
              PaymentsClient.layerHttpClient({ baseUrl: "http://127.0.0.1:1", apiKey: Redacted.make(secretKey) }).pipe(
                Layer.provide(FetchHttpClient.layer),
                Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))
              )
            ),
            Effect.forkChild
          )
          const counts: Array<number> = []
          for (const ms of [0, 30_000, 60_000, 9999, 1]) {
            yield* TestClock.adjust(ms)
            // Responses arrive through promises, which the TestClock does not control.
            yield* Effect.repeat(turn, { times: 5 })
            counts.push(polls)
          }
          return { counts, error: yield* Fiber.join(fiber) }
        })
      for (const [status, wanted] of [
        ["paid", "pending"],
        ["pending", ["processing"]],
        ["canceled", (): boolean => false]
      ] as const) {
        const { counts, error } = yield* giveUp(status, wanted)
        assert.strictEqual(error.reason._tag, "WaitError")
        assert.include(error.message, `is ${status}: the wait cannot succeed`)
        assert.strictEqual(counts.at(-1), 1)
      }
      const { counts, error } = yield* giveUp("pending", "paid", { maxWaitMs: 100_000 })
      assert.include(error.message, "still pending after 100000 ms")
      assert.deepStrictEqual(counts, [1, 2, 3, 3, 4])
    })
  )

  it.effect("payouts.waitUntil returns the payout, and fails if the status can no longer be reached", () =>
    Effect.gen(function* () {
      const wait = (status: string) =>
        Effect.flatMap(PaymentsClient, ({ payouts }) =>
          payouts.waitUntil("1", "completed", { intervalMs: 30_000 })
        ).pipe((waiting) =>
          withStub(
            (response, _, count) => json(response, 200, payoutOf({ status: count === 1 ? "processing" : status })),
            waiting
          )
        )
      assert.strictEqual((yield* withFastClock(wait("completed"))).result.status, "completed")
      const { reason } = yield* Effect.flip(withFastClock(wait("failed")))
      assert.strictEqual(reason._tag === "WaitError" && reason.payout?.status, "failed")
    })
  )
})
