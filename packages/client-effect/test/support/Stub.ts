// @effect-diagnostics strictEffectProvide:off -- each test is a separate application
/**
 * Programs with the Effect client over a stub server.
 */
import { someCharge, secretKey } from "@pix-payments/client/test/Samples"
import { type ReceivedRequest, startStub } from "@pix-payments/client/test/Stub"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { PaymentsClient, type PaymentsClientOptions, type PaymentsError } from "../../src/index.ts"

/** Runs a program with a stub that answers this way. Returns its result and the requests. */
export const withStub = <A, E>(
  answer: Parameters<typeof startStub>[0],
  program: Effect.Effect<A, E, PaymentsClient>,
  options: Partial<PaymentsClientOptions> = {}
): Effect.Effect<{ readonly result: A; readonly requests: ReadonlyArray<ReceivedRequest> }, E | PaymentsError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const stub = yield* Effect.acquireDisposable(Effect.promise(() => startStub(answer)))
      const client = PaymentsClient.layer({ baseUrl: stub.url, apiKey: Redacted.make(secretKey), ...options })
      const result = yield* Effect.provide(program, client)
      return { result, requests: stub.requests }
    })
  )

export const oops = { code: "INTERNAL_ERROR", message: "An unexpected failure." }

export const balance = Effect.flatMap(PaymentsClient, (payments) => payments.balance.retrieve())
export const create = Effect.flatMap(PaymentsClient, (payments) => payments.withResponse.charges.create(someCharge))

/** One turn of the event loop. */
export const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Advances the clock until the program ends. */
export const withFastClock = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(program)
    while (fiber.pollUnsafe() === undefined) {
      yield* TestClock.adjust("10 seconds")
      yield* turn
    }
    return yield* Fiber.join(fiber)
  })
